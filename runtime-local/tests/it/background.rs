//! Background children: they outlive the call that began them.
//!
//! Requirements: H21.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::background::BACKGROUND_MAX;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::ModelRequest;
use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{
    Agent, BeginChild, ChildStanding, Deliver, Fork, Runtime, RuntimeError, SubAgent, WorkerOptions,
};

use crate::bench::{
    agent, asking_for, completes, finish, runtime, say, store, tool_results, transcript, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns the text of the newest user message.
pub(crate) fn last_said(request: &ModelRequest) -> String {
    let text =
        |message: &Message| if let Message::User(said) = message { Some(said.text.clone()) } else { None };
    request.messages.iter().rev().find_map(|message| text(message)).unwrap_or_default()
}

pub(crate) fn is_child(request: &ModelRequest) -> bool {
    request.system.contains("You help.")
}

pub(crate) fn call(tool: &'static str, arguments: String) -> Say {
    Say::Calls(vec![(tool, Box::leak(arguments.into_boxed_str()))])
}

/// Returns the ids of the children that a result names.
pub(crate) fn ids(told: &str) -> Vec<String> {
    let words = told.split(|at: char| !at.is_ascii_alphanumeric() && at != '-');
    words.filter(|word| word.starts_with("child-")).map(str::to_owned).collect()
}

pub(crate) fn begin(more: &str) -> String {
    format!(r#"{{"tasks":["dig"],"background":true{more}}}"#)
}

/// Returns a parent whose model answers with `does`. Its helpers finish their tasks at once; a helper whose task is
/// "write" first waits for a person, and one whose task is "never" never answers.
pub(crate) fn family(does: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> (Script, Arc<Agent>) {
    let model = Script::new(move |request| match is_child(request) {
        true if last_said(request) == "write" && results(request).is_empty() => {
            Say::Calls(vec![("write", "{}")])
        }
        true if last_said(request) == "never" => Say::Nothing,
        true => Say::Text("dug it"),
        false => does(request),
    });
    let helper = SubAgent::new("helper", "Digs.")
        .instructions("You help.")
        .tools(["write".parse().unwrap()])
        .fan_out_max(100)
        .background();
    let built = agent(&model)
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(helper)
        .build();
    (model, Arc::new(built.unwrap()))
}

/// Returns a parent that begins a helper and then says that it has done so.
fn begins(arguments: &'static str) -> (Script, Arc<Agent>) {
    family(move |request| match results(request).is_empty() {
        true => Say::Calls(vec![("helper", arguments)]),
        false if last_said(request).starts_with("[helper") => Say::Text("heard"),
        false => Say::Text("begun"),
    })
}

fn said(transcript: &[Message]) -> Vec<String> {
    let text = |message: &Message| {
        if let Message::User(said) = message {
            return Some(format!("user: {}", said.text));
        }
        let Message::Assistant(said) = message else { return None };
        Some(format!("model: {}", said.text())).filter(|_| !said.text().is_empty())
    };
    transcript.iter().filter_map(text).collect()
}

pub(crate) async fn child_of(runtime: &Runtime, parent: &SessionKey) -> SessionKey {
    let children = runtime.children(parent).await.unwrap();
    assert_eq!(children.len(), 1, "{children:?}");
    key(parent, children[0].session.as_str())
}

fn key(parent: &SessionKey, id: &str) -> SessionKey {
    SessionKey::new(parent.tenant.clone(), SessionId::new(id).unwrap())
}

pub(crate) async fn status(runtime: &Runtime, key: &SessionKey) -> SessionStatus {
    runtime.session(key).await.unwrap().unwrap().status
}

/// Asserts that the session's history rebuilds its stored state.
async fn agrees(runtime: &Runtime, key: &SessionKey) {
    let replay = runtime.replay(key).await.unwrap();
    assert!(replay.agrees(), "{key}: {replay:?}");
}

/// Requirements: H21.
#[tokio::test(start_paused = true)]
async fn a_call_in_the_background_is_done_at_once_and_the_end_of_the_child_begins_a_turn() {
    let (model, agent) = begins(r#"{"tasks":["dig"],"background":true}"#);
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let child = child_of(&runtime, &parent).await;
    let told = tool_results(&runtime, &parent).await;
    assert_eq!((told[0].status, ids(&told[0].content)), (ResultStatus::Done, vec![child.id.to_string()]));
    let before = runtime.standing(&parent).await.unwrap().usage;
    agrees(&runtime, &parent).await;

    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let heard = format!("user: [helper {} has ended]\ndug it", child.id);
    assert_eq!(
        said(&transcript(&runtime, &parent).await),
        ["user: go", "model: begun", heard.as_str(), "model: heard"]
    );
    let used = runtime.standing(&child).await.unwrap().usage.tokens.total();
    let after = runtime.standing(&parent).await.unwrap().usage;
    let own = model.asked().iter().filter(|request| !is_child(request)).count();
    assert_eq!(own, 3);
    assert!(
        used > 0 && after.tokens.total() - before.tokens.total() == before.tokens.total() / 2 + used,
        "{after:?}"
    );
    assert_eq!(runtime.children(&parent).await.unwrap()[0].standing, ChildStanding::Done);
    agrees(&runtime, &parent).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_quiet_child_waits_for_the_next_turn() {
    let (_, agent) = begins(r#"{"tasks":["dig"],"background":true,"quiet":true}"#);
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let child = child_of(&runtime, &parent).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Idle);
    assert_eq!(said(&transcript(&runtime, &parent).await), ["user: go", "model: begun"]);
    let session = runtime.session(&parent).await.unwrap().unwrap();
    assert_eq!(session.unread, 1, "it waits, and wakes nobody");

    runtime.deliver(&parent, Deliver::message("well?")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let told = said(&transcript(&runtime, &parent).await);
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(told[2..4].contains(&"user: well?".to_owned()), "{told:?}");
    assert!(told[2..4].contains(&format!("user: [helper {} has ended]\ndug it", child.id)), "{told:?}");
    agrees(&runtime, &parent).await;
}

/// Returns a parent that begins helpers with `begun` and then waits for children with `awaited`.
fn waits(begun: &'static str, awaited: &'static str) -> Arc<Agent> {
    let (_, agent) = family(move |request| match results(request).len() {
        0 => Say::Calls(vec![("helper", begun)]),
        1 => Say::Calls(vec![("wait_children", awaited)]),
        _ => Say::Text("waited"),
    });
    agent
}

/// Requirements: H21.
#[tokio::test(start_paused = true)]
async fn who_waits_for_children_is_suspended_and_told_once_quiet_or_not() {
    for quiet in ["", r#","quiet":true"#] {
        let begun = format!(r#"{{"tasks":["dig","dig"],"background":true{quiet}}}"#);
        let agent = waits(Box::leak(begun.into_boxed_str()), "{}");
        let runtime = runtime(&store(), &agent);
        let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
        let parent = run.key().clone();
        let parked = run.first_outcome().await.unwrap().unwrap();
        assert_eq!(parked.kind(), OutcomeKind::SuspendedAwaitingChildren);
        assert_eq!(status(&runtime, &parent).await, SessionStatus::Suspended);
        agrees(&runtime, &parent).await;
        assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
        let told = tool_results(&runtime, &parent).await;
        assert_eq!(told[1].status, ResultStatus::Done);
        assert_eq!(told[1].content.matches("dug it").count(), 2, "{}", told[1].content);
        assert_eq!(ids(&told[1].content), ids(&told[0].content));
        let _worker = worker(&runtime, WorkerOptions::default());
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(said(&transcript(&runtime, &parent).await), ["user: go", "model: waited"], "told twice");
        agrees(&runtime, &parent).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_has_no_end_of_its_own_is_one_all_the_same() {
    let model = Script::new(|request| match (is_child(request), results(request).len()) {
        (true, 0) => Say::Calls(vec![("write", "{}")]),
        (true, _) => Say::Text("dug it"),
        (false, 0) => Say::Calls(vec![("helper", r#"{"tasks":["dig"],"background":true}"#)]),
        (false, 1) => Say::Calls(vec![("wait_children", "{}")]),
        (false, _) => Say::Text("waited"),
    });
    let helper = SubAgent::new("helper", "Digs.")
        .instructions("You help.")
        .tools(["write".parse().unwrap()])
        .background();
    let built = agent(&model)
        .limits(Limits::default().answer_timeout_ms(None))
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(helper)
        .build();
    let agent = Arc::new(built.unwrap());
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren, "{outcome:?}");
    tokio::time::sleep(Duration::from_mins(20)).await;
    assert_eq!(status(&runtime, &parent).await, SessionStatus::Suspended);
    let asked = runtime.pending(&parent).await.unwrap();
    runtime.approve(&parent, asked[0].id(), "ann").await.unwrap();
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(tool_results(&runtime, &parent).await[1].content.contains("dug it"));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_first_or_for_a_time_leaves_the_others_running() {
    for (awaited, ended, ok) in [(r#"{"first":1}"#, 1, true), (r#"{"timeout_s":60}"#, 1, false)] {
        let agent = waits(r#"{"tasks":["dig","write"],"background":true}"#, awaited);
        let runtime = runtime(&store(), &agent);
        let _worker = worker(&runtime, WorkerOptions::default());
        let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let _ = outcome;
        tokio::time::sleep(Duration::from_secs(90)).await;
        let told = &tool_results(&runtime, &parent).await[1];
        assert_eq!(told.status == ResultStatus::Done, ok, "{}", told.content);
        assert_eq!(told.content.matches("dug it").count(), ended, "{}", told.content);
        assert_eq!(told.content.matches("still runs").count(), 1, "{}", told.content);
        let standing: Vec<_> =
            runtime.children(&parent).await.unwrap().iter().map(|child| child.standing).collect();
        assert_eq!(standing, [ChildStanding::Done, ChildStanding::Waits]);
        // The pending approval of the child is listed at the root, and can be given there.
        let pending = runtime.pending(&parent).await.unwrap();
        assert_eq!(pending.len(), 1);
        runtime.approve(&parent, pending[0].id(), "ann").await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let heard = said(&transcript(&runtime, &parent).await);
        assert_eq!(heard.iter().filter(|line| line.contains("has ended")).count(), 1, "{heard:?}");
        agrees(&runtime, &parent).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_nobody_is_over_at_once_and_one_for_somebody_else_is_refused() {
    for (awaited, expect, why) in [
        ("{}", ResultStatus::Done, "no background child runs"),
        (r#"{"first":3}"#, ResultStatus::Done, "no background child runs"),
        (r#"{"first":0}"#, ResultStatus::Error, "the arguments do not fit"),
        (r#"{"ids":["child-x"]}"#, ResultStatus::Error, "there is no background child \"child-x\""),
    ] {
        let (_, agent) = family(move |request| match results(request).len() {
            0 => Say::Calls(vec![("wait_children", awaited)]),
            _ => Say::Text("done"),
        });
        let runtime = runtime(&store(), &agent);
        let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let told = &tool_results(&runtime, &parent).await[0];
        assert_eq!(told.status, expect, "{}", told.content);
        assert!(told.content.contains(why), "{}", told.content);
    }
}

/// Requirements: H21.
#[tokio::test(start_paused = true)]
async fn a_child_that_had_ended_works_again_on_a_message_and_tells_of_that_too() {
    let (_, agent) = family(|request| match (results(request).len(), results(request).first()) {
        (0, _) => call("helper", begin("")),
        (1, _) => Say::Calls(vec![("wait_children", "{}")]),
        (2, Some(begun)) => {
            let id = ids(begun).remove(0);
            call("send_child", format!(r#"{{"id":"{id}","text":"dig deeper"}}"#))
        }
        (3, _) => Say::Calls(vec![("wait_children", "{}"), ("list_children", "{}")]),
        (_, _) => Say::Text("done"),
    });
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let child = child_of(&runtime, &parent).await;
    let told: Vec<String> =
        tool_results(&runtime, &parent).await.into_iter().map(|result| result.content).collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    assert_eq!(told[2], format!("sent to {}", child.id));
    for wait in [&told[1], &told[3]] {
        assert_eq!(*wait, format!("[helper {} has ended]\ndug it", child.id));
    }
    assert_eq!(
        said(&transcript(&runtime, &child).await),
        ["user: dig", "model: dug it", "user: dig deeper", "model: dug it"]
    );
    agrees(&runtime, &parent).await;
}

/// Requirements: H21.
#[tokio::test(start_paused = true)]
async fn children_are_listed_shown_and_stopped_by_their_parent() {
    let (_, agent) = family(|request| match (results(request).len(), results(request).first()) {
        (0, _) => call("helper", r#"{"tasks":["write","dig"],"background":true}"#.to_owned()),
        (1, _) => Say::Calls(vec![("wait_children", r#"{"first":1}"#)]),
        (2, Some(begun)) => {
            let id = ids(begun).remove(0);
            let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
            let of = leak(format!(r#"{{"id":"{id}"}}"#));
            Say::Calls(vec![
                ("list_children", "{}"),
                ("child_status", of),
                ("stop_child", of),
                ("child_status", r#"{"id":"child-of-somebody-else"}"#),
            ])
        }
        (6, _) => Say::Calls(vec![("wait_children", "{}")]),
        (_, _) => Say::Text("done"),
    });
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let told = tool_results(&runtime, &parent).await;
    let [writes, digs] = [0, 1].map(|at| ids(&told[0].content)[at].clone());
    assert_eq!(told[2].content, format!("{writes} helper: waits\n{digs} helper: done"));
    assert!(
        told[3].content.starts_with(&format!("{writes} helper: waits\nsteps 1, tokens ")),
        "{}",
        told[3].content
    );
    assert_eq!(told[4].content, format!("{writes} is told to stop"));
    assert_eq!(
        (told[5].status, told[5].content.contains("no background child")),
        (ResultStatus::Error, true)
    );
    assert!(told[6].content.starts_with(&format!("[helper {writes} has failed]")), "{}", told[6].content);
    assert_eq!(status(&runtime, &key(&parent, &writes)).await, SessionStatus::Aborted);
    agrees(&runtime, &parent).await;
}

#[tokio::test(start_paused = true)]
async fn children_end_with_a_parent_that_is_gone_unless_they_are_detached() {
    for (arguments, ends) in [
        (r#"{"tasks":["write"],"background":true}"#, true),
        (r#"{"tasks":["write"],"background":true,"detached":true}"#, false),
    ] {
        for delete in [false, true] {
            let (_, agent) = begins(arguments);
            let runtime = runtime(&store(), &agent);
            let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
            let child = child_of(&runtime, &parent).await;
            let _worker = worker(&runtime, WorkerOptions::default());
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(status(&runtime, &child).await, SessionStatus::Suspended);
            if delete {
                runtime.delete(&parent, holdover_core::store::Deletion::UNLESS_ACTIVE).await.unwrap();
            } else {
                runtime.abort(&parent, "enough").await.unwrap();
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
            let expect = if ends { SessionStatus::Aborted } else { SessionStatus::Suspended };
            assert_eq!(status(&runtime, &child).await, expect, "{arguments}, delete {delete}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_of_the_turn_leaves_the_children_running() {
    let (_, agent) = family(|request| match results(request).len() {
        0 => call("helper", r#"{"tasks":["write"],"background":true}"#.to_owned()),
        _ => Say::Nothing,
    });
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    runtime.interrupt(run.key(), "enough").await.unwrap();
    let (parent, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    let child = child_of(&runtime, &parent).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Suspended);
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_none_of_the_children() {
    let (_, agent) = begins(r#"{"tasks":["write"],"background":true}"#);
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let child = child_of(&runtime, &parent).await;
    let fork = runtime.fork(&parent, Fork::newest()).await.unwrap().key;
    assert_eq!(runtime.children(&fork).await.unwrap(), []);
    runtime.abort(&fork, "enough").await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Suspended);
}

#[tokio::test(start_paused = true)]
async fn children_of_a_child_end_with_the_turn_that_answers() {
    let model = Script::new(|request| match (request.system.as_ref(), results(request).is_empty()) {
        (system, _) if system.contains("You dig.") => Say::Nothing,
        (system, true) if system.contains("You help.") => {
            Say::Calls(vec![("digger", r#"{"tasks":["dig"],"background":true}"#)])
        }
        (system, false) if system.contains("You help.") => Say::Text("helped"),
        (_, true) => Say::Calls(vec![("helper", r#"{"tasks":["help"]}"#)]),
        (_, false) => Say::Text("done"),
    });
    let digger = SubAgent::new("digger", "Digs.").instructions("You dig.").background();
    let helper = SubAgent::new("helper", "Helps.").instructions("You help.").sub_agent(digger);
    let agent = Arc::new(agent(&model).sub_agent(helper).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let tree = runtime.tree(&parent, true).await.unwrap();
    let standing: Vec<(u32, SessionStatus)> =
        tree.entries.iter().map(|entry| (entry.depth, entry.session.status)).collect();
    assert_eq!(standing, [(0, SessionStatus::Idle), (1, SessionStatus::Idle), (2, SessionStatus::Aborted)]);
    assert_eq!(
        said(&transcript(&runtime, &tree.entries[1].session.key).await),
        ["user: help", "model: helped"]
    );
    assert_eq!(runtime.children(&tree.entries[1].session.key).await.unwrap(), []);
    agrees(&runtime, &tree.entries[1].session.key).await;
}

#[tokio::test(start_paused = true)]
async fn no_more_children_run_than_may() {
    let tasks = vec!["\"never\""; BACKGROUND_MAX - 1].join(",");
    let most: &'static str =
        Box::leak(format!(r#"{{"tasks":[{tasks}],"background":true}}"#).into_boxed_str());
    let (_, agent) = family(move |request| match results(request).len() {
        0 => Say::Calls(vec![("helper", most)]),
        1 => call("helper", r#"{"tasks":["never","never"],"background":true}"#.to_owned()),
        2 => call("helper", r#"{"tasks":["never"],"background":true}"#.to_owned()),
        _ => Say::Text("done"),
    });
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let told = tool_results(&runtime, &parent).await;
    let statuses: Vec<ResultStatus> = told.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ResultStatus::Done, ResultStatus::Error, ResultStatus::Done]);
    assert!(told[1].content.contains("63 background children run, at most 64"), "{}", told[1].content);
    assert_eq!(runtime.children(&parent).await.unwrap().len(), BACKGROUND_MAX);
    let begin = BeginChild::new("helper".parse().unwrap(), "dig");
    let refused = runtime.begin_child(&parent, begin).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::NoChild { .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn what_a_child_may_use_is_set_aside_while_it_runs() {
    let model = Script::new(|request| match (is_child(request), results(request).len()) {
        (true, _) => Say::Text("dug it"),
        (false, n) if n < 3 => Say::Calls(vec![("helper", r#"{"tasks":["dig"],"background":true}"#)]),
        (false, _) => Say::Text("done"),
    });
    let helper = SubAgent::new("helper", "Digs.").instructions("You help.").background();
    let agent = agent(&model).limits(Limits::default().max_tokens(Some(1_000_000))).sub_agent(helper).build();
    let agent = Arc::new(agent.unwrap());
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let session = runtime.session(&parent).await.unwrap().unwrap();
    let machine = holdover_runtime_local::machine_of(&session).unwrap().unwrap();
    let shares: Vec<u64> =
        machine.background.iter().map(|child| child.terms.share.tokens.unwrap() / 100_000).collect();
    assert_eq!(shares, [4, 2, 1], "half of the rest each time");
}

#[tokio::test(start_paused = true)]
async fn a_child_is_begun_from_outside_once_for_a_key() {
    let (_, agent) = family(|request| match last_said(request).as_str() {
        "go" => Say::Text("ready"),
        _ => Say::Text("heard"),
    });
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let begin = || BeginChild::new("helper".parse().unwrap(), "dig").key("one".parse().unwrap());
    let child = runtime.begin_child(&parent, begin()).await.unwrap();
    assert_eq!(runtime.begin_child(&parent, begin()).await.unwrap(), child);
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(runtime.begin_child(&parent, begin()).await.unwrap(), child);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(child_of(&runtime, &parent).await, child);
    let heard = format!("user: [helper {} has ended]\ndug it", child.id);
    assert_eq!(
        said(&transcript(&runtime, &parent).await),
        ["user: go", "model: ready", heard.as_str(), "model: heard"]
    );
    agrees(&runtime, &parent).await;
}

#[tokio::test(start_paused = true)]
async fn a_child_is_begun_from_outside_while_its_parent_waits_or_works() {
    for works in [false, true] {
        let (_, agent) = family(move |request| match (results(request).is_empty(), works) {
            (true, true) => Say::Slowly {
                pieces: vec!["a".into(), "b".into()],
                apart: Duration::from_secs(20),
                whole: true,
            },
            (true, false) => Say::Calls(vec![("write", "{}")]),
            (false, _) => Say::Text("done"),
        });
        let runtime = runtime(&store(), &agent);
        let _worker = worker(&runtime, WorkerOptions::default());
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let parent = run.key().clone();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let begin = BeginChild::new("helper".parse().unwrap(), "write").detached();
        let child = runtime.begin_child(&parent, begin).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(status(&runtime, &child).await, SessionStatus::Suspended, "works: {works}");
        let expect = if works { SessionStatus::Active } else { SessionStatus::Suspended };
        assert_eq!(status(&runtime, &parent).await, expect);
        agrees(&runtime, &parent).await;
        drop(run);
    }
}

#[tokio::test(start_paused = true)]
async fn children_that_cannot_be_begun_from_outside_are_refused_by_name() {
    let (_, agent) = family(|_| Say::Text("ready"));
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    for (name, task, why) in
        [("nobody", "dig", "the agent has no such sub-agent"), ("helper", " ", "the task is empty")]
    {
        let refused = runtime.begin_child(&parent, BeginChild::new(name.parse().unwrap(), task)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.ends_with(&format!("sub-agent {name}: {why}")), "{refused}");
    }
    assert_eq!(runtime.children(&parent).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_is_aborted_before_it_began_a_child_begins_none() {
    let (_, agent) = family(|_| Say::Text("ready"));
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let child =
        runtime.begin_child(&parent, BeginChild::new("helper".parse().unwrap(), "write")).await.unwrap();
    runtime.abort(&parent, "enough").await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(status(&runtime, &parent).await, SessionStatus::Aborted);
    assert_eq!(
        status(&runtime, &child).await,
        SessionStatus::Aborted,
        "whoever begins it late finds it aborted"
    );
    agrees(&runtime, &parent).await;
}
