use super::*;
use crate::engine::Action;
use crate::machine::table::{ROWS, Row, SESSION, Table};
use crate::store::{ItemKind, Labels, Receipt, Release, Session, Staged, StagedResult, StoredItem, Wake};
use crate::time::Timestamp;
use crate::words::history::{InputKind, StateKind};
use crate::words::ids::{
    Epoch, EventSeq, Fence, InboxSeq, Incarnation, QueueLabel, RunId, SessionId, SessionKey, TenantId,
    Version,
};
use crate::words::message::Notice;
use crate::words::payload::Payload;

pub(super) fn claim() -> Claim {
    let key = SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
    let incarnation = Incarnation(uuid::Uuid::from_u128(1));
    let now = Timestamp::from_ms(7);
    Claim {
        fence: Fence { key: key.clone(), incarnation, epoch: Epoch(1) },
        run: RunId::new("r").unwrap(),
        found: SessionStatus::Idle,
        session: Session {
            key,
            incarnation,
            status: SessionStatus::Active,
            version: Version(1),
            epoch: Epoch(1),
            queue: QueueLabel::new("q").unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: STATE_FORMAT,
            state: None,
            last_message: MessageSeq(0),
            last_event: EventSeq(0),
            last_item: InboxSeq(0),
            unread: 0,
            inbox_seen: InboxSeq(0),
            alarm: None,
            lease: None,
            interrupt: None,
            attempts: 0,
            staged: Staged::default(),
            created_at: now,
            updated_at: now,
        },
        pending: Vec::new(),
        inbox: Vec::new(),
        now,
        lease_ends: now,
    }
}

