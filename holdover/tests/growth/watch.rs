//! A store that is watched: the operations between two requests to the model, and their cost.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover::store::{SqliteStore, StateStore, StoreError};
use holdover_core::store::{Answer, Commit, CommitOutcome, Layered, LeaseOutcome, Receipt, Request};
use tokio::sync::watch;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::agent::Hooks;

/// The interval at which a run renews its lease, and at which a listener waits again.
const EVERY: Duration = Duration::from_secs(5);

/// The longest wait for streamed text to be written.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store operations of one interval, and their cost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cost {
    /// The time since the previous cost.
    pub(crate) took: Duration,
    /// The number of requests for each operation, by name.
    pub(crate) calls: BTreeMap<&'static str, usize>,
    /// The number of transactions of the writer.
    pub(crate) transactions: u64,
    /// The number of transactions that were not synced.
    pub(crate) provisional: u64,
    /// The SQL statements in order, including those of readers.
    pub(crate) statements: Vec<String>,
    /// The bytes of state and events in commits, which are stored in addition to the transcript.
    pub(crate) beside: usize,
}

/// A store that is watched, and the layer that watches it.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: SqliteStore,
    out: Arc<watch::Sender<usize>>,
    began: Instant,
    seen: Arc<Mutex<Seen>>,
    /// True if waits and renewals reach the store. Otherwise there are no hints, and renewals are answered without the
    /// store, because time causes renewals, not a step.
    hears: bool,
}

struct Seen {
    since: Instant,
    /// The number of transactions so far, and of those that were not synced.
    transactions: (u64, u64),
    cost: Cost,
    /// The number of renewals so far. Time causes renewals and waits, not steps.
    renewals: u32,
    listened: u32,
    /// The receipt of the last commit.
    receipt: Option<Receipt>,
}

impl Watched {
    /// Returns a watched store that answers renewals and waits itself.
    pub(crate) fn deaf(inner: SqliteStore) -> Self {
        Self::new(inner, false)
    }

    /// Returns a watched store that passes renewals and waits on to the store.
    pub(crate) fn hearing(inner: SqliteStore) -> Self {
        Self::new(inner, true)
    }

    fn new(inner: SqliteStore, hears: bool) -> Self {
        STATEMENTS.lock().unwrap().clear();
        let began = Instant::now();
        let (transactions, cost) = (transactions(&inner), Cost::default());
        let seen = Seen { since: began, transactions, cost, renewals: 0, listened: 0, receipt: None };
        let out = Arc::new(watch::Sender::new(0));
        Self { inner, out, began, seen: Arc::new(Mutex::new(seen)), hears }
    }

    /// Returns the store with the watching layer.
    pub(crate) fn store(&self) -> Layered<SqliteStore, Self> {
        Layered::new(self.inner.clone(), self.clone())
    }

    /// Waits until no request is pending, as if the model took longer than a commit. Returns the cost since the last
    /// call.
    pub(crate) async fn settled(&self) -> Cost {
        let mut out = self.out.subscribe();
        out.wait_for(|out| *out == 0).await.unwrap();
        let now = transactions(&self.inner);
        let before = std::mem::replace(&mut self.seen.lock().unwrap().transactions, now);
        let (transactions, provisional) = (now.0 - before.0, now.1 - before.1);
        let commits = STATEMENTS.lock().unwrap().iter().filter(|said| *said == "COMMIT").count() as u64;
        assert!(commits >= transactions, "{commits} of {transactions} commits were told of");
        let mut seen = self.seen.lock().unwrap();
        let took = std::mem::replace(&mut seen.since, Instant::now()).elapsed();
        let statements = std::mem::take(&mut *STATEMENTS.lock().unwrap());
        Cost { took, transactions, provisional, statements, ..std::mem::take(&mut seen.cost) }
    }

    /// Waits until deltas of the current answer are written, and no request is pending.
    pub(crate) async fn streamed(&self) {
        let mut out = self.out.subscribe();
        let written = out.wait_for(|out| *out == 0 && self.asked("append_deltas") > 0);
        let _ = tokio::time::timeout(PATIENCE, written).await.expect("deltas are written");
    }

    fn asked(&self, name: &str) -> usize {
        self.seen.lock().unwrap().cost.calls.get(name).copied().unwrap_or_default()
    }

    /// Returns the hooks of a model. Before each answer, the model waits for pending requests, and passes the cost
    /// since the last answer to `of`.
    pub(crate) fn hooks(&self, of: impl Fn(Cost) + Send + Sync + 'static) -> Hooks {
        let (before, said, of) = (self.clone(), self.clone(), Arc::new(of));
        Hooks {
            before: Arc::new(move || {
                let (store, of) = (before.clone(), Arc::clone(&of));
                Box::pin(async move { of(store.settled().await) })
            }),
            said: Arc::new(move || {
                let store = said.clone();
                Box::pin(async move { store.streamed().await })
            }),
        }
    }

