//! The writer thread: groups, failures inside a group, dropped callers, and the bounded log.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use support::*;

const MIB: usize = 1024 * 1024;

fn bytes(len: usize) -> Payload {
    Payload::new(vec![7_u8; len])
}

#[tokio::test]
async fn an_oversized_commit_beside_good_ones_fails_alone() {
    let folder = Folder::new();
    let options = folder.options().payload_bytes_max(1000).commit_bytes_max(1500);
    let store = SqliteStore::open(options).await.unwrap();
    let (a, b, c) = (claimed(&store, "a").await, claimed(&store, "b").await, claimed(&store, "c").await);
    let save = |claim: &Claim, sizes: &[usize]| {
        let messages = sizes.iter().map(|size| NewMessage::Inline(bytes(*size))).collect();
        let (store, fence) = (store.clone(), claim.fence.clone());
        async move { store.commit(&fence, Commit { messages, ..commit("c") }).await }
    };
    let (first, second, third) = tokio::join!(save(&a, &[1000]), save(&b, &[1001]), save(&c, &[500, 1000]));
    receipt(first.unwrap());
    let error = second.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::TooLarge, Retry::Never), "{error}");
    receipt(third.unwrap());
    let error = save(&b, &[600, 1000]).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::TooLarge, "{error}");
    assert_eq!(store.load_session(&b.fence.key).await.unwrap().unwrap(), b.session);
    // Other writes have the same limits as commits.
    let large = InboxItem { payload: bytes(1001), ..message("m", "") };
    assert_eq!(store.deliver(&b.fence.key, large.clone()).await.unwrap_err().kind, StoreErrorKind::TooLarge);
    let new = NewSession { definition: bytes(1001), ..new_session(&key("d")) };
    assert_eq!(store.create_session(new).await.unwrap_err().kind, StoreErrorKind::TooLarge);
    let new = NewSession { items: vec![large], ..new_session(&key("d")) };
    assert_eq!(store.create_session(new).await.unwrap_err().kind, StoreErrorKind::TooLarge);
}

#[tokio::test]
async fn a_group_that_fails_as_a_whole_is_repeated_one_by_one() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.options().file_bytes_max(MIB as u64)).await.unwrap();
    let (a, b, c) = (claimed(&store, "a").await, claimed(&store, "b").await, claimed(&store, "c").await);
    let gate = claimed(&store, "gate").await;
    let before = store.writer_counts();
    let asked = async {
        tokio::join!(
            store.commit(&a.fence, saying("c", "small")),
            store.commit(&b.fence, saying("c", vec![7_u8; 2 * MIB])),
            store.commit(&c.fence, saying("c", "small")),
        )
    };
    let (first, full, third) = in_one_group(&store, &folder.file(), &gate, asked).await;
    let after = store.writer_counts();
    assert_eq!(after.repeated - before.repeated, 3, "they were one group: {after:?}");
    assert_eq!(
        after.groups - before.groups,
        1 + 1 + 3,
        "that of the gate, theirs, and one for each: {after:?}"
    );
    receipt(first.unwrap());
    receipt(third.unwrap());
    let error = full.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Full, Retry::Later), "{error}");
    assert_eq!(error.key.as_deref(), Some(&b.fence.key));
    assert_eq!(messages(&store, &a.fence.key).await, ["small"]);
    assert_eq!(store.load_session(&b.fence.key).await.unwrap().unwrap(), b.session, "nothing was changed");
    // The session whose write failed goes on.
    receipt(store.commit(&b.fence, saying("c2", "small")).await.unwrap());
    assert_eq!(messages(&store, &b.fence.key).await, ["small"]);
}

