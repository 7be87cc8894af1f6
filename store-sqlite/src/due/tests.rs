//! Tests of the cost of finding due sessions among many others, counted in steps of SQLite's virtual machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use holdover_store::rows::Kind;

use super::*;
use crate::migration;

/// The number of sessions in addition to those that are searched for.
pub(crate) const MANY: u32 = 100_000;
/// The most steps that a search without turns of tenants may take. One walk to one entry takes about 30.
const STEPS_MAX: u64 = 3_000;
/// The most steps that a search with turns of tenants may take. Such a search makes up to about 256 walks for turns.
const TURNS_STEPS_MAX: u64 = 40_000;

/// A database in memory, with the newest schema.
pub(crate) struct File {
    pub(crate) conn: Connection,
    steps: Arc<AtomicU64>,
}

impl File {
    pub(crate) fn new() -> Self {
        let conn = Connection::open_in_memory().unwrap();
        migration::migrate(&conn, "test").unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        conn.progress_handler(
            1,
            Some(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                false
            }),
        )
        .unwrap();
        Self { conn, steps }
    }

    /// Inserts `count` sessions. `tenant` and `alarm` are SQL expressions over their number `n`.
    pub(crate) fn put(&self, name: &str, count: u32, tenant: &str, format: u32, alarm: &str) {
        let sql = format!(
            "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {count}) \
             INSERT INTO session (token, tenant, id, incarnation, operation, queue, created_at, status, version, \
                 epoch, format, found, run_open, attempts, last_message, last_event, last_item, unread, inbox_seen, \
                 unseen_counted, unseen_urgent, wake_on, updated_at, alarm) \
             SELECT 1, {tenant}, '{name}' || n, zeroblob(16), 'op', 'q', 0, 'suspended', 1, 0, {format}, 'idle', 0, 0, \
                 0, 0, 0, 0, 0, 0, 0, 0, 0, {alarm} FROM n"
        );
        self.conn.execute_batch(&sql).unwrap();
    }

    /// Runs `what`. Also returns the number of steps that it took.
    pub(crate) fn counted<T>(&self, what: impl FnOnce(&Connection) -> T) -> (T, u64) {
        let before = self.steps.load(Ordering::Relaxed);
        let done = what(&self.conn);
        (done, self.steps.load(Ordering::Relaxed) - before)
    }

    /// Runs `query` at instant 0. Returns the sessions, the tenant to continue after, and the number of steps that
    /// the query took.
    fn look(&self, query: &DueQuery) -> (Vec<String>, Option<String>, u64) {
        let wants = [Want::all(Kind::Staged)];
        let (due, steps) = self.counted(|conn| due(conn, query, &wants, Timestamp::from_ms(0)).unwrap());
        let found = due.found.into_iter().map(|found| found.unwrap());
        let names = found.map(|found| found.slot.unwrap().row.as_ref().unwrap().key.to_string()).collect();
        (names, due.after.map(|tenant| tenant.to_string()), steps)
    }
}

const QUERY: DueQuery =
    DueQuery { queues: Queues::All, newest_format: StateFormat(1), tenant: None, after: None, limit: 1 };

#[test]
fn a_look_costs_the_same_beside_any_number_of_sessions() {
    let file = File::new();
    // Alarms in the future, each of a tenant of its own, all at one instant.
    file.put("ahead", MANY, "printf('ahead%06d', n)", 1, "5");
    // Sessions of a newer format, long due, all at one instant.
    file.put("newer", MANY, "'newer'", 2, "-9");
    let (found, _, steps) = file.look(&QUERY);
    assert_eq!(found, Vec::<String>::new());
    assert!(steps < STEPS_MAX, "nothing is due: {steps}");

    // A backlog of one tenant, all at one instant.
    file.put("many", MANY, "'many'", 1, "-5");
    let idle = DueQuery { tenant: Some("idle".parse().unwrap()), ..QUERY };
    let (found, _, steps) = file.look(&idle);
    assert_eq!(found, Vec::<String>::new());
    assert!(steps < STEPS_MAX, "a tenant with nothing: {steps}");

    file.put("few", 2, "'few'", 1, "-1");
    let few = DueQuery { tenant: Some("few".parse().unwrap()), ..QUERY };
    let (found, _, steps) = file.look(&few);
    assert_eq!(found, ["few/few0"]);
    assert!(steps < STEPS_MAX, "a tenant beside a backlog: {steps}");

    let none = DueQuery { queues: Queues::Named(vec!["other".parse().unwrap()]), ..QUERY };
    let (found, _, steps) = file.look(&none);
    assert_eq!(found, Vec::<String>::new());
    assert!(steps < STEPS_MAX, "another queue: {steps}");
}

