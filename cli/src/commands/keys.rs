//! `keys status`: shows the keys with which the payloads of a store are encrypted. Changes nothing.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use holdover_core::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_core::payload::{Encoding, Payload};
use holdover_core::store::{
    CheckpointQuery, EventCursor, EventPage, INBOX_PAGE, MessageRange, PAGE_ROWS_MAX, PendingQuery, Session,
    SessionQuery, StateStore,
};
use holdover_store_layers::encoding_of_reason;
use serde_json::{Value, json};

use crate::args::{Common, Keys};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::pages::each_of;
use crate::print::{counted, inline, note};
use crate::store::{IfMissing, Keys as Ring};

/// The interval between two progress reports if no progress is drawn.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// The number of payloads for each encoding. `None` means plain.
type Counts = BTreeMap<Option<Encoding>, u64>;

/// Counts the payloads under each key, and prints the numbers.
pub(crate) async fn keys(common: &Common, what: &Keys) -> Result<Exit, Failure> {
    let Keys::Status = what;
    let front = Front::open(common, None, IfMissing::AsItIs).await?;
    let mut walk = Walk::of(&front);
    walk.all().await?;
    let Walk { counts, sessions, .. } = walk;
    let ring = front.store.keys();
    front.out.object(&as_json(&front, &counts, sessions));
    let row = |name: &str, count: u64, rest: &str| {
        front.out.line(inline(&format!("{name:<12} {:>14}{rest}", counted(count, "payload"))));
    };
    for (encoding, count) in &counts {
        match encoding {
            Some(Encoding::Encrypted { key }) => row(&format!("key {key}"), *count, place(ring, *key)),
            Some(Encoding::Compressed) => row("compressed", *count, ""),
            None => row("plain", *count, ""),
        }
    }
    for key in unused(ring, &counts) {
        row(&format!("key {key}"), 0, place(ring, key));
    }
    front.out.line(format!("{} of tenant {}", counted(sessions, "session"), common.tenant));
    let missing = counts.keys().flatten().any(|encoding| !ring.decode(*encoding));
    front.close().await;
    Ok(if missing { Exit::Failed } else { Exit::Completed })
}

/// Describes the role of a key.
fn place(ring: &Ring, key: u32) -> &'static str {
    match (ring.has(key), ring.writes_with(key)) {
        (_, true) => "  here, written with",
        (true, false) => "  here",
        (false, false) => "  not here",
    }
}

/// Returns the keys in the file that no payload uses.
fn unused(ring: &Ring, counts: &Counts) -> Vec<u32> {
    ring.ids().filter(|key| !counts.contains_key(&Some(Encoding::Encrypted { key: *key }))).collect()
}

fn as_json(front: &Front, counts: &Counts, sessions: u64) -> Value {
    let ring = front.store.keys();
    let key = |key: u32, payloads: u64| {
        json!({
            "key": key, "payloads": payloads, "here": ring.has(key), "written_with": ring.writes_with(key),
        })
    };
    let used = counts.iter().filter_map(|(encoding, payloads)| match encoding {
        Some(Encoding::Encrypted { key: id }) => Some(key(*id, *payloads)),
        Some(Encoding::Compressed) | None => None,
    });
    let keys: Vec<Value> = used.chain(unused(ring, counts).into_iter().map(|id| key(id, 0))).collect();
    json!({
        "tenant": front.common.tenant,
        "keys": keys,
        "compressed": counts.get(&Some(Encoding::Compressed)).copied().unwrap_or_default(),
        "plain": counts.get(&None).copied().unwrap_or_default(),
        "sessions": sessions,
    })
}

/// A walk over all data of a tenant in a store, page by page. Only one page is in memory.
struct Walk<'a> {
    front: &'a Front,
    store: std::sync::Arc<dyn StateStore>,
    counts: Counts,
    sessions: u64,
    said: Instant,
}

impl<'a> Walk<'a> {
    fn of(front: &'a Front) -> Self {
        let store = front.store.encoded();
        Self { front, store, counts: Counts::new(), sessions: 0, said: Instant::now() }
    }