#[tokio::test]
async fn of_many_commits_on_one_version_one_is_applied() {
    let folder = Folder::new();
    let (one, two) = (folder.store().await, folder.store().await);
    let claim = claimed(&one, "s").await;
    let mut tries = tokio::task::JoinSet::new();
    for n in 0..32 {
        let (store, fence) = (if n % 2 == 0 { one.clone() } else { two.clone() }, claim.fence.clone());
        let said = Commit { expected_version: Some(Version(2)), ..saying(&format!("c{n}"), n.to_string()) };
        tries.spawn(async move { store.commit(&fence, said).await.unwrap() });
    }
    let outcomes = tries.join_all().await;
    let conflict = CommitOutcome::VersionConflict { expected: Version(2), actual: Version(3) };
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == conflict).count(), 31, "{outcomes:?}");
    assert_eq!(messages(&one, &claim.fence.key).await.len(), 1);
}

#[tokio::test]
async fn a_dropped_commit_is_applied_wholly_or_not_at_all_and_locks_nothing() {
    let folder = Folder::new();
    let (store, peer) = (folder.store().await, folder.store().await);
    let claim = claimed(&store, "s").await;
    let mut applied = 0;
    for polls in 0..6_usize {
        let said = Commit { events: vec![Payload::new("event")], ..saying(&format!("c{polls}"), "text") };
        {
            let mut save = pin!(store.commit(&claim.fence, said));
            let mut left = polls;
            // Polls the commit `polls` times, each time after a wake, then drops it.
            poll_fn(|cx| {
                let Some(more) = left.checked_sub(1) else { return Poll::Ready(()) };
                left = more;
                save.as_mut().poll(cx).map(drop)
            })
            .await;
        }
        // This renewal is queued behind the commit, so it returns after the commit has been decided.
        store.renew_lease(&claim.fence, LEASE).await.unwrap();
        let session = peer.load_session(&claim.fence.key).await.unwrap().unwrap();
        let (m, e) = (session.last_message, session.last_event);
        assert!(polls > 0 || m == MessageSeq(applied), "nothing was asked");
        applied += u64::from(m != MessageSeq(applied));
        assert_eq!((m, e, session.version), (MessageSeq(applied), EventSeq(applied), Version(2 + applied)));
        assert_eq!(messages(&peer, &claim.fence.key).await.len() as u64, applied);
        // A second handle writes at once.
        let renewed = peer.renew_lease(&claim.fence, LEASE).await.unwrap();
        assert!(matches!(renewed, LeaseOutcome::Renewed(_)), "{renewed:?}");
    }
    assert!((1..5).contains(&applied), "some were applied, some were not: {applied}");
}

