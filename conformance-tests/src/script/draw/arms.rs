//! Generators of operations and of their parts.

use holdover_store::{InterruptKind, SessionStatus, Wake};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Union};

use crate::script::{
    Begin, First, Item, Leave, List, Look, Meant, Named, Op, Part, Place, Play, Run, Span, Text, When, Who,
};

pub(super) fn deliver(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    (who.clone(), item(), life(), any::<bool>())
        .prop_map(|(who, item, life, signal)| Op::Deliver { who, item, life, signal })
        .boxed()
}

pub(super) fn create(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let when = || select(&[When::Before, When::Soon][..]);
    let begin =
        prop_oneof![3 => Just(Begin::Resting), 1 => when().prop_map(Begin::Due), 2 => Just(Begin::Held)];
    let life =
        prop_oneof![6 => Just(Meant::AnyLife), 2 => Just(Meant::ThisLife), 1 => Just(Meant::EarlierLife)];
    (who.clone(), begin, items(), life)
        .prop_map(|(who, begin, items, life)| Op::Create { who, begin, items, life })
        .boxed()
}

pub(super) fn delete(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    (who.clone(), version(), any::<bool>())
        .prop_map(|(who, version, forced)| Op::Delete { who, version, forced })
        .boxed()
}

pub(super) fn claim(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    (who.clone(), version(), items())
        .prop_map(|(who, version, items)| Op::Claim { who, version, items })
        .boxed()
}

pub(super) fn due() -> BoxedStrategy<Op> {
    let queue = prop_oneof![3 => Just(None), 1 => (1_u8..3).prop_map(Some)];
    let format = prop_oneof![3 => Just(2_u32), 1 => Just(1)];
    let tenant = prop_oneof![3 => Just(None), 1 => select(&Who::ALL[..]).prop_map(Some)];
    (1_u8..4, queue, format, tenant)
        .prop_map(|(count, queue, format, tenant_of)| Op::ClaimDue { count, queue, format, tenant_of })
        .boxed()
}

pub(super) fn retry(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let to = prop_oneof![5 => Just(SessionStatus::Suspended), 1 => select(&SessionStatus::ALL[..])];
    let version = prop_oneof![5 => Just(Named::Right), 1 => Just(Named::Wrong)];
    (who.clone(), version, to, items())
        .prop_map(|(who, version, to, items)| Op::Retry { who, version, to, items })
        .boxed()
}

pub(super) fn renew(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let span = select(&[Span::Lease, Span::MostOfALease, Span::Moment][..]);
    (who.clone(), run(), span).prop_map(|(who, run, span)| Op::Renew { who, run, span }).boxed()
}

pub(super) fn stage(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let results = vec((number(), text()), 0..3).prop_map(List);
    let starts = vec(number(), 0..2).prop_map(List);
    (who.clone(), run(), results, starts)
        .prop_map(|(who, run, results, starts)| Op::Stage { who, run, results, starts })
        .boxed()
}

pub(super) fn deltas(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let first = prop_oneof![5 => Just(First::Next), 1 => Just(First::Start), 1 => Just(First::Gap)];
    let count = prop_oneof![8 => 1_u8..3, 1 => Just(0)];
    (who.clone(), run(), 1_u32..3, first, count)
        .prop_map(|(who, run, stream, first, count)| Op::Deltas { who, run, stream, first, count })
        .boxed()
}

pub(super) fn check(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    (who.clone(), run()).prop_map(|(who, run)| Op::TakeInterrupt { who, run }).boxed()
}

pub(super) fn answer(who: &BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let life =
        prop_oneof![8 => Just(Meant::ThisLife), 1 => Just(Meant::AnyLife), 1 => Just(Meant::EarlierLife)];
    (who.clone(), key(), text(), number(), any::<bool>(), life)
        .prop_map(|(who, key, text, pending, settles, life)| Op::Answer {
            who,
            key,
            text,
            pending,
            settles,
            life,
        })
        .boxed()
}

pub(super) fn fork(from: BoxedStrategy<Who>) -> BoxedStrategy<Op> {
    let at = select(&[Place::NewestCheckpoint, Place::OldestCheckpoint, Place::NoCheckpoint][..]);
    let life = prop_oneof![6 => Just(Meant::ThisLife), 1 => Just(Meant::EarlierLife)];
    let status = prop_oneof![6 => Just(SessionStatus::Idle), 1 => select(&SessionStatus::ALL[..])];
    (from, at, select(&Who::ALL[..]), status, life)
        .prop_map(|(from, at, to, status, life)| Op::Fork { from, at, to, status, life })
        .boxed()
}