    async fn all(&mut self) -> Result<(), Failure> {
        let mut query = SessionQuery::all(self.front.tenant().clone());
        query.page.limit = NonZeroU32::new(PAGE_ROWS_MAX);
        loop {
            let page = self.store.list_sessions(&query).await?;
            for listed in page.items {
                // Sessions that are deleted meanwhile are not counted.
                if let Some(session) = self.store.load_session(&listed.key).await? {
                    self.session(&session).await?;
                    self.sessions += 1;
                    self.say();
                }
            }
            match page.next {
                Some(next) => query.page.after = Some(next),
                None => return Ok(()),
            }
        }
    }

    fn count(&mut self, payload: &Payload) {
        *self.counts.entry(payload.encoding()).or_default() += 1;
    }

    /// Reports the progress of the walk.
    fn say(&mut self) {
        let payloads = self.counts.values().sum::<u64>();
        let line = format!("{}, {}", counted(self.sessions, "session"), counted(payloads, "payload"));
        if self.front.out.draws() {
            self.front.out.draw(&[line]);
        } else if self.said.elapsed() >= SAY_EVERY && !self.front.out.quiet() {
            self.said = Instant::now();
            note(&line);
        }
    }

    async fn session(&mut self, session: &Session) -> Result<(), Failure> {
        let key = &session.key;
        self.count(&session.definition);
        session.state.iter().for_each(|state| self.count(state));
        if let Some(interrupt) = &session.interrupt {
            *self.counts.entry(encoding_of_reason(&interrupt.reason)).or_default() += 1;
        }
        session.staged.results.iter().for_each(|result| self.count(&result.payload));
        self.messages(key, session.last_message).await?;
        self.inbox(key).await?;
        self.events(key).await?;
        self.lists(key).await
    }

    async fn messages(&mut self, key: &SessionKey, last: MessageSeq) -> Result<(), Failure> {
        let mut left = vec![MessageRange::new(MessageSeq(1), last)];
        if last.0 == 0 {
            left.clear();
        }
        while !left.is_empty() {
            let page = self.store.read_messages(key, &left).await?;
            page.messages.iter().for_each(|message| self.count(&message.payload));
            left = page.rest;
        }
        Ok(())
    }

    async fn inbox(&mut self, key: &SessionKey) -> Result<(), Failure> {
        let mut after = Some(InboxSeq(0));
        while let Some(place) = after {
            let page = self.store.read_inbox(key, place, INBOX_PAGE).await?;
            page.items.iter().for_each(|item| self.count(&item.payload));
            after = page.next;
        }
        Ok(())
    }

    async fn events(&mut self, key: &SessionKey) -> Result<(), Failure> {
        let mut after = EventCursor::START;
        loop {
            match self.store.read_events(key, &after, PAGE_ROWS_MAX).await? {
                EventPage::Events { events, stream, next, more } => {
                    events.iter().for_each(|event| self.count(&event.payload));
                    let deltas = stream.iter().flat_map(|stream| &stream.deltas);
                    deltas.for_each(|delta| self.count(&delta.payload));
                    if !more {
                        return Ok(());
                    }
                    after = next;
                }
                EventPage::Gone | EventPage::NotFound => return Ok(()),
            }
        }
    }

    /// Counts the payloads in the session's lists: its runs, pending calls and checkpoints.
    async fn lists(&mut self, key: &SessionKey) -> Result<(), Failure> {
        let Self { store, counts, .. } = self;
        let mut count = |payload: &Payload| *counts.entry(payload.encoding()).or_default() += 1;
        let runs = async |page| store.list_runs(key, page).await;
        each_of(runs, |run| run.end.and_then(|end| end.detail).iter().for_each(&mut count)).await?;
        let pending = PendingQuery { session: Some(key.id.clone()), ..PendingQuery::all(key.tenant.clone()) };
        let pending = async |page| store.list_pending(&PendingQuery { page, ..pending.clone() }).await;
        each_of(pending, |call| count(&call.body)).await?;
        let checkpoints = CheckpointQuery::all(key.clone());
        let checkpoints =
            async |page| store.list_checkpoints(&CheckpointQuery { page, ..checkpoints.clone() }).await;
        each_of(checkpoints, |checkpoint| count(&checkpoint.state)).await?;
        Ok(())
    }
}