#[tokio::test]
async fn dropped_reads_give_their_connection_back_and_hold_no_view() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.options().readers_max(1).wal_bytes_max(1)).await.unwrap();
    let claim = claimed(&store, "s").await;
    for polls in 0..40_usize {
        let mut load = pin!(store.load_session(&claim.fence.key));
        for _ in 0..polls {
            if poll_fn(|cx| Poll::Ready(load.as_mut().poll(cx).is_ready())).await {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    receipt(store.commit(&claim.fence, saying("c", "text")).await.unwrap());
    assert_eq!(messages(&store, &claim.fence.key).await, ["text"]);
}

#[tokio::test]
async fn two_handles_see_each_others_writes_and_hints() {
    let folder = Folder::new();
    let (one, two) = (folder.store().await, folder.store().await);
    let claim = claimed(&one, "s").await;
    let key = &claim.fence.key;
    assert_eq!(two.load_session(key).await.unwrap().unwrap(), claim.session);
    let held = two.claim_session(key, claim_one("other")).await.unwrap();
    assert!(matches!(held, ClaimOutcome::Held { .. }), "{held:?}");
    receipt(two.commit(&claim.fence, saying("c1", "two")).await.unwrap());
    receipt(one.commit(&claim.fence, saying("c2", "one")).await.unwrap());
    assert_eq!(messages(&two, key).await, ["two", "one"]);

    let hour = Duration::from_secs(3600);
    let both = async {
        let hinted = two.wait_for_change(Watch::Session(key.clone()), hour);
        let (_, delivered) = tokio::join!(hinted, one.deliver(key, message("m", "text")));
        assert_eq!(delivered.unwrap(), Delivery::Accepted { seq: InboxSeq(1) });
        let idle = Commit { release: to(SessionStatus::Idle), ..commit("c3") };
        let due = two.wait_for_change(Watch::Due, hour);
        let (_, released) = tokio::join!(due, one.commit(&claim.fence, idle));
        receipt(released.unwrap());
    };
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("hints reach the other handle");
    assert_eq!(two.claim_due(claim_due(&["r2"])).await.unwrap().len(), 1);
}

fn wal_bytes(folder: &Folder) -> u64 {
    std::fs::metadata(folder.path().join("holdover.db-wal")).unwrap().len()
}

#[tokio::test]
async fn the_log_stays_bounded_also_after_a_reader_held_it_back() {
    const BOUND: u64 = 256 * 1024;
    const ONE: usize = 64 * 1024;
    let folder = Folder::new();
    let store = SqliteStore::open(folder.options().wal_bytes_max(BOUND)).await.unwrap();
    let claim = claimed(&store, "s").await;
    let say = async |n: usize| {
        let said = saying(&format!("c{n}"), vec![7_u8; ONE]);
        receipt(store.commit(&claim.fence, said).await.unwrap());
        // Answered before the checkpoint: a second write waits for it.
        store.renew_lease(&claim.fence, LEASE).await.unwrap();
        wal_bytes(&folder)
    };
    for n in 0..40 {
        let size = say(n).await;
        assert!(size < BOUND + 2 * ONE as u64, "{size} after commit {n}");
    }
    assert!(store.writer_counts().checkpoints >= 5, "{:?}", store.writer_counts());

    let mut reader = folder.raw().await;
    sqlx::raw_sql("BEGIN; SELECT count(*) FROM message").execute(&mut reader).await.unwrap();
    let mut held = 0;
    for n in 40..60 {
        held = say(n).await;
    }
    assert!(held > 2 * BOUND, "the reader held it back: {held}");
    sqlx::raw_sql("COMMIT").execute(&mut reader).await.unwrap();
    for n in 60..70 {
        held = say(n).await;
    }
    assert!(held < BOUND + 2 * ONE as u64, "{held}");
}

#[tokio::test]
async fn bytes_per_commit_do_not_grow_with_the_session() {
    let folder = Folder::new();
    let store = SqliteStore::open(SqliteOptions::new(folder.file()).wal_bytes_max(u64::MAX)).await.unwrap();
    let claim = claimed(&store, "s").await;
    let mut n = 0;
    let mut say = async |messages: usize| {
        n += 1;
        let before = wal_bytes(&folder);
        let said = Commit {
            state: Some(NewState { format: StateFormat(1), payload: bytes(10_000) }),
            messages: (0..messages).map(|_| NewMessage::Inline(bytes(500))).collect(),
            ..commit(&format!("c{n}"))
        };
        receipt(store.commit(&claim.fence, said).await.unwrap());
        wal_bytes(&folder) - before
    };
    say(1).await;
    let early = say(1).await;
    for _ in 0..10 {
        say(2_000).await;
    }
    let late = say(1).await;
    // A deeper tree may cost a page or two more in each of the tables and indexes.
    assert!(late <= early + 6 * 4096, "{early} bytes at first, {late} with 20,000 messages");
}

#[tokio::test]
async fn another_process_that_holds_the_lock_makes_writes_wait_and_then_answer() {
    let folder = Folder::new();
    let store =
        SqliteStore::open(folder.options().operation_timeout(Duration::from_millis(50))).await.unwrap();
    let claim = claimed(&store, "s").await;
    let mut other = folder.raw().await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = store.renew_lease(&claim.fence, LEASE).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    assert_eq!(store.load_session(&claim.fence.key).await.unwrap().unwrap(), claim.session, "reads go on");
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    let renewed = store.renew_lease(&claim.fence, LEASE).await.unwrap();
    assert!(matches!(renewed, LeaseOutcome::Renewed(_)), "{renewed:?}");
}
