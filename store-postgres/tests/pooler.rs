//! Tests behind PgBouncer in transaction mode, where each transaction may use another connection.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use futures::future::join_all;
use holdover_launcher::Launcher;
use holdover_store::{CommitOutcome, EventCursor, EventPage, StateStore};
use holdover_store_postgres::PostgresStore;
use support::{commit, key, options, running};

const SESSIONS: usize = 16;
const ROUNDS: u64 = 15;

/// Many handles share few connections, and each performs different operations in turn. If prepared statements
/// outlived their transaction, a handle would run a statement that another handle prepared.
#[tokio::test(flavor = "multi_thread")]
async fn each_statement_is_the_one_that_was_asked_for() {
    let launcher = Launcher::new().unwrap();
    let postgres = launcher.postgres(&[]).unwrap();
    let pooler = launcher.pgbouncer(&postgres).unwrap();
    // Without the option, the store asks for a setting that this pooler does not pass on.
    assert!(PostgresStore::open(options(&pooler.url())).await.is_err());
    let options = options(&pooler.url()).transaction_pooler(true);
    let works = (0..SESSIONS).map(|nth| {
        let options = options.clone();
        tokio::spawn(async move {
            let store = PostgresStore::open(options).await.unwrap();
            let name = format!("s{nth}");
            let claim = running(&store, &name).await;
            for round in 1..=ROUNDS {
                let saved = store.commit(&claim.fence, commit(round)).await.unwrap();
                assert!(
                    matches!(saved, CommitOutcome::Committed(receipt) if receipt.version.0 == 2 + round),
                    "{saved:?}"
                );
                let session = store.load_session(&key(&name)).await.unwrap().unwrap();
                assert_eq!(session.key, key(&name));
                assert_eq!(session.version.0, 2 + round);
                let page = store.read_events(&key(&name), &EventCursor::START, 200).await.unwrap();
                assert!(
                    matches!(&page, EventPage::Events { events, .. } if events.len() as u64 == 2 * round)
                );
            }
            assert!(!store.capabilities().change_hints_across_processes);
            store.close().await;
        })
    });
    for work in join_all(works).await {
        work.unwrap();
    }
}

/// A transaction of the caller stays on one connection until it ends, and leaves nothing behind on it.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_the_callers_is_committed_with_its_write() {
    const TIMES: u64 = 12;
    let launcher = Launcher::new().unwrap();
    let postgres = launcher.postgres(&[]).unwrap();
    let pooler = launcher.pgbouncer(&postgres).unwrap();
    let options = options(&pooler.url()).transaction_pooler(true);
    let mut admin = support::Admin::at(&postgres.url()).await;
    admin.run("CREATE TABLE account (cents bigint); INSERT INTO account VALUES (0)").await;
    let stores =
        [PostgresStore::open(options.clone()).await.unwrap(), PostgresStore::open(options).await.unwrap()];
    let claim = running(&stores[0], "s").await;
    for round in 1..=TIMES {
        for (store, commits) in stores.iter().zip([true, false]) {
            let mut transaction = store.begin().await.unwrap();
            let pay = sqlx::query("UPDATE account SET cents = cents + 1").persistent(false);
            pay.execute(transaction.connection().unwrap()).await.unwrap();
            if commits {
                let saved = transaction.into_store().commit(&claim.fence, commit(round)).await.unwrap();
                assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
            }
        }
    }
    assert_eq!(admin.number("SELECT cents FROM account").await, i64::try_from(TIMES).unwrap());
    for store in stores {
        store.close().await;
    }
}