    /// Asserts that time caused no more requests than it may: one renewal each interval, and for each of two listeners
    /// one wait for each interval that has begun and for each of `writes`.
    #[track_caller]
    pub(crate) fn check_what_time_brought(&self, writes: u64) {
        let seen = self.seen.lock().unwrap();
        let times = u32::try_from(self.began.elapsed().as_secs() / EVERY.as_secs()).unwrap();
        assert!(seen.renewals <= times, "{} renewals, {times} are due", seen.renewals);
        // The run listens, and so does the waiter for its outcome.
        let listened = u64::from(2 * (times + 1)) + 2 * writes;
        assert!(seen.listened >= 1, "nobody listened");
        assert!(u64::from(seen.listened) <= listened, "{} times heard, {listened} at most", seen.listened);
    }

    async fn note<T>(&self, name: &'static str, beside: usize, asked: impl Future<Output = T>) -> T {
        {
            let mut seen = self.seen.lock().unwrap();
            *seen.cost.calls.entry(name).or_default() += 1;
            seen.cost.beside += beside;
        }
        self.out.send_modify(|out| *out += 1);
        let answer = asked.await;
        self.out.send_modify(|out| *out -= 1);
        answer
    }
}

fn transactions(store: &SqliteStore) -> (u64, u64) {
    let counts = store.writer_counts();
    (counts.groups, counts.provisional)
}

/// Returns the number of bytes of a commit without its messages and staged results, and without the milliseconds between two
/// rows of the history, which depend on the machine.
fn own_bytes(commit: &Commit) -> usize {
    let beside = commit.payloads().filter(|(field, _)| !matches!(*field, "messages" | "stage"));
    beside.map(|(_, payload)| payload.len() - milliseconds(payload.bytes())).sum()
}

/// Returns the number of bytes that tell the milliseconds between two rows.
fn milliseconds(json: &[u8]) -> usize {
    const FIELD: &[u8] = b",\"ms\":";
    let begins = json.windows(FIELD.len()).enumerate().filter(|(_, bytes)| *bytes == FIELD);
    let digits = |at: usize| json[at + FIELD.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    begins.map(|(at, _)| FIELD.len() + digits(at)).sum()
}

/// Starts to record the SQL statements of this process.
pub(crate) fn listen() {
    LazyLock::force(&STATEMENTS);
}

/// The statements that all stores of this process ran.
static STATEMENTS: LazyLock<Arc<Mutex<Vec<String>>>> = LazyLock::new(|| {
    let statements = Arc::<Mutex<Vec<String>>>::default();
    let subscriber = tracing_subscriber::registry().with(Statements(Arc::clone(&statements)));
    tracing::subscriber::set_global_default(subscriber).unwrap();
    statements
});

/// Records the statements that the SQLite store logs.
struct Statements(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "holdover_store_sqlite::statement"
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Summary<'s>(&'s Mutex<Vec<String>>);
        impl Visit for Summary<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                let sql = format!("{value:?}");
                // The writer asks for the size of the log between transactions, when all waiting requests are already
                // answered.
                if field.name() == "sql" && !sql.contains("wal_checkpoint(NOOP)") {
                    self.0.lock().unwrap().push(sql);
                }
            }
        }
        event.record(&mut Summary(&self.0));
    }
}

#[async_trait]
impl holdover_core::store::Layer for Watched {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Renew(..) = &request {
            self.seen.lock().unwrap().renewals += 1;
            if self.hears {
                return request.perform(&store).await;
            }
            let receipt = self.seen.lock().unwrap().receipt;
            return Ok(receipt.map_or(LeaseOutcome::StaleFence, LeaseOutcome::Renewed).into());
        }
        if let Request::Wait(_, at_most) = &request {
            self.seen.lock().unwrap().listened += 1;
            if self.hears {
                return request.perform(&store).await;
            }
            // Without a hint, no look at the store follows.
            tokio::time::sleep(*at_most).await;
            return Ok(().into());
        }
        let own = if let Request::Commit(_, commit) = &request { own_bytes(commit) } else { 0 };
        let answer = self.note(request.operation(), own, request.perform(&store)).await;
        if let Ok(Answer::Committed(CommitOutcome::Committed(receipt))) = &answer {
            self.seen.lock().unwrap().receipt = Some(*receipt);
        }
        answer
    }
}
