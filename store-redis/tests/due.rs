//! Claims of due sessions. Tenants take turns in the order that the rule gives for the sessions of all partitions
//! together. A claim takes a bounded number of commands, however many sessions there are.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;

use futures::future::join_all;
use holdover_launcher::{Launcher, Relay};
use holdover_store::ids::{Fence, SessionKey, StateFormat, TenantId};
use holdover_store::payload::Digest;
use holdover_store::rules::in_turn;
use holdover_store::time::Timestamp;
use holdover_store::{ClaimDue, NewSession, Start, StateStore};
use holdover_store_redis::RedisStore;
use support::{
    calls, claim_due, cli, cluster_url, key, keys, new_session, options, redis_url, store_with_namespace,
};
use uuid::Uuid;

fn key_of(tenant: &str, id: &str) -> SessionKey {
    SessionKey { tenant: TenantId::new(tenant).unwrap(), ..key(id) }
}

/// Creates sessions that are due at the given instants.
async fn due(store: &RedisStore, sessions: &[(i64, SessionKey)]) {
    for sessions in sessions.chunks(64) {
        let made = sessions.iter().map(|(at, key)| {
            let start = Start::At(Timestamp::from_ms(*at));
            store.create_session(NewSession { start, ..new_session(key) })
        });
        join_all(made).await.into_iter().for_each(|made| drop(made.unwrap()));
    }
}

async fn claim(store: &RedisStore, claim: ClaimDue) -> Vec<SessionKey> {
    let claims = store.claim_due(claim).await.unwrap();
    claims.into_iter().map(|claim| claim.fence).map(|Fence { key, .. }| key).collect()
}

fn many(tenant: &str, number: usize, at: i64) -> Vec<(i64, SessionKey)> {
    (0..number).map(|nth| (at, key_of(tenant, &format!("s{nth}")))).collect()
}

#[tokio::test]
async fn a_tenant_with_many_due_keeps_nobody_waiting() {
    for url in [redis_url(), cluster_url()] {
        let store = RedisStore::open(options(&url)).await.unwrap();
        due(&store, &many("b", 50, 1)).await;
        due(&store, &[many("a", 1, 2), many("c", 1, 3)].concat()).await;
        let mut served = Vec::new();
        for _ in 0..3 {
            served.extend(claim(&store, claim_due(1)).await.into_iter().map(|key| key.tenant.to_string()));
        }
        assert_eq!(served, ["a", "b", "c"], "{url}");
        // Once each tenant had its turn, the rest of a claim goes by alarm.
        assert_eq!(claim(&store, claim_due(9)).await.len(), 9);
        let of_one = ClaimDue { tenant: Some(TenantId::new("c").unwrap()), ..claim_due(1) };
        assert_eq!(claim(&store, of_one).await, [], "it has no more");
    }
}

/// Returns the partition of a session, in a store with `partitions` partitions.
fn partition_of(key: &SessionKey, partitions: u64) -> u64 {
    let named = format!("{}:{}{}", key.tenant.as_str().len(), key.tenant, key.id);
    let digest = Digest::of(named.as_bytes());
    digest.0.iter().take(8).fold(0u64, |hash, byte| hash << 8 | u64::from(*byte)) % partitions
}

#[tokio::test]
async fn what_is_claimed_is_what_the_rule_chooses_over_all_partitions() {
    const PARTITIONS: u16 = 16;
    const TENANTS: usize = 9;
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let store = RedisStore::open(options(&redis_url()).partitions(PARTITIONS)).await.unwrap();
    // The soonest sessions lie in one partition, which at first returns fewer than are asked for.
    let in_one = (0..).map(|nth| key_of(["t1", "t5"][nth % 2], &format!("first{nth}")));
    let in_one = in_one.filter(|key| partition_of(key, PARTITIONS.into()) == 3).take(60);
    let mut sessions: Vec<(i64, SessionKey)> =
        in_one.map(|key| (i64::try_from(random(40)).unwrap(), key)).collect();
    let others = (0..200).map(|nth| {
        let at = 40 + i64::try_from(random(100)).unwrap();
        (at, key_of(&format!("t{}", random(TENANTS)), &format!("s{nth}")))
    });
    sessions.extend(others);
    due(&store, &sessions).await;
    let mut left: BTreeMap<SessionKey, Timestamp> =
        sessions.into_iter().map(|(at, key)| (key, Timestamp::from_ms(at))).collect();
    let mut after = None;
    for limit in [1, 30, 1, 2, 5, 40, 1, 1, 9, 17, 100, 3, 60] {
        let all = left.iter().map(|(key, at)| (*at, key.clone())).collect();
        let (chosen, last) = in_turn(all, after.as_ref(), limit);
        assert_eq!(claim(&store, claim_due(limit)).await, chosen, "{limit} after {after:?}");
        left.retain(|key, _| !chosen.contains(key));
        after = last;
    }
    assert!(left.is_empty(), "{} were never asked for", left.len());
}