pub(super) fn fork_into(from: BoxedStrategy<Who>, to: Who) -> BoxedStrategy<Op> {
    let status = select(&[SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed][..]);
    let at = prop_oneof![4 => Just(Place::NewestCheckpoint), 4 => Just(Place::OldestCheckpoint), 1 => Just(Place::NoCheckpoint)];
    let life = prop_oneof![8 => Just(Meant::ThisLife), 1 => Just(Meant::EarlierLife)];
    (from, at, status, life)
        .prop_map(move |(from, at, status, life)| Op::Fork { from, at, to, status, life })
        .boxed()
}

pub(super) fn purge() -> BoxedStrategy<Op> {
    let span = || prop_oneof![4 => Just(Span::NoTime), 1 => Just(Span::Moment), 1 => Just(Span::Lease)];
    let status = prop_oneof![6 => Just(None), 1 => select(&SessionStatus::ALL[..]).prop_map(Some)];
    let sessions = (span(), status, 1_u8..3).prop_map(|(older_than, status, count)| Op::PurgeSessions {
        older_than,
        status,
        count,
    });
    let checkpoints =
        (span(), 1_u8..3).prop_map(|(older_than, keep)| Op::PurgeCheckpoints { older_than, keep });
    prop_oneof![1 => sessions, 2 => checkpoints].boxed()
}

pub(super) fn commit(who: &BoxedStrategy<Who>, parts: Vec<(u32, BoxedStrategy<Part>)>) -> BoxedStrategy<Op> {
    let parts = vec(Union::new_weighted(parts), 0..5).prop_map(List);
    (who.clone(), run(), version(), parts, leave())
        .prop_map(|(who, run, version, parts, leave)| Op::Commit { who, run, version, parts, leave })
        .boxed()
}

/// Returns commit parts that fit the session's state, and now and then any part.
pub(super) fn fitting_parts(play: &Play, focus: Who) -> Vec<(u32, BoxedStrategy<Part>)> {
    let mut parts = vec![
        (1, any_part()),
        (2, text().prop_map(Part::State).boxed()),
        (4, text().prop_map(Part::Keep).boxed()),
        (4, text().prop_map(Part::Say).boxed()),
        (2, (number(), text()).prop_map(|(call, text)| Part::StageNow(call, text)).boxed()),
        (5, text().prop_map(Part::Event).boxed()),
        (1, (1_u32..3).prop_map(Part::Streamed).boxed()),
        (1, (0_u8..10).prop_map(Part::End).boxed()),
    ];
    let Some(life) = play.model.life(&focus.key()) else { return parts };
    if let Some(waits) = &life.row.interrupt {
        let weight = if waits.kind == InterruptKind::Abort { 6 } else { 3 };
        parts.push((weight, Just(Part::ConfirmInterrupt).boxed()));
    }
    let staged =
        numbers(|call| life.staged.iter().any(|staged| staged.call.as_str() == format!("call-{call}")));
    if !staged.is_empty() {
        parts.push((5, select(staged).prop_map(Part::Promote).boxed()));
    }
    let asked = |pending: &u8| {
        let id = format!("pending-{pending}");
        life.asked.iter().find(move |asked| asked.call.id.as_str() == id)
    };
    let unasked = numbers(|pending| asked(pending).is_none());
    if !unasked.is_empty() {
        parts.push((5, open(select(unasked).boxed())));
    }
    let open = numbers(|pending| asked(pending).is_some_and(|asked| asked.open));
    if !open.is_empty() {
        let answered = life.open().iter().any(|call| call.last_answer > life.row.inbox_seen);
        parts.push((if answered { 10 } else { 2 }, select(open).prop_map(Part::Close).boxed()));
    }
    if !life.unread().is_empty() {
        parts.push((12, Just(Part::Consume).boxed()));
        parts.push((6, Just(Part::Seen).boxed()));
    }
    parts
}

