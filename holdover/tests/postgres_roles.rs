//! The roles on the guide's Postgres page, exactly as written there, suffice, and the role of the service cannot change
//! the schema.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;

use holdover::model::{Script, ScriptedModel};
use holdover::prelude::*;
use holdover_launcher::Launcher;
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use sqlx::{Connection, PgConnection};

const PAGE: &str = include_str!("../src/docs/guide/postgres.md");

/// Returns the SQL that the page tells the administrator to run.
fn roles() -> &'static str {
    let (_, sql) = PAGE.split_once("```sql\n").unwrap();
    sql.split_once("```").unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_owns_nothing_works_on_a_store_that_its_owner_made() {
    let launcher = Launcher::new().unwrap();
    let postgres = launcher.postgres(&[]).unwrap();
    let mut admin = PgConnection::connect(&postgres.url()).await.unwrap();
    sqlx::raw_sql(roles()).execute(&mut admin).await.unwrap();
    let (_, place) =
        postgres.url().split_once('@').map(|(user, place)| (user.to_owned(), place.to_owned())).unwrap();
    let options = |role: &str| PostgresOptions::from_url(&format!("postgres://{role}@{place}")).unwrap();
    let app = || options("desk_app").must_exist();

    assert!(PostgresStore::open(app()).await.is_err(), "nothing is there yet");
    PostgresStore::open(options("desk_owner")).await.unwrap().close().await;
    let store = PostgresStore::open(app()).await.unwrap();
    assert_eq!(store.unwritable().await.unwrap(), None);
    let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = \"Good day.\"").unwrap());
    let agent = Arc::new(Agent::builder("clerk").model(model).build().unwrap());
    let runtime = Runtime::new(store, Agents::new().with(Arc::clone(&agent)), RuntimeOptions::default());
    let run = runtime.execute(Execute::new(TenantId::new("acme").unwrap(), agent, "Hello?")).await.unwrap();
    assert_eq!(run.text().await.unwrap(), "Good day.");

    let mut as_app = PgConnection::connect(&format!("postgres://desk_app@{place}")).await.unwrap();
    for forbidden in ["CREATE TABLE holdover.mine ()", "DROP TABLE holdover.session", "CREATE SCHEMA mine"] {
        let refused = sqlx::query(forbidden).execute(&mut as_app).await.unwrap_err();
        let code = refused.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
        assert_eq!(code.as_deref(), Some("42501"), "{forbidden}: {refused}");
    }
}