/// Adds `number` entries to the indexes of every partition. An empty `tenant` gives each entry a tenant of
/// its own.
fn crowd(url: &str, namespace: &str, tenant: &str, format: u32, at: i64, number: usize) {
    let add = "
        local head = 'queue\\0' .. ARGV[2] .. '\\0'
        for number = 1, tonumber(ARGV[4]) do
          local tenant = ARGV[1] ~= '' and ARGV[1] or 'tenant' .. number
          redis.call('ZADD', KEYS[1], 0, head .. ARGV[3] .. tenant .. '\\0' .. 'crowd' .. number)
          redis.call('ZADD', KEYS[2], 0, head .. tenant .. '\\0' .. ARGV[3] .. 'crowd' .. number)
        end";
    for partition in 0..4 {
        let [due, turns] = ["due", "turns"].map(|index| format!("{{{namespace}:{partition}}}:{index}"));
        let (format, at, number) = (format!("{format:010}"), format!("1{at:016}"), number.to_string());
        cli(url, &["EVAL", add, "2", &due, &turns, tenant, &format, &at, &number]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_is_one_script_and_a_few_commands_however_many_sessions_there_are() {
    const NUMBER: usize = 6_000;
    const LATE: i64 = 1 << 50;
    /// The number of hashes that are read for a claimed session.
    const ROW: u64 = 3;
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let url = server.url();
    let relay = Relay::to(url.trim_start_matches("redis://")).unwrap();
    let through = options(&format!("redis://{}", relay.address())).namespace("crowd").unwrap().partitions(4);
    let store = RedisStore::open(through).await.unwrap();
    let counts = || {
        let scripts = calls(&url, "evalsha") + calls(&url, "eval");
        [relay.exchanges(), scripts, calls(&url, "zrangebylex"), calls(&url, "hgetall")]
    };
    let since = |before: [u64; 4]| {
        let now = counts();
        [0, 1, 2, 3].map(|at| now[at] - before[at])
    };
    assert_eq!(claim(&store, claim_due(1)).await, []);
    // Sessions of a newer format, then sessions that are not due: of one tenant, and each of its own tenant.
    crowd(&url, "crowd", "newer", 2, 1, NUMBER);
    crowd(&url, "crowd", "late", 1, LATE, NUMBER);
    crowd(&url, "crowd", "", 1, LATE, NUMBER);
    let before = counts();
    assert_eq!(claim(&store, claim_due(1)).await, []);
    let [exchanges, scripts, commands, rows] = since(before);
    assert_eq!((exchanges, scripts, rows), (1, 1, 0), "nothing is due");
    assert!(commands <= 4 * 5, "{commands}");

    // Adds many due sessions of one tenant.
    due(&store, &many("flood", 8, 1)).await;
    crowd(&url, "crowd", "flood", 1, 2, NUMBER);
    due(&store, &many("zoe", 1, 3)).await;
    claim(&store, claim_due(1)).await;
    // Each claim examines some of the index entries before this tenant's, so the tenant gets its turn.
    let mut looks = 0;
    loop {
        let before = counts();
        let claimed = claim(&store, claim_due(1)).await;
        let [_, scripts, commands, rows] = since(before);
        assert_eq!(scripts, 3, "a look, a read and a write");
        assert_eq!(rows, ROW, "only of the one that is claimed");
        assert!(commands <= 4 * (6 + 2 * 128 + 2), "{commands}");
        looks += 1;
        if claimed == [key_of("zoe", "s0")] {
            break;
        }
        assert_eq!(claimed[0].tenant.as_str(), "flood");
        assert!(looks < 60, "it has no turn");
        due(&store, &[(1, key_of("flood", &format!("more{looks}")))]).await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_takes_no_turn_and_holds_up_nobody() {
    let url = redis_url();
    let namespace = format!("unread:{}", Uuid::new_v4().simple());
    // All of the sessions lie in one partition.
    let options = options(&url).namespace(&namespace).unwrap().partitions(1);
    let store = RedisStore::open(options).await.unwrap();
    due(&store, &many("a", 5, 1)).await;
    due(&store, &many("b", 30, 3)).await;
    due(&store, &[(2, key_of("a", "good")), (4, key_of("c", "good"))]).await;
    for row in keys(&url, &namespace, "s:1:as*") {
        cli(&url, &["HSET", &row, "session_version", "many"]);
    }
    let mut served = Vec::new();
    for _ in 0..3 {
        served.extend(claim(&store, claim_due(1)).await);
    }
    assert_eq!([&served[0], &served[2]], [&key_of("a", "good"), &key_of("c", "good")], "{served:?}");
    assert_eq!(served[1].tenant.as_str(), "b", "{served:?}");
    // Claims all that can be read, although more are asked for.
    assert_eq!(claim(&store, claim_due(100)).await.len(), 29);
    assert_eq!(claim(&store, claim_due(100)).await, []);
}

#[tokio::test]
async fn a_newer_format_is_left_to_whoever_knows_it() {
    let (store, _) = store_with_namespace(&redis_url()).await;
    for (format, queue) in [(1, "q"), (3, "q"), (2, "qq"), (3, "qq"), (1, "r")] {
        let new = new_session(&key(&format!("{queue}{format}")));
        let start = Start::At(Timestamp::from_ms(1));
        let queue = queue.parse().unwrap();
        store.create_session(NewSession { start, queue, format: StateFormat(format), ..new }).await.unwrap();
    }
    let ids = async |format| {
        let claim_due = ClaimDue { newest_format: StateFormat(format), ..claim_due(9) };
        let mut ids: Vec<_> =
            claim(&store, claim_due).await.into_iter().map(|key| key.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(1).await, ["q1", "r1"]);
    assert_eq!(ids(2).await, ["qq2"]);
    assert_eq!(ids(9).await, ["q3", "qq3"]);
}