fn start_under(rows: &[Row<'_>]) -> Result<StepIterator, StartError> {
    let checked = Table { rows, ..SESSION }.validate();
    let agent = Some(Arc::new(AgentSpec::new("a")));
    StepIterator::open_under(checked, claim(), agent, Facts { now: Timestamp::from_ms(7) }, Purpose::Run)
}

#[test]
fn d20_under_a_table_that_fails_its_checks_no_run_starts() {
    assert!(start_under(ROWS).is_ok());
    for (without, on) in
        [(StateKind::BackingOff, InputKind::TimerRang), (StateKind::Thinking, InputKind::Failed)]
    {
        let rows: Vec<Row<'_>> =
            ROWS.iter().filter(|row| (row.from, row.on) != (without, on)).copied().collect();
        let refused = start_under(&rows).expect_err("a dead end");
        assert_eq!((refused.key.to_string(), refused.what), ("t/s".to_owned(), "machine"));
        assert!(refused.detail.contains(without.as_str()), "{refused}");
    }
}

pub(super) fn facts() -> Facts {
    Facts { now: Timestamp::from_ms(7) }
}

/// A session in a state that this version does not know. Whatever the purpose of the run, it does not begin, and the
/// error names the state.
///
/// Requirements: C03.
#[test]
fn c03_no_run_begins_in_a_state_that_no_handler_knows_and_the_error_names_it() {
    let mut state = serde_json::to_value(Machine::default()).unwrap();
    state["state"]["state"] = "dreaming".into();
    let stored = Payload::json(&state).unwrap();
    let agent = || Arc::new(AgentSpec::new("a"));
    type Begin = fn(Claim, Arc<AgentSpec>) -> Result<StepIterator, StartError>;
    let begin: [Begin; 4] = [
        |claim, agent| StepIterator::start(claim, agent, facts()),
        |claim, agent| StepIterator::resume(claim, agent, facts()),
        |claim, agent| StepIterator::fail(claim, agent, ErrorInfo::new("test", "it broke"), facts()),
        |claim, _| StepIterator::end(claim, facts()),
    ];
    for begin in begin {
        assert!(begin(claim(), agent()).is_ok(), "without that state it begins");
        let mut claim = claim();
        claim.session.state = Some(stored.clone());
        let refused = begin(claim, agent()).expect_err("nobody knows this state");
        assert_eq!((refused.key.to_string(), refused.what), ("t/s".to_owned(), "state"));
        assert!(refused.to_string().contains("unknown variant `dreaming`"), "{refused}");
    }
}

#[test]
fn a_staged_result_that_cannot_be_read_is_never_passed_over() {
    let said = Message::Notice(Notice::new("no result")).to_payload().unwrap();
    for (payload, why) in [(Payload::new("{ not json"), "call c1-0: "), (said, "expected a tool result")] {
        let mut claim = claim();
        let call = CallId::new("c1-0").unwrap();
        claim.session.staged.results = vec![StagedResult { call, payload }];
        let refused = StepIterator::start(claim, Arc::new(AgentSpec::new("a")), facts()).expect_err(why);
        assert_eq!((refused.key.to_string(), refused.what), ("t/s".to_owned(), "staged result"));
        assert!(refused.detail.contains(why), "{refused}");
    }
}

/// Returns a claim with a message in its inbox.
fn told() -> Claim {
    let mut claim = claim();
    claim.session.last_item = InboxSeq(1);
    claim.session.unread = 1;
    claim.inbox = vec![item(1)];
    claim
}

pub(super) fn item(seq: u64) -> StoredItem {
    StoredItem {
        seq: InboxSeq(seq),
        key: crate::words::ids::ItemKey::new(format!("k{seq}")).unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        payload: Payload::json(&crate::words::message::Said::new("hello")).unwrap(),
        at: Timestamp::from_ms(7),
    }
}

#[test]
fn a_claim_that_is_given_back_has_seen_nothing_of_the_inbox() {
    let mut run = StepIterator::end(told(), facts()).unwrap();
    let Action::Commit { commit, .. } = run.next_action() else { panic!("it is given back") };
    assert!(matches!(commit.release, Some(Release::GiveBack { .. })), "{commit:?}");
    assert_eq!((commit.inbox_seen, commit.consumed), (None, Vec::new()));
}

fn actions(run: &mut StepIterator) -> Vec<Action> {
    std::iter::from_fn(|| Some(run.next_action()))
        .take_while(|action| !matches!(action, Action::Await { .. } | Action::Exit(_)))
        .collect()
}

fn receipt(last_item: u64, interrupt: bool) -> Receipt {
    Receipt {
        version: Version(2),
        last_message: MessageSeq(1),
        last_item: InboxSeq(last_item),
        unread: 1,
        interrupt,
        now: Timestamp::from_ms(8),
        lease_ends: Timestamp::from_ms(30_000),
    }
}

/// Builds the answer to the write in these actions, with this receipt.
fn answered(actions: &[Action], receipt: Receipt) -> Reply {
    let commit = |action: &Action| if let Action::Commit { id, .. } = action { Some(*id) } else { None };
    let id = actions.iter().find_map(commit);
    let outcome = Ok(crate::store::CommitOutcome::Committed(receipt));
    Reply::Committed { id: id.expect("a commit is out"), outcome }
}

#[test]
fn news_in_a_receipt_is_read_whatever_brought_it() {
    let reads = |actions: &[Action]| {
        actions
            .iter()
            .any(|action| matches!(action, Action::Read { inbox_after: InboxSeq(1), interrupt: true, .. }))
    };
    for (news, of_commit) in [(false, false), (true, false), (false, true), (true, true)] {
        for tells in [receipt(2, false), receipt(1, true)] {
            let mut run = StepIterator::start(told(), Arc::new(AgentSpec::new("a")), facts()).unwrap();
            let out = actions(&mut run);
            assert!(!reads(&out), "{out:?}");
            let told = if news { tells } else { receipt(1, false) };
            let reply = if of_commit { answered(&out, told) } else { Reply::News(told) };
            run.apply(reply, facts());
            assert_eq!(reads(&actions(&mut run)), news, "by a commit: {of_commit}");
        }
    }
}

#[test]
fn items_that_earlier_runs_saw_and_a_claim_has_no_room_for_are_read_all_the_same() {
    let item = |seq| StoredItem {
        seq: InboxSeq(seq),
        key: crate::words::ids::ItemKey::new(format!("k{seq}")).unwrap(),
        kind: ItemKind::Message { wake: Wake::Quiet },
        at: Timestamp::from_ms(7),
        payload: Payload::new(r#"{"text":"hello"}"#),
    };
    let mut claim = claim();
    // An earlier run saw all four items and consumed none. The claim contains only the first two.
    (claim.session.unread, claim.session.last_item, claim.session.inbox_seen) = (4, InboxSeq(4), InboxSeq(4));
    claim.inbox = vec![item(1), item(2)];
    let mut run = StepIterator::start(claim, Arc::new(AgentSpec::new("a")), facts()).unwrap();
    let Action::Read { id, inbox_after, .. } = run.next_action() else { panic!("the rest is read") };
    assert_eq!(inbox_after, InboxSeq(2));
    let found = crate::engine::reply::Found { items: vec![item(3), item(4)], ..Default::default() };
    run.apply(Reply::Read { id, result: Ok(found) }, facts());
    let seqs: Vec<u64> = run.cx.mind.inbox.items.iter().map(|item| item.seq.0).collect();
    assert_eq!((seqs, run.cx.mind.inbox.seen), (vec![1, 2, 3, 4], InboxSeq(4)));
}
