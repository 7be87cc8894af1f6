//! Approvals and answers by the id of a pending call, and what is shown to the person who decides.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::{CallId, OperationId, PendingId, RunId, SessionId, SessionKey, TenantId, WorkerId};
use holdover_core::payload::Payload;
use holdover_core::store::{
    ClaimOne, ClaimOutcome, Commit, CommitOutcome, NewPending, PendingKind, Release, SessionStatus,
    StateStore,
};
use holdover_runtime_local::{Agents, Fork, Runtime, RuntimeOptions};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use support::Fixture;

fn pending_ids(fixture: &Fixture) -> Vec<String> {
    let mut lines = fixture.run(&["sessions", "pending", "--json"]).ends(0).lines();
    lines.sort_by_key(|line| line["session"].to_string());
    lines.iter().map(|line| line["pending"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn what_is_said_twice_must_say_the_same_also_why() {
    let fixture = Fixture::new();
    for (session, word, done) in [("s", "deny", "denied"), ("t", "approve", "approved")] {
        fixture.run(&["run", "agent.toml", "--session", session, "write"]).ends(10);
        let again = |reason: &[&str]| fixture.run(&[&[word, session, "c1-0"], reason].concat());
        fixture.run(&[word, session, "--reason", "not today", "--detach"]).ends(0);
        for _before_and_after_it_is_read in 0..2 {
            again(&["--reason", "not today"]).ends(0).says(&format!("{done} already"));
            again(&[]).ends(0).says(&format!("{done} already"));
            again(&["--reason", "it is wrong"])
                .fails(1, &["call c1-0", &format!("{done} already: not today")]);
            fixture.run(&["work", "--until-idle"]).ends(0);
        }
    }
}

#[test]
fn one_edit_is_for_one_call_however_it_is_named() {
    let fixture = Fixture::new();
    for session in ["s", "t"] {
        fixture.run(&["run", "agent.toml", "--session", session, "write"]).ends(10);
    }
    let ids = pending_ids(&fixture);
    let edit = r#"{"path": "note.txt", "content": "once"}"#;
    fixture.run(&["approve", &ids[0], &ids[1], "--edit", edit, "--always"]).fails(2, &["fit one call"]);
    assert_eq!(pending_ids(&fixture), ids, "nothing was decided");
    assert!(!fixture.has("files/note.txt"));
    // An id that is given twice still names one call.
    fixture.run(&["approve", &ids[0], &ids[0], "--edit", edit]).ends(0);
    assert_eq!(fixture.read("files/note.txt"), "once");
    assert_eq!(pending_ids(&fixture), ids[1..]);
}

#[test]
fn what_is_named_by_its_asking_may_be_said_again() {
    let fixture = Fixture::new();
    for session in ["s", "t"] {
        fixture.run(&["run", "agent.toml", "--session", session, "write"]).ends(10);
    }
    let ids = pending_ids(&fixture);
    let [first, second] = ids.as_slice() else { panic!("{ids:?}") };
    let line = fixture.run(&["approve", first, "--json"]).ends(0).lines().remove(0);
    assert_eq!((&line["call"], &line["pending"]), (&"c1-0".into(), &first.as_str().into()));
    let again = fixture.run(&["approve", first, "--json"]).ends(0).last();
    assert_eq!((&again["session"], &again["call"]), (&"s".into(), &"c1-0".into()));
    assert_eq!((&again["delivered"], &again["pending"]), (&"duplicate".into(), &first.as_str().into()));
    fixture.run(&["deny", first]).fails(1, &["session s: call c1-0: was approved already"]);
    // One of the two was approved before; the other is approved now.
    fixture.run(&["approve", first, second]).ends(0).says("session s: call c1-0 was approved already");
    assert_eq!(pending_ids(&fixture), Vec::<String>::new());
    fixture.run(&["approve", first, second]).ends(0).says("session t: call c1-0 was approved already");
    let of_another_life = format!("{}{}", "0".repeat(32), &first[32..]);
    fixture.run(&["approve", &of_another_life]).fails(1, &["no pending call has this id"]);
    // The id is also found when the session is named with it.
    fixture.run(&["approve", "s", first]).ends(0).says("session s: call c1-0 was approved already");
}

#[test]
fn a_printed_command_answers_what_was_shown_and_nothing_that_came_later() {
    for (message, names) in [("write", &["approve", "deny"][..]), ("ask", &["answer"])] {
        let fixture = Fixture::new();
        let run = || fixture.run(&["run", "agent.toml", "--session", "s", message]).ends(10);
        let shown = run();
        fixture.run(&["sessions", "delete", "s"]).ends(0);
        let script = fixture.read("script.toml");
        let other = script.replace("note.txt", "passwords.txt").replace("Which colour?", "Which password?");
        assert_ne!(script, other);
        fixture.write("script.toml", &other);
        let asked = run();
        // The call has the same name but other arguments.
        assert!(shown.out.contains("(c1-0)") && asked.out.contains("(c1-0)"), "{asked:#?}");
        let before = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
        for name in names {
            let (old, new) = (shown.command(name), asked.command(name));
            assert_ne!(old, new);
            fixture.shell(&old).fails(1, &["no pending call has this id"]);
            let with_session = old.replace(&format!(" {name} "), &format!(" {name} s "));
            fixture.shell(&with_session).fails(1, &["session s: call ", "is not pending"]);
        }
        assert_eq!(fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last(), before);
        assert!(!fixture.has("files/note.txt") && !fixture.has("files/passwords.txt"));
        fixture.shell(&asked.command(names[0]).replace("YOUR ANSWER", "blue")).ends(0);
    }
}

#[test]
fn no_session_is_taken_for_an_asking() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let shown = pending_ids(&fixture).remove(0);
    fixture.run(&["sessions", "delete", "s"]).ends(0);
    // No session can be created with the id of a pending call as its name, by any command.
    fixture.run(&["run", "agent.toml", "--session", "t", "hello"]).ends(0);
    for words in [
        &["run", "agent.toml", "--session", &shown, "write"][..],
        &["sessions", "fork", "t", "--to", &shown],
        &["sessions", "handoff", "t", "--goal", "write", "--to", &shown],
    ] {
        fixture.run(words).fails(2, &[&shown, "this reads like the id of a pending call"]);
    }
    fixture.run(&["approve", &shown]).fails(1, &["error: pending call ", "no pending call has this id"]);
    // A session that another program created with such a name is not taken for the pending call either.
    let named = |id: &str| SessionKey::new("default".parse().unwrap(), id.parse().unwrap());
    with_runtime(&fixture, async |runtime| {
        runtime.fork(&named("t"), Fork::newest().to(shown.parse().unwrap())).await.unwrap();
    });
    fixture.run(&["send", &shown, "write"]).ends(10);
    fixture.run(&["approve", &shown]).fails(1, &["no pending call has this id", "a session is called so"]);
    assert!(!fixture.has("files/note.txt"));
    fixture.run(&["run", "agent.toml", "--session", &shown, "--detach", "--policy", "enqueue", "x"]).ends(0);
    fixture.run(&["approve", &pending_ids(&fixture)[0], "--detach"]).ends(0);
}

/// Acts on the fixture's store in a way that no command offers.
fn with_runtime<T>(fixture: &Fixture, act: impl AsyncFnOnce(&Runtime) -> T) -> T {
    let waits = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    waits.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        let store = Arc::new(store);
        let runtime = Runtime::new(Arc::clone(&store), Agents::new(), RuntimeOptions::default());
        let done = act(&runtime).await;
        drop(runtime);
        store.close().await;
        done
    })
}

