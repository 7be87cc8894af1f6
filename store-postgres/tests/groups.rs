//! Writes of different sessions that share statements.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use futures::future::join_all;
use futures::poll;
use holdover_launcher::Launcher;
use holdover_store::ids::{CallId, MessageSeq};
use holdover_store::payload::Payload;
use holdover_store::{
    Claim, Commit, CommitOutcome, MessageRange, NewMessage, StageOutcome, StagedResult, Staging, StateStore,
};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use support::{Admin, commit, id, key, options, running, schema_of};

/// The number of sessions that write at once.
const SESSIONS: usize = 32;

/// A server that counts statements, and a store on it with sessions that are claimed.
struct World {
    _launcher: Launcher,
    server: holdover_launcher::Postgres,
    admin: Admin,
    options: PostgresOptions,
    store: PostgresStore,
    claims: Vec<Claim>,
}

impl World {
    async fn begin() -> Self {
        let launcher = Launcher::new().unwrap();
        let server = launcher.postgres(&[("shared_preload_libraries", "pg_stat_statements")]).unwrap();
        let mut admin = Admin::at(&server.url()).await;
        admin.run("CREATE EXTENSION pg_stat_statements").await;
        let options = options(&server.url()).application("groups").connections_max(12);
        let store = PostgresStore::open(options.clone()).await.unwrap();
        let mut claims = Vec::new();
        for nth in 0..SESSIONS {
            claims.push(running(&store, &format!("s{nth}")).await);
        }
        Self { _launcher: launcher, server, admin, options, store, claims }
    }

    /// Returns how often statements that write sessions were made since the last call. The first number is that of
    /// statements for several sessions.
    async fn statements(&mut self) -> (i64, i64) {
        let of = |kind: &str| {
            format!(
                "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements \
                 WHERE query LIKE '%UPDATE%session%' AND query {kind} '%SKIP LOCKED%'"
            )
        };
        let (many, one) = (of("LIKE"), of("NOT LIKE"));
        let counted = (self.admin.number(&many).await, self.admin.number(&one).await);
        self.admin.run("SELECT pg_stat_statements_reset()").await;
        counted
    }

    /// Locks sessions, until the transaction of the returned connection ends.
    async fn hold(&self, sessions: &[usize]) -> Admin {
        let mut holder = Admin::at(&self.server.url()).await;
        let schema = schema_of(&self.options);
        let names: Vec<String> = sessions.iter().map(|session| format!("'s{session}'")).collect();
        let names = names.join(", ");
        holder.run(&format!("BEGIN; SELECT FROM {schema}.session WHERE id IN ({names}) FOR UPDATE")).await;
        holder
    }

    /// Commits in all sessions at once.
    async fn commit(
        &self,
        nth: u64,
        of: impl Fn(usize, Commit) -> Commit,
    ) -> Vec<Result<CommitOutcome, String>> {
        let commits = self.claims.iter().enumerate().map(|(at, claim)| {
            let commit = of(at, commit(nth));
            async move { self.store.commit(&claim.fence, commit).await.map_err(|error| error.to_string()) }
        });
        join_all(commits).await
    }

    /// Returns the messages of a session, as another process reads them.
    async fn messages(&self, at: usize) -> Vec<String> {
        let other = PostgresStore::open(self.options.clone()).await.unwrap();
        let range = MessageRange::new(MessageSeq(1), MessageSeq(1_000));
        let page = other.read_messages(&key(&format!("s{at}")), &[range]).await.unwrap();
        other.close().await;
        page.messages
            .iter()
            .map(|message| String::from_utf8_lossy(message.payload.bytes()).into_owned())
            .collect()
    }
}

fn call(nth: u64) -> CallId {
    id(&format!("call-{nth}"))
}

