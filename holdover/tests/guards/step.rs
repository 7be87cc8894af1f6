//! Measures the cost of a step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdover::store::StateStore;
use stats_alloc::INSTRUMENTED_SYSTEM;
use tokio::runtime::Builder;

use crate::work;

/// Counts by name.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// The number of memory allocations, by all threads.
pub(crate) const ALLOCATIONS: &str = "allocations";
/// The number of bytes of those allocations.
pub(crate) const ALLOCATED: &str = "allocated bytes";
/// The number of times that the runtime's only thread slept until another thread, a server or the clock woke it.
pub(crate) const HOPS: &str = "hops";

/// The steps of the short session. The long session has `STEPS` more.
const FEW: u64 = 10;
const STEPS: u64 = 50;

/// The number of steps before those that count as late.
pub(crate) const LATE: u64 = 1_200;
/// The same for servers, whose steps take longer.
pub(crate) const LATE_ON_SERVERS: u64 = 400;

/// The highest cost of a late step, as a multiple of the cost of an early one.
const LATE_MAX: f64 = 1.1;

/// The interval at which a run renews its lease. A renewal costs less than a step. A session that ends sooner has none.
const RENEWS: Duration = Duration::from_secs(5);

/// Held by each test: allocations are counted for the whole process, so tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Asserts that each cost of a step is at most the expected one, with an allowance for renewals. A cost of zero fails
/// too, unless zero is expected.
#[track_caller]
pub(crate) fn check<Look: AsyncFnMut() -> Counts>(
    open: impl AsyncFnOnce() -> (Arc<dyn StateStore>, Look),
    expected: &[(&'static str, f64)],
) {
    let (costs, took) = cost(open, FEW);
    let renewals = (took.as_secs() / RENEWS.as_secs()) as f64 / STEPS as f64;
    let names: Vec<_> = costs.keys().collect();
    assert_eq!(names.len(), expected.len(), "{names:?}");
    for (name, most) in expected {
        let cost = costs[name];
        assert!(cost > 0.0 || *most == 0.0, "no {name} are counted: {costs:?}");
        assert!(
            cost <= most * (1.0 + renewals),
            "a step: {cost} {name}, not {most}; all, in {took:?}: {costs:?}"
        );
    }
}

/// Asserts that these costs of a step late in a session, after `before` steps, are at most `LATE_MAX` times those early
/// in one, with an allowance for renewals.
#[track_caller]
pub(crate) fn check_late<Look: AsyncFnMut() -> Counts>(
    open: impl AsyncFn() -> (Arc<dyn StateStore>, Look),
    before: u64,
    names: &[&'static str],
) {
    let ((early, _), (late, took)) = (cost(&open, FEW), cost(&open, before));
    let renewals = (took.as_secs() / RENEWS.as_secs()) as f64 / STEPS as f64;
    for name in names {
        let most = early[name] * (LATE_MAX + renewals);
        assert!(
            late[name] <= most,
            "a step: {} {name} late, {} early; all, in {took:?}: {late:?}",
            late[name],
            early[name]
        );
    }
}

/// Returns the costs per step over `STEPS` steps, in a session that has `before` steps first, and the time that the
/// longer session took.
fn cost<Look: AsyncFnMut() -> Counts>(
    open: impl AsyncFnOnce() -> (Arc<dyn StateStore>, Look),
    before: u64,
) -> (BTreeMap<&'static str, f64>, Duration) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let hops = Arc::<AtomicU64>::default();
    let count = Arc::clone(&hops);
    let sleeps = move || {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let runtime = Builder::new_current_thread().enable_all().on_thread_park(sleeps).build().unwrap();
    runtime.block_on(async {
        let (store, mut look) = open().await;
        work::session(&store, FEW).await;
        let few = spent(&store, &mut look, &hops, before).await;
        let began = Instant::now();
        let many = spent(&store, &mut look, &hops, before + STEPS).await;
        let took = began.elapsed();
        let of_steps =
            |(name, many): (&'static str, u64)| (name, (many as f64 - few[name] as f64) / STEPS as f64);
        (many.into_iter().map(of_steps).collect(), took)
    })
}

/// Returns the costs of a session of `steps` steps.
async fn spent(
    store: &Arc<dyn StateStore>,
    look: &mut impl AsyncFnMut() -> Counts,
    hops: &AtomicU64,
    steps: u64,
) -> Counts {
    let before = look().await;
    let (memory, slept) = (INSTRUMENTED_SYSTEM.stats(), hops.load(Ordering::SeqCst));
    work::session(store, steps).await;
    let (now, woke) = (INSTRUMENTED_SYSTEM.stats(), hops.load(Ordering::SeqCst));
    let mut counts = look().await;
    for (name, count) in &mut counts {
        *count -= before[name];
    }
    let asked = |stats: stats_alloc::Stats| (stats.allocations + stats.reallocations) as u64;
    counts.insert(ALLOCATIONS, asked(now) - asked(memory));
    counts.insert(ALLOCATED, (now.bytes_allocated - memory.bytes_allocated) as u64);
    counts.insert(HOPS, woke - slept);
    counts
}