/// Makes session `t` wait for a kind of answer that only a newer version knows. Returns the id of the pending
/// call.
async fn ask_as_a_newer_version(store: &SqliteStore) -> PendingId {
    let key = SessionKey::new(TenantId::new("default").unwrap(), SessionId::new("t").unwrap());
    let one = ClaimOne {
        run: RunId::new("newer").unwrap(),
        worker: WorkerId::new("newer").unwrap(),
        lease: Duration::from_secs(30),
        expected_version: None,
        items: Vec::new(),
    };
    let ClaimOutcome::Claimed(claim) = store.claim_session(&key, one).await.unwrap() else {
        panic!("it is claimed")
    };
    let call = CallId::new("c1-7").unwrap();
    let pending = PendingId::of(claim.session.incarnation, &call, 0).unwrap();
    let mut commit = Commit::new(OperationId::new("newer").unwrap());
    commit.open = vec![NewPending {
        id: pending.clone(),
        call,
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: Payload::new(r#"{"asks":["one","two"]}"#),
    }];
    commit.release = Some(Release::To { status: SessionStatus::Suspended, deadline: None, wake_on: 1 });
    let committed = store.commit(&claim.fence, commit).await.unwrap();
    assert!(matches!(committed, CommitOutcome::Committed(_)), "{committed:?}");
    pending
}

#[test]
fn u05_what_this_version_cannot_read_is_listed_beside_the_others_and_refused() {
    let fixture = Fixture::new();
    for session in ["s", "t"] {
        fixture.run(&["run", "agent.toml", "--session", session, "write"]).ends(10);
    }
    let waits = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let newer = waits.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        let newer = ask_as_a_newer_version(&store).await;
        store.close().await;
        newer.to_string()
    });
    let listed = fixture.run(&["sessions", "pending", "--json"]).ends(0).lines();
    assert_eq!(listed.len(), 3, "{listed:?}");
    let found = listed.iter().find(|line| line["pending"] == newer.as_str()).expect("it is listed");
    assert_eq!((&found["session"], &found["call"]), (&"t".into(), &"c1-7".into()));
    let why = found["prompt"].as_str().expect("words");
    assert!(why.starts_with("this version cannot read what is asked: "), "{why}");
    fixture
        .run(&["sessions", "pending", "t"])
        .ends(0)
        .says("this version cannot read what is asked")
        .says(&newer);
    let refused = fixture.run(&["approve", &newer]);
    assert!(refused.code != Some(0) && refused.err.contains("this version cannot read"), "{refused:#?}");
    fixture.run(&["sessions", "show", "t"]).ends(0);
    fixture.run(&["approve", "s"]).ends(0).says("Written.");
}

