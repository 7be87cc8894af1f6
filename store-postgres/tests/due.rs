//! The cost of finding due sessions does not grow with the tables.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::Launcher;
use holdover_launcher::shared;
use holdover_store::ids::StateFormat;
use holdover_store::{ClaimDue, CommitOutcome, Queues, StateStore};
use holdover_store_postgres::PostgresStore;
use support::watched::{Watched, pages};
use support::{Admin, commit, due, id, insert_waiting, options, running, schema_of};

/// The most pages of 8 KiB that one search may read if tenants do not take turns.
const PAGES: u64 = 120;
/// The most pages that one search may read if tenants take turns: it passes over a hundred tenants with nothing due.
const PAGES_OF_TURNS: u64 = 2_000;

/// Methods for tests that only search for due sessions.
trait Looks {
    async fn insert(&mut self, select: &str);
    fn looks(&mut self) -> Vec<String>;
    async fn claim(&mut self, store: &PostgresStore, claim: ClaimDue) -> (Vec<String>, u64, String);
}

impl Looks for Watched {
    async fn insert(&mut self, select: &str) {
        self.admin.run(&insert_waiting(&schema_of(&self.options), select)).await;
    }

    /// Returns the plans of all searches since the last call.
    fn looks(&mut self) -> Vec<String> {
        self.plans().into_iter().filter(|plan| plan.contains("WITH RECURSIVE")).collect()
    }

    /// Claims once. Returns the tenants of the claimed sessions, the pages read, and the plan.
    async fn claim(&mut self, store: &PostgresStore, claim: ClaimDue) -> (Vec<String>, u64, String) {
        self.looks();
        let claims = store.claim_due(claim).await.unwrap();
        let looks = self.looks();
        assert_eq!(looks.len(), 1, "one look");
        let pages = pages(&looks[0]);
        let tenants = claims.into_iter().map(|claim| claim.fence.key.tenant.to_string());
        (tenants.collect(), pages, looks.into_iter().next().unwrap())
    }
}

/// Returns the part of a plan that finds the tenants that take turns.
fn turns(plan: &str) -> &str {
    plan.split("CTE turn\n").nth(1).unwrap().split("CTE d\n").next().unwrap()
}

const LATER: &str = "32503680000000";
const LEGACY: StateFormat = StateFormat(0);

const BUSY: &str =
    "SELECT 'busy', 's' || nth, 'queue', 1, 32503680000000, NULL FROM generate_series(1, 20000) nth";

/// Returns SQL that creates sessions that a worker with format 1 cannot claim: not yet due, or of a newer format.
fn not_for_us() -> String {
    format!(
        "SELECT 't' || lpad(nth::text, 5, '0'), 's' || nth, 'queue', 1, {LATER}, NULL FROM generate_series(1, 30000) nth \
         UNION ALL SELECT 'busy', 'q' || nth, 'queue-' || nth % 3, 1, {LATER}, NULL FROM generate_series(1, 10000) nth \
         UNION ALL SELECT 'new', 's' || nth, 'queue', 2, nth, NULL FROM generate_series(1, 20000) nth"
    )
}

async fn idle_looks(watched: &mut Watched, store: &PostgresStore, when: &str) {
    let named = Queues::Named(vec![id("queue"), id("queue-1"), id("queue-9")]);
    let claims = [
        ("all queues", due(4)),
        ("named queues", ClaimDue { queues: named.clone(), ..due(4) }),
        ("an older format", ClaimDue { newest_format: LEGACY, ..due(4) }),
        ("one tenant", ClaimDue { tenant: Some(id("t00001")), ..due(4) }),
        ("one tenant of newer ones", ClaimDue { tenant: Some(id("new")), queues: named, ..due(4) }),
    ];
    for (what, claim) in claims {
        let alone = claim.tenant.is_some();
        let (tenants, pages, plan) = watched.claim(store, claim).await;
        assert!(tenants.is_empty(), "{when}, {what}: {tenants:?}");
        assert!(pages <= PAGES, "{when}, {what}: {pages} pages: {plan}");
        if !alone {
            let asked = turns(&plan).lines().filter(|line| line.contains(" Scan using session_turn"));
            let asked: Vec<&str> = asked.collect();
            assert!(!asked.is_empty(), "{when}, {what}: {plan}");
            assert!(asked.iter().all(|line| line.contains("(never executed)")), "{when}, {what}: {plan}");
        }
    }
}