fn is_committed(outcome: &Result<CommitOutcome, String>) -> bool {
    matches!(outcome, Ok(CommitOutcome::Committed(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_write_at_once_share_statements_and_each_keeps_what_is_its_own() {
    const ROUNDS: u64 = 10;
    let mut world = World::begin().await;
    world.statements().await;
    for nth in 1..=ROUNDS {
        let stagings = world.claims.iter().enumerate().map(|(at, claim)| {
            let payload = Payload::new(format!("\"{at} of {nth}\""));
            let staged = StagedResult { call: call(nth), payload };
            let staging = Staging { results: vec![staged], starts: vec![id("started")] };
            world.store.stage_result(&claim.fence, staging)
        });
        for staged in join_all(stagings).await {
            assert!(matches!(staged, Ok(StageOutcome::Staged(_))), "{staged:?}");
        }
        // Sessions whose writes differ in their tables share statements, too.
        let committed = world.commit(nth, |at, commit| match at % 3 {
            0 => Commit { messages: vec![NewMessage::Promote(call(nth))], ..commit },
            1 => Commit { messages: vec![NewMessage::Promote(call(nth))], checkpoint: false, ..commit },
            _ => Commit { messages: vec![NewMessage::Promote(call(nth))], events: Vec::new(), ..commit },
        });
        let committed = committed.await;
        assert!(committed.iter().all(is_committed), "{committed:?}");
    }
    let writes = 2 * ROUNDS * SESSIONS as u64;
    let (many, one) = world.statements().await;
    assert!(many > 0, "none was shared");
    assert!((many + one) as u64 <= writes / 3, "{many} and {one} statements for {writes} writes");
    for at in 0..SESSIONS {
        let expected: Vec<_> = (1..=ROUNDS).map(|nth| format!("\"{at} of {nth}\"")).collect();
        assert_eq!(world.messages(at).await, expected);
        let session = world.store.load_session(&key(&format!("s{at}"))).await.unwrap().unwrap();
        assert!(
            session.staged.results.is_empty() && session.staged.starts.is_empty(),
            "{:?}",
            session.staged
        );
        let events = if at % 3 == 2 { 0 } else { 2 * ROUNDS };
        assert_eq!(session.last_event.0, events, "session {at}");
    }
    world.store.close().await;
}

/// Their writes begin first, so that each of them is under way alone.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_somebody_holds_keep_no_other_from_being_written() {
    let mut world = World::begin().await;
    let mut holder = world.hold(&[0, 1, 10]).await;
    world.statements().await;
    let begun = world.claims.iter().map(|claim| {
        let (store, fence) = (world.store.clone(), claim.fence.clone());
        tokio::spawn(async move { store.commit(&fence, commit(1)).await })
    });
    let mut begun: Vec<_> = begun.collect();
    let held = [begun.remove(10), begun.remove(1), begun.remove(0)];
    for saved in join_all(begun).await {
        assert!(matches!(saved, Ok(Ok(CommitOutcome::Committed(_)))), "{saved:?}");
    }
    assert!(held.iter().all(|held| !held.is_finished()), "each waits for its own session");
    holder.run("ROLLBACK").await;
    for saved in join_all(held).await {
        assert!(matches!(saved, Ok(Ok(CommitOutcome::Committed(_)))), "{saved:?}");
    }
    assert!(world.statements().await.0 > 0, "none was shared");
    world.store.close().await;
}

/// The caller of the first write has gone; the second one may have been decided before the first was made.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_caller_has_gone_and_the_next_one_are_made_one_after_the_other() {
    const TWICE: usize = 5;
    let mut world = World::begin().await;
    let mut holder = world.hold(&[0, 1]).await;
    world.statements().await;
    let commits = |which: std::ops::Range<usize>, nth| {
        let begun = world.claims[which].iter().map(move |claim| (claim.fence.clone(), commit(nth)));
        let begun = begun.map(|(fence, commit)| {
            let store = world.store.clone();
            tokio::spawn(async move { store.commit(&fence, commit).await })
        });
        begun.collect::<Vec<_>>()
    };
    let mut begun = commits(0..2, 1);
    {
        let mut dropped = Box::pin(world.store.commit(&world.claims[TWICE].fence, commit(1)));
        assert!(poll!(dropped.as_mut()).is_pending());
    }
    begun.extend(commits(TWICE..TWICE + 1, 2));
    begun.extend(commits(6..20, 1));
    for saved in join_all(begun.drain(2..)).await {
        assert!(matches!(saved, Ok(Ok(CommitOutcome::Committed(_)))), "{saved:?}");
    }
    holder.run("ROLLBACK").await;
    join_all(begun).await;
    let saved = world.store.commit(&world.claims[TWICE].fence, commit(3)).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    let said = world.messages(TWICE).await;
    assert_eq!(said, [1, 2, 3].map(|nth| format!("{{\"message\":{nth}}}")));
    let session = world.store.load_session(&key(&format!("s{TWICE}"))).await.unwrap().unwrap();
    assert_eq!((session.last_message.0, session.last_event.0), (3, 6));
    world.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_another_process_has_written_is_decided_again_and_the_others_go_on() {
    let mut world = World::begin().await;
    let other = PostgresStore::open(world.options.clone()).await.unwrap();
    for stale in [8, 9, 20] {
        let saved = other.commit(&world.claims[stale].fence, commit(1)).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }
    world.statements().await;
    let committed = world.commit(2, |_, commit| commit).await;
    assert!(committed.iter().all(is_committed), "{committed:?}");
    assert!(world.statements().await.0 > 0, "none was shared");
    for (at, expected) in [(7, 1), (8, 2), (9, 2), (20, 2), (21, 1)] {
        assert_eq!(world.messages(at).await.len(), expected, "session {at}");
    }
    other.close().await;
    world.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_fails_fails_alone() {
    const BAD: usize = 12;
    let mut world = World::begin().await;
    let schema = schema_of(&world.options);
    world
        .admin
        .run(&format!(
            "CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'refused'; END $$; \
             CREATE TRIGGER refuse BEFORE INSERT ON {schema}.message FOR EACH ROW \
             WHEN (NEW.payload = convert_to('\"bad\"', 'utf8')) EXECUTE FUNCTION {schema}.refuse()"
        ))
        .await;
    world.statements().await;
    let bad = |at, commit: Commit| match at {
        BAD => Commit { messages: vec![NewMessage::Inline(Payload::new("\"bad\""))], ..commit },
        _ => commit,
    };
    let committed = world.commit(1, bad).await;
    for (at, outcome) in committed.iter().enumerate() {
        match outcome {
            Err(error) => assert!(at == BAD && error.contains("refused"), "session {at}: {error}"),
            Ok(outcome) => {
                assert!(at != BAD && is_committed(&Ok(outcome.clone())), "session {at}: {outcome:?}")
            }
        }
    }
    // Statements that failed are not counted by the server: those that it undid were made again, one by one.
    let (_, one) = world.statements().await;
    assert!(one >= 4, "nothing was made alone again: {one}");
    let good = world.commit(2, |_, commit| commit).await;
    assert!(good.iter().all(is_committed), "{good:?}");
    assert_eq!((world.messages(BAD).await.len(), world.messages(BAD + 1).await.len()), (1, 2));
    world.store.close().await;
}