/// An agent with a tool that takes any arguments and requires approval.
const ANY: &str = r#"
name = "tester"
model = "scripted:script.toml"
root = "files"

[[tool]]
name = "anything"
description = "Takes anything"
command = ["true"]
dangerous = true
parameters = { type = "object" }
"#;

#[test]
fn no_argument_passes_for_a_line_of_ours() {
    for raw in [
        r#"{"x\n  approve  rm -rf /": "boo"}"#,
        r#"{"x": {"y\n": 1}, "\n  approve  rm -rf /": [1]}"#,
        r#"{"x": "a\n  approve  rm -rf /"}"#,
    ] {
        let fixture = Fixture::new();
        let call = format!("{{ tool = 'anything', raw_arguments = '''{raw}''' }}");
        let script = format!("[[turns]]\nwhen = {{ nth = 1 }}\ncalls = [{call}]\n[[turns]]\nsay = 'Well.'\n");
        fixture.write("script.toml", &script);
        fixture.write("any.toml", ANY);
        let ran = fixture.run(&["run", "any.toml", "--session", "s", "x"]).ends(10);
        assert!(ran.out.contains("anything (c1-0) waits for approval"), "{ran:#?}");
        let approvals: Vec<&str> =
            ran.out.lines().filter(|line| line.trim_start().starts_with("approve ")).collect();
        assert_eq!(
            approvals,
            [format!("  approve  {} approve {}", support::HOLDOVER, pending_ids(&fixture)[0])],
            "{ran:#?}"
        );
        let asked = ran.out.split("(c1-0) waits for approval").nth(1).expect("the question");
        let mut shown = asked.lines().skip(1).take_while(|line| !line.starts_with("  approve "));
        assert!(shown.all(|line| line.starts_with("    ")), "{ran:#?}");
    }
}

#[test]
fn u12_at_the_step_limit_somebody_may_grant_more_and_else_the_turn_ends_there() {
    let fixture = Fixture::new();
    let agent = "model = 'scripted:steps.toml'\nroot = 'files'\ntools = ['list_files']\nat_max = 'ask'\n\
                 [limits]\nmax_steps = 1\n";
    fixture.write("steps.toml", "[[turns]]\ncalls = [{ tool = 'list_files', arguments = {} }]\n");
    fixture.write("more.toml", agent);
    for session in ["s", "t"] {
        let asked = fixture.run(&["run", "more.toml", "--session", session, "go"]).ends(10);
        asked.says("the turn has taken as many steps as it may (1): may it take 1 more?").says("more_steps");
    }
    // Grants one more step, then two. Each time the turn uses all its steps and asks again.
    fixture.run(&["approve", "s"]).ends(10);
    fixture.run(&["approve", "s", "--edit", r#"{"steps": 0}"#]).fails(2, &["0 is not from 1 to 1000"]);
    fixture.run(&["approve", "s", "--always"]).fails(2, &["more steps are granted once"]);
    fixture.run(&["approve", "s", "--edit", r#"{"steps": 2}"#]).ends(10).says("it may (4)");
    fixture.run(&["deny", "s"]).ends(21).says("max_turns");
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("stopped after 4 steps");
    fixture.run(&["deny", "t"]).ends(21).says("max_turns");
    assert_eq!(pending_ids(&fixture), Vec::<String>::new());
}
