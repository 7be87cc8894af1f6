//! A session whose run repeatedly delivers to itself and commits, and the outcomes of its writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_redis::RedisStore;

use super::said;

/// The state of a writer, as other tasks see it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// True while a write waits for its answer.
    pub(crate) in_flight: AtomicBool,
    pub(crate) acknowledged: AtomicUsize,
    /// The number of deliveries and commits with an unknown outcome.
    pub(crate) unknown: AtomicUsize,
    /// The number of commits with an unknown outcome that were found applied.
    pub(crate) applied: AtomicUsize,
    /// The number of commits with an unknown outcome that were found not applied.
    pub(crate) not_applied: AtomicUsize,
}

fn text(number: u64) -> Payload {
    Payload::new(number.to_string())
}

fn pending(number: u64) -> PendingId {
    PendingId::new(format!("pending-{number}")).unwrap()
}

/// Returns a commit with a message, the state, an event, a checkpoint, a pending call that replaces the one before
/// it, and a consumed inbox item.
fn commit(claim: &Claim, number: u64) -> Commit {
    let open = NewPending {
        id: pending(number),
        call: CallId::new(format!("call-{number}")).unwrap(),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: text(number),
    };
    Commit {
        messages: vec![NewMessage::Inline(text(number))],
        state: Some(NewState { format: claim.session.format, payload: text(number) }),
        events: vec![text(number)],
        checkpoint: true,
        open: vec![open],
        close: (1..number).last().map(pending).into_iter().collect(),
        consumed: vec![InboxSeq(number)],
        inbox_seen: Some(InboxSeq(number)),
        ..Commit::new(OperationId::new(format!("commit-{number}")).unwrap())
    }
}

/// The outcome of a write.
enum Sent<T> {
    Answered(T),
    Unknown,
    NotRun,
}

impl Seen {
    async fn write<T>(&self, write: impl Future<Output = Result<T, StoreError>>) -> Sent<T> {
        self.in_flight.store(true, SeqCst);
        let answer = write.await;
        self.in_flight.store(false, SeqCst);
        match answer {
            Ok(answer) => Sent::Answered(answer),
            Err(error) if error.retry == Retry::OutcomeUnknown => {
                self.unknown.fetch_add(1, SeqCst);
                Sent::Unknown
            }
            Err(error) => {
                assert_eq!(error.retry, Retry::Later, "{error}");
                Sent::NotRun
            }
        }
    }
}

/// Delivers and commits until `stop` is set. Returns how many commits were acknowledged.
pub(crate) async fn work(store: RedisStore, claim: Claim, seen: Arc<Seen>, stop: Arc<AtomicBool>) -> u64 {
    let key = &claim.fence.key;
    let mut done = 0;
    while !stop.load(SeqCst) {
        let number = done + 1;
        let item = InboxItem {
            key: ItemKey::new(format!("item-{number}")).unwrap(),
            kind: ItemKind::Message { wake: Wake::Quiet },
            incarnation: None,
            payload: text(number),
        };
        // Repeats the same delivery until it is answered, as a sender does.
        let delivery = loop {
            if let Sent::Answered(delivery) = seen.write(store.deliver(key, item.clone())).await {
                break delivery;
            }
        };
        let seq = InboxSeq(number);
        assert!(
            matches!(delivery, Delivery::Accepted { seq: at } | Delivery::Duplicate { seq: at } if at == seq),
            "{delivery:?}"
        );
        let commit = commit(&claim, number);
        let outcome = loop {
            let save = store.commit(&claim.fence, commit.clone());
            match seen.write(save).await {
                Sent::Answered(outcome) => break outcome,
                Sent::Unknown => {
                    let applied = is_there(&store, key, number).await;
                    let fate = if applied { &seen.applied } else { &seen.not_applied };
                    fate.fetch_add(1, SeqCst);
                }
                Sent::NotRun => {}
            }
        };
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
        done = number;
        seen.acknowledged.fetch_add(1, SeqCst);
    }
    done
}

/// Returns true if commit `number` was applied as a whole. If not, asserts that the commit before it is the
/// newest, and whole.
async fn is_there(store: &RedisStore, key: &SessionKey, number: u64) -> bool {
    let session = loop {
        match store.load_session(key).await {
            Ok(session) => break session.unwrap(),
            Err(error) => assert_eq!(error.retry, Retry::Later, "{error}"),
        }
    };
    let last = session.last_message.0;
    assert!(last == number || last + 1 == number, "{last} messages after commit {number}");
    assert_eq!(session.last_event.0, last);
    assert_eq!(session.inbox_seen.0, last);
    assert_eq!(session.state, (last > 0).then(|| text(last)));
    last == number
}

/// Asserts that the session holds what `done` commits wrote, each once and whole, and nothing else.
pub(crate) async fn assert_kept(store: &RedisStore, key: &SessionKey, done: u64) {
    let all: Vec<String> = (1..=done).map(|number| number.to_string()).collect();
    assert_eq!(said(store, key).await, all, "messages of {key}");
    assert!(is_there(store, key, done).await);

    let mut events = Vec::new();
    let mut after = EventCursor::START;
    loop {
        let page = store.read_events(key, &after, 1000).await.unwrap();
        let EventPage::Events { events: read, next, more, .. } = page else { panic!("{page:?}") };
        events.extend(read.into_iter().map(|event| event.payload));
        after = next;
        if !more {
            break;
        }
    }
    let texts: Vec<Payload> = (1..=done).map(text).collect();
    assert_eq!(events, texts, "events of {key}");

    let mut query = CheckpointQuery::all(key.clone());
    let mut checkpoints = Vec::new();
    loop {
        let page = store.list_checkpoints(&query).await.unwrap();
        checkpoints.extend(page.items);
        query.page.after = page.next;
        if query.page.after.is_none() {
            break;
        }
    }
    checkpoints.reverse();
    let states: Vec<Payload> = checkpoints.iter().map(|checkpoint| checkpoint.state.clone()).collect();
    assert_eq!(states, texts, "checkpoints of {key}");
    for (number, checkpoint) in (1..).zip(&checkpoints) {
        assert_eq!((checkpoint.last_message.0, checkpoint.last_event.0), (number, number));
    }

    let query = PendingQuery { session: Some(key.id.clone()), ..PendingQuery::all(key.tenant.clone()) };
    let open = store.list_pending(&query).await.unwrap().items;
    let open: Vec<_> = open.into_iter().map(|open| (open.id, open.body)).collect();
    assert_eq!(open, [(pending(done), text(done))], "pending calls of {key}");

    assert_eq!(store.read_whole_inbox(key, InboxSeq(0)).await.unwrap(), [], "the inbox of {key}");
    let session = store.load_session(key).await.unwrap().unwrap();
    assert_eq!((session.last_item, session.unread), (InboxSeq(done), 0));
}
