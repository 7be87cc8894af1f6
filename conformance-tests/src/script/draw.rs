//! Draws scripts: mostly operations that fit the session's state, and a few that do not.

mod arms;

use holdover_store::SessionStatus;
use holdover_store::time::Timestamp;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Union};
use proptest_state_machine::ReferenceStateMachine;

use super::{Asking, By, Op, Play, Powers, Request, Span, Who};

use arms::*;

/// The state machine from whose state the next operation of a script is drawn.
pub(crate) struct Scripts;

impl ReferenceStateMachine for Scripts {
    type State = Play;
    type Transition = (By, Op);

    fn init_state() -> BoxedStrategy<Play> {
        let all = Powers { forks: true, retention: true, moves_time: true, due_order: true };
        Just(Play::new(all, Timestamp::from_ms(1_800_000_000_000))).boxed()
    }

    fn transitions(play: &Play) -> BoxedStrategy<(By, Op)> {
        let by = prop_oneof![3 => Just(By::First), 1 => Just(By::Peer)];
        (by, Union::new_weighted(choices(play))).boxed()
    }

    fn apply(mut play: Play, (_, op): &(By, Op)) -> Play {
        if play.pass(op).is_none() {
            play.ask(op);
        }
        play
    }
}

/// The sessions that operations are mostly about, in turn: one for a while, then the next.
const FOCUS: [Who; 4] = [Who::A, Who::A, Who::B, Who::Z];
const OPERATIONS_AT_ONE: usize = 12;

type Choices = Vec<(u32, BoxedStrategy<Op>)>;

/// Returns the session that the next operation is mostly about.
pub(super) fn focus(play: &Play) -> Who {
    FOCUS[play.asked.len() / OPERATIONS_AT_ONE % FOCUS.len()]
}

fn choices(play: &Play) -> Choices {
    let focus = focus(play);
    let who = prop_oneof![12 => Just(focus), 1 => select(&Who::ALL[..])].boxed();
    let held = play.model.life(&focus.key()).is_some_and(|life| {
        life.row.status == SessionStatus::Active
            && life.row.lease.as_ref().is_some_and(|lease| lease.ends > play.model.now)
    });
    let status = play.model.life(&focus.key()).map(|life| life.row.status);
    let mut all = anytime(&who);
    let rests = |life: &&crate::model::Life| {
        life.row.status.at_rest() && life.row.alarm.is_none() && life.row.unread == 0
    };
    if play.model.lives.values().filter(rests).count() > 1 {
        let one = Op::PurgeSessions { older_than: Span::NoTime, status: None, count: 1 };
        all.push((3, Just(one).boxed()));
    }
    if play.model.lives.values().filter(rests).any(|life| life.checkpoints.len() > 1) {
        all.push((8, Just(Op::PurgeCheckpoints { older_than: Span::NoTime, keep: 1 }).boxed()));
    }
    match status {
        None => all.extend(nothing_there(play, focus, &who)),
        Some(SessionStatus::Active) if held => all.extend(running(play, focus, &who)),
        Some(SessionStatus::Aborted) => all.extend(aborted(&who)),
        Some(
            SessionStatus::Idle
            | SessionStatus::Active
            | SessionStatus::Suspended
            | SessionStatus::Interrupted
            | SessionStatus::Failed,
        ) => all.extend(nobody_holds_it(play, focus, &who)),
    }
    all
}

fn has_open(play: &Play, focus: Who) -> bool {
    play.model.life(&focus.key()).is_some_and(|life| !life.open().is_empty())
}

/// Returns operations that may be requested at any time.
fn anytime(who: &BoxedStrategy<Who>) -> Choices {
    vec![
        (3, select(&[Span::Moment, Span::MostOfALease, Span::Lease][..]).prop_map(Op::Pass).boxed()),
        (9, (1_u8..5).prop_map(Op::Again).boxed()),
        (4, deliver(who)),
        (1, (who.clone(), abort()).prop_map(|(who, abort)| Op::Interrupt { who, abort }).boxed()),
        (2, claim(who)),
        (2, due()),
        (1, who.clone().prop_map(Op::ClaimWithAnswer).boxed()),
        (10, (who.clone(), look()).prop_map(|(who, at)| Op::Look { who, at }).boxed()),
        (1, commit(who, vec![(1, any_part())])),
        (1, create(who)),
        (1, delete(who)),
        (1, retry(who)),
        (1, fork(who.clone())),
        (1, purge()),
        (1, stage(who)),
        (1, deltas(who)),
        (1, renew(who)),
        (1, check(who)),
    ]
}

fn nothing_there(play: &Play, focus: Who, who: &BoxedStrategy<Who>) -> Choices {
    let has_checkpoint = |from: &Who| {
        let life = play.model.life(&from.key());
        life.is_some_and(|life| !life.checkpoints.is_empty()) && from.key().tenant == focus.key().tenant
    };
    let sources: Vec<Who> = Who::ALL.into_iter().filter(has_checkpoint).collect();
    let mut all = vec![(24, create(who))];
    // Late duplicates of a request that created a life which was deleted since.
    let made_a_dead_one = |request: &Request| {
        request.creates().is_some_and(|(key, life)| *key == focus.key() && play.model.is_dead(key, life))
    };
    for forks in [false, true] {
        let newest_first = (1_u8..=u8::MAX).zip(play.asked.iter().rev());
        let mut late = newest_first.filter(|(_, asked)| asked.forks() == forks && made_a_dead_one(asked));
        all.extend(late.next().map(|(ago, _)| (8, Just(Op::Again(ago)).boxed())));
    }
    if !sources.is_empty() {
        all.push((16, fork_into(select(sources).boxed(), focus)));
    }
    all
}

fn running(play: &Play, focus: Who, who: &BoxedStrategy<Who>) -> Choices {
    let mut all = vec![
        (26, commit(who, fitting_parts(play, focus))),
        (8, stage(who)),
        (6, deltas(who)),
        (3, renew(who)),
        (3, check(who)),
    ];
    if has_open(play, focus) {
        all.push((10, answer(who)));
    }
    all
}

fn nobody_holds_it(play: &Play, focus: Who, who: &BoxedStrategy<Who>) -> Choices {
    let mut all = vec![(14, claim(who)), (3, due()), (7, retry(who)), (3, fork(who.clone())), (3, purge())];
    if has_open(play, focus) {
        all.push((10, answer(who)));
    }
    all
}

fn aborted(who: &BoxedStrategy<Who>) -> Choices {
    vec![
        (4, delete(who)),
        (3, claim(who)),
        (4, purge()),
        (1, commit(who, vec![(1, any_part())])),
        (4, (who.clone(), abort()).prop_map(|(who, abort)| Op::Interrupt { who, abort }).boxed()),
        (4, deliver(who)),
    ]
}