async fn looks_with_a_backlog(watched: &mut Watched, store: &PostgresStore, when: &str) {
    for (what, claim) in [
        ("an idle tenant", ClaimDue { tenant: Some(id("t00001")), ..due(4) }),
        ("an older format", ClaimDue { newest_format: LEGACY, ..due(4) }),
        ("another queue", ClaimDue { queues: Queues::Named(vec![id("queue-1")]), ..due(4) }),
    ] {
        let (tenants, pages, plan) = watched.claim(store, claim).await;
        assert!(tenants.is_empty(), "{when}, {what}: {tenants:?}");
        assert!(pages <= PAGES, "{when}, {what}: {pages} pages: {plan}");
    }
    let of_many = ClaimDue { tenant: Some(id("many")), ..due(1) };
    let (tenants, pages, plan) = watched.claim(store, of_many).await;
    assert_eq!(tenants, ["many"], "{when}");
    assert!(pages <= PAGES, "{when}: {pages} pages: {plan}");
    // From the second claim on, the search passes over a hundred tenants with nothing due.
    for nth in 0..3 {
        let (tenants, pages, plan) = watched.claim(store, due(1)).await;
        assert_eq!(tenants, ["many"], "{when}, turn {nth}");
        assert!(pages <= PAGES_OF_TURNS, "{when}, turn {nth}: {pages} pages: {plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_reads_few_pages_whatever_is_in_the_tables() {
    let launcher = Launcher::new().unwrap();
    let mut watched = Watched::new(&launcher).await;
    for one_tenant_is_known in [false, true] {
        watched.options = options(&watched.server.url()).connections_max(1);
        let analyze = format!("ANALYZE {}.session", schema_of(&watched.options));
        // The statements are planned while the tables are empty, or hold sessions of one tenant.
        let early = PostgresStore::open(watched.options.clone()).await.unwrap();
        idle_looks(&mut watched, &early, "planned while empty").await;
        watched.insert(BUSY).await;
        if one_tenant_is_known {
            watched.admin.run(&analyze).await;
        }
        idle_looks(&mut watched, &early, "planned early").await;
        watched.insert(&not_for_us()).await;
        idle_looks(&mut watched, &early, "planned early").await;
        let late = PostgresStore::open(watched.options.clone()).await.unwrap();
        idle_looks(&mut watched, &late, "planned late").await;

        let many = "SELECT 'many', 'm' || nth, 'queue', 1, nth, NULL FROM generate_series(1, 40000) nth";
        watched.insert(many).await;
        looks_with_a_backlog(&mut watched, &early, "planned early").await;
        looks_with_a_backlog(&mut watched, &late, "planned late").await;
        watched.admin.run(&analyze).await;
        looks_with_a_backlog(&mut watched, &early, "planned with statistics").await;
        // Sessions with a waiting interrupt are due in every queue.
        watched
            .insert(
                "SELECT 'stopped', 'i' || nth, 'queue', 1, nth, 'stop' FROM generate_series(1, 10000) nth",
            )
            .await;
        for store in [&early, &late] {
            let idle = ClaimDue { tenant: Some(id("t00001")), ..due(4) };
            let (tenants, pages, plan) = watched.claim(store, idle).await;
            assert!(tenants.is_empty() && pages <= PAGES, "{pages} pages: {plan}");
            let another = ClaimDue { queues: Queues::Named(vec![id("queue-1")]), ..due(1) };
            let (tenants, pages, plan) = watched.claim(store, another).await;
            assert_eq!(tenants, ["stopped"]);
            assert!(pages <= PAGES, "{pages} pages: {plan}");
        }
        early.close().await;
        late.close().await;
    }
}

/// A commit of a run changes no column of the indexes for due sessions.
#[tokio::test]
async fn a_commit_of_a_run_changes_no_index() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    for nth in 1..=30 {
        let saved = store.commit(&claim.fence, commit(nth)).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }
    // A connection reports its statistics at the latest when it ends.
    store.close().await;
    let of = format!("FROM pg_stat_user_tables WHERE relid = '{schema}.session'::regclass");
    while admin.number(&format!("SELECT n_tup_upd {of}")).await < 30 {
        tokio::task::yield_now().await;
    }
    assert_eq!(admin.number(&format!("SELECT n_tup_upd - n_tup_hot_upd {of}")).await, 0);
}
