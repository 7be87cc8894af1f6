//! The turns of tenants when more sessions are due than a claim asks for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use holdover_launcher::shared;
use holdover_store::ids::{SessionKey, StateFormat, TenantId};
use holdover_store::rules::in_turn;
use holdover_store::time::Timestamp;
use holdover_store::{ClaimDue, Queues, StateStore};
use holdover_store_postgres::PostgresStore;
use support::{Admin, due, id, insert_waiting, options, schema_of};

async fn claimed(store: &PostgresStore, claim: ClaimDue) -> Vec<SessionKey> {
    let claims = store.claim_due(claim).await.unwrap();
    claims.into_iter().map(|claim| claim.fence.key).collect()
}

fn ids(keys: &[SessionKey]) -> Vec<&str> {
    keys.iter().map(|key| key.id.as_str()).collect()
}

#[tokio::test]
async fn one_tenant_with_many_keeps_nobody_waiting() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options.clone()).await.unwrap();
    let waiting = "SELECT 'many', 'm' || nth, 'queue', 1, nth, NULL FROM generate_series(1, 50) AS nth \
         UNION ALL VALUES ('few', 'f1', 'queue', 1, 1001, NULL), ('few', 'f2', 'other', 1, 1002, NULL), \
             ('one', 'o1', 'other', 1, 1003, NULL)";
    admin.run(&insert_waiting(&schema, waiting)).await;
    let mut served = Vec::new();
    for _ in 0..6 {
        served.extend(claimed(&store, due(1)).await);
    }
    assert_eq!(ids(&served), ["f1", "m1", "o1", "f2", "m2", "m3"]);
    // A new handle begins with the first tenant.
    let other = PostgresStore::open(options).await.unwrap();
    let more = "VALUES ('few', 'f3', 'queue', 1, 1004, NULL), ('one', 'o2', 'other', 1, 1005, NULL)";
    admin.run(&insert_waiting(&schema, more)).await;
    assert_eq!(ids(&claimed(&other, due(5)).await), ["f3", "m4", "o2", "m5", "m6"]);
    other.close().await;
    store.close().await;
}

#[tokio::test]
async fn more_than_a_page_of_sessions_is_claimed_at_once() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let waiting = "SELECT 'a', 'a' || nth, 'queue', 1, nth, NULL FROM generate_series(1, 600) AS nth \
         UNION ALL VALUES ('b', 'b', 'queue', 1, 9999, NULL)";
    admin.run(&insert_waiting(&schema, waiting)).await;
    let mut all = claimed(&store, due(300)).await;
    assert_eq!(ids(&all[..4]), ["a1", "b", "a2", "a3"]);
    // A claim may take fewer sessions than it finds, because decisions that are too old are made again.
    loop {
        let more = claimed(&store, due(1000)).await;
        if more.is_empty() {
            break;
        }
        all.extend(more);
    }
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (601, 601));
    store.close().await;
}

/// A session with an alarm.
struct Waiting {
    queue: String,
    format: u32,
    alarm: i64,
    interrupted: bool,
}

/// A generator that gives the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const LATER: i64 = 32_503_680_000_000;

#[tokio::test]
async fn what_is_claimed_is_what_the_rule_chooses() {
    let url = shared::postgres_url();
    let mut admin = Admin::at(url).await;
    for seed in 0..12 {
        let mut numbers = Numbers(seed);
        let options = options(url);
        let schema = schema_of(&options);
        let store = PostgresStore::open(options).await.unwrap();
        let mut waiting: BTreeMap<SessionKey, Waiting> = BTreeMap::new();
        // The tenant that was served last, by the queues and format that a worker serves.
        let mut after: HashMap<(Queues, StateFormat), TenantId> = HashMap::new();
        for round in 0..16 {
            let mut new = vec!["('none', 'none', 'q', 1, NULL::bigint, NULL::text)".to_owned()];
            for nth in 0..numbers.below(8) {
                // Names that sort differently by bytes and by language.
                let tenant = ["B", "a", "ab", "z", "é"][numbers.below(5) as usize];
                let name = format!("s{seed}-{round}-{nth}");
                let one = Waiting {
                    queue: ["q", "r", "Q"][numbers.below(3) as usize].into(),
                    format: numbers.below(3) as u32 + 1,
                    alarm: if numbers.below(5) == 0 { LATER } else { numbers.below(6) as i64 },
                    interrupted: numbers.below(5) == 0,
                };
                let interrupt = if one.interrupted { "'stop'" } else { "NULL" };
                let Waiting { queue, format, alarm, .. } = &one;
                new.push(format!("('{tenant}', '{name}', '{queue}', {format}, {alarm}, {interrupt})"));
                waiting.insert(SessionKey::new(id(tenant), id(&name)), one);
            }
            let values =
                format!("SELECT * FROM (VALUES {}) v (t, i, q, f, a, x) WHERE a IS NOT NULL", new.join(", "));
            admin.run(&insert_waiting(&schema, &values)).await;

            let queues = match numbers.below(3) {
                0 => Queues::Named(vec![id("q"), id("q")]),
                1 => Queues::Named(vec![id("Q"), id("r")]),
                _ => Queues::All,
            };
            let tenant = (numbers.below(4) == 0).then(|| id("ab"));
            let newest_format = StateFormat(numbers.below(4) as u32);
            let limit = numbers.below(6) as usize + 1;
            let serves = |one: &Waiting| queues.serves(&id(&one.queue)) && one.format <= newest_format.0;
            let ours = waiting.iter().filter(|(key, one)| {
                (serves(one) || one.interrupted) && tenant.as_ref().is_none_or(|of| *of == key.tenant)
            });
            let place = |(key, one): (&SessionKey, &Waiting)| (Timestamp::from_ms(one.alarm), key.clone());
            let all_due: Vec<_> = ours.clone().filter(|(_, one)| one.alarm < LATER).map(place).collect();
            let tenants: BTreeSet<_> = ours.map(|(key, _)| key.tenant.clone()).collect();
            let served = (queues.clone(), newest_format);
            let began = if tenant.is_none() { after.get(&served).cloned() } else { None };
            let (expected, _) = in_turn(all_due.clone(), began.as_ref(), limit);
            if tenant.is_none() && all_due.len() > limit {
                // A tenant with an alarm that is not due is passed over; that counts as its turn.
                let (before, behind): (Vec<_>, Vec<_>) = tenants
                    .into_iter()
                    .partition(|tenant| began.as_ref().is_some_and(|began| tenant <= began));
                let mut turns = 0;
                for tenant in behind.into_iter().chain(before) {
                    if turns == limit {
                        break;
                    }
                    turns += usize::from(all_due.iter().any(|(_, key)| key.tenant == tenant));
                    after.insert(served.clone(), tenant);
                }
            }
            let claim =
                ClaimDue { queues: queues.clone(), newest_format, tenant: tenant.clone(), ..due(limit) };
            let keys = claimed(&store, claim).await;
            assert_eq!(keys, expected, "seed {seed}, round {round}");
            waiting.retain(|key, _| !keys.contains(key));
        }
        store.close().await;
    }
}