#[test]
fn turns_cost_the_same_beside_any_number_of_sessions_and_come_round() {
    let file = File::new();
    file.put("ahead", 2_000, "printf('t%04d', n)", 1, "5");
    file.put("many", MANY, "'t1000many'", 1, "-5");
    file.put("few", 1, "'t1900few'", 1, "-1");
    let (mut after, mut looks) = (None::<String>, 0);
    loop {
        let query = DueQuery { after: after.map(|tenant| tenant.parse().unwrap()), ..QUERY };
        let (found, last, steps) = file.look(&query);
        assert!(steps < TURNS_STEPS_MAX, "{steps}");
        looks += 1;
        match found[0].as_str() {
            "t1900few/few0" => break,
            found => assert_eq!(found, "t1000many/many0"),
        }
        assert!(looks < 50, "it has no turn");
        after = last;
    }
}

#[test]
fn each_walk_is_along_its_index() {
    let file = File::new();
    let plan = |sql: &str| {
        let mut explained = file.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = explained.parameter_count();
        let lines = explained.query_map(params_from_iter(vec![0; count]), |row| row.get::<_, String>(3));
        lines.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let queue = DueGroup::Queue { queue: b"q".to_vec(), format: StateFormat(1) };
    let walks = [
        (Along::Alarms, "alarm <= ?", "alarm, tenant, id", "alarm>? AND alarm<?"),
        (Along::Alarms, "alarm > ? AND alarm <= ?", "alarm, tenant, id", "alarm>? AND alarm<?"),
        (Along::Turns, "tenant > CAST(? AS TEXT)", "tenant", "tenant>?"),
        (
            Along::Turns,
            "tenant = CAST(? AS TEXT) AND alarm <= ?",
            "alarm, id",
            "tenant=? AND alarm>? AND alarm<?",
        ),
    ];
    for (along, bound, order, bounds) in walks {
        let plan = |group: &DueGroup| {
            let walk = Walk { bound, values: vec![Value::from(0)], order };
            plan(&walk.statement(along, group, 1).0)
        };
        let (due, turn) = match along {
            Along::Alarms => ("session_due", "session_due_interrupted"),
            Along::Turns => ("session_turn", "session_turn_interrupted"),
        };
        assert_eq!(
            plan(&queue),
            format!("SEARCH session USING INDEX {due} (queue=? AND format=? AND {bounds})")
        );
        assert_eq!(plan(&DueGroup::Interrupted), format!("SEARCH session USING INDEX {turn} ({bounds})"));
    }
    assert_eq!(plan(NEXT_FORMAT), "SEARCH session USING INDEX session_due (queue=? AND format>?)");
    assert_eq!(plan(NEXT_QUEUE), "SEARCH session USING INDEX session_due (queue>?)");
}

/// Unreadable sessions come before readable ones, and the walk continues after each of them.
#[test]
fn a_walk_goes_on_after_any_place() {
    let file = File::new();
    for (name, count, tenant, alarm) in
        [("a", 40, "'t'", "-3"), ("b", 40, "printf('u%02d', n)", "-3"), ("c", 40, "'t'", "n - 40")]
    {
        file.put(name, count, tenant, 1, alarm);
    }
    file.conn.execute_batch("UPDATE session SET found = 'torn' WHERE sid % 3 > 0").unwrap();
    for tenant in [None, Some("t".parse().unwrap())] {
        let query = DueQuery { tenant: tenant.clone(), limit: 200, ..QUERY };
        let all = due(&file.conn, &query, &[], Timestamp::from_ms(0)).unwrap().found;
        let (all, torn): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
        assert_eq!(all.len() + torn.len(), if tenant.is_some() { 80 } else { 120 });
        let some = DueQuery { limit: all.len(), ..query };
        let some = due(&file.conn, &some, &[], Timestamp::from_ms(0)).unwrap().found;
        assert_eq!(some.into_iter().filter(Result::is_ok).count(), all.len(), "none is passed over");
    }
}