pub(super) fn any_part() -> BoxedStrategy<Part> {
    prop_oneof![
        number().prop_map(Part::Promote),
        (number(), text()).prop_map(|(call, text)| Part::StageNow(call, text)),
        open(number()),
        number().prop_map(Part::Close),
        Just(Part::Consume),
        Just(Part::Checkpoint),
        Just(Part::ConfirmInterrupt),
    ]
    .boxed()
}

pub(super) fn open(pending: BoxedStrategy<u8>) -> BoxedStrategy<Part> {
    let deadline = prop_oneof![4 => Just(When::Never), 2 => Just(When::Soon), 1 => Just(When::Before)];
    (pending, prop_oneof![8 => 1_u32..3, 1 => Just(0)], deadline)
        .prop_map(|(pending, needed, deadline)| Part::Open { pending, needed, deadline })
        .boxed()
}

pub(super) fn leave() -> BoxedStrategy<Leave> {
    let status = prop_oneof![
        4 => Just(SessionStatus::Suspended),
        4 => Just(SessionStatus::Idle),
        3 => Just(SessionStatus::Failed),
        2 => Just(SessionStatus::Interrupted),
        1 => Just(SessionStatus::Aborted),
        1 => Just(SessionStatus::Active),
    ];
    let to = (status, when(), 0_u32..3);
    prop_oneof![
        6 => Just(Leave::Stay),
        6 => to.prop_map(|(status, deadline, wake_on)| Leave::To { status, deadline, wake_on }),
        1 => when().prop_map(Leave::GiveBack),
    ]
    .boxed()
}

pub(super) fn look() -> BoxedStrategy<Look> {
    prop_oneof![
        1 => Just(Look::Session),
        1 => Just(Look::Sessions),
        1 => Just(Look::PendingCalls),
        2 => (0_u64..3, 1_u64..6).prop_map(|(from, to)| Look::Messages { from, to }),
        2 => (0_u64..2, 0_u32..4).prop_map(|(after, limit)| Look::Inbox { after, limit }),
        5 => (life(), prop_oneof![1 => Just(0_u32), 4 => Just(1), 4 => Just(200)])
            .prop_map(|(of, limit)| Look::Events { of, limit }),
        1 => Just(Look::Runs),
        2 => Just(Look::Checkpoints),
    ]
    .boxed()
}

pub(super) fn items() -> BoxedStrategy<List<Item>> {
    prop_oneof![3 => Just(List(Vec::new())), 2 => vec(item(), 1..3).prop_map(List)].boxed()
}

pub(super) fn item() -> BoxedStrategy<Item> {
    let wake = select(&[Wake::Now, Wake::Count, Wake::Quiet][..]);
    (key(), text(), wake).prop_map(|(key, text, wake)| Item { key, text, wake }).boxed()
}

pub(super) fn key() -> BoxedStrategy<u8> {
    prop_oneof![1 => Just(0_u8), 1 => 1_u8..3].boxed()
}

pub(super) fn text() -> BoxedStrategy<Text> {
    prop_oneof![2 => Just(Text::One), 1 => Just(Text::Other)].boxed()
}

/// The numbers of calls and of pending calls in scripts.
const NUMBERS: std::ops::Range<u8> = 1..4;

pub(super) fn number() -> BoxedStrategy<u8> {
    NUMBERS.boxed()
}

pub(super) fn numbers(those: impl FnMut(&u8) -> bool) -> Vec<u8> {
    NUMBERS.filter(those).collect()
}

pub(super) fn when() -> BoxedStrategy<When> {
    select(&[When::Never, When::Before, When::Soon][..]).boxed()
}

pub(super) fn life() -> BoxedStrategy<Meant> {
    prop_oneof![6 => Just(Meant::AnyLife), 3 => Just(Meant::ThisLife), 2 => Just(Meant::EarlierLife)].boxed()
}

pub(super) fn run() -> BoxedStrategy<Run> {
    prop_oneof![12 => Just(Run::Newest), 1 => Just(Run::Older), 1 => Just(Run::OtherLife)].boxed()
}

pub(super) fn version() -> BoxedStrategy<Named> {
    prop_oneof![6 => Just(Named::NoVersion), 6 => Just(Named::Right), 1 => Just(Named::Wrong)].boxed()
}

pub(super) fn abort() -> BoxedStrategy<bool> {
    prop_oneof![4 => Just(false), 1 => Just(true)].boxed()
}
