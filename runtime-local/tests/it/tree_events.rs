//! The events of a tree come in one stream, which can be continued from the cursor of any item.
//!
//! Requirements: A65, H25.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, SessionId, SessionKey};
use holdover_core::model::ModelRequest;
use holdover_core::store::{Deletion, EventCursor, OutcomeKind, PendingKind};
use holdover_runtime_local::{
    Agent, Deliver, Follow, Fork, Runtime, RuntimeError, Shown, TreeCursor, TreeShown,
};

use crate::bench::{agent, finish, runtime, say, store};
use crate::script::{Say, Script, results};
use crate::tree_reads::many;
use crate::trees::{asked, sub_agent, three, writes};

fn says_it(_: &ModelRequest) -> Say {
    Say::Text("it is done")
}

pub(crate) async fn available(runtime: &Runtime, root: &SessionKey, after: TreeCursor) -> Vec<TreeShown> {
    runtime.tree_events(root, after, Follow::Available).try_collect().await.unwrap()
}

pub(crate) fn event(item: &TreeShown) -> &Event {
    let Shown::Event(entry) = &item.shown else { panic!("no delta was asked for: {item:?}") };
    &entry.event
}

fn seq(item: &TreeShown) -> EventSeq {
    let Shown::Event(entry) = &item.shown else { panic!("no delta was asked for: {item:?}") };
    entry.seq
}

/// Runs a turn to its end, or until only people can move it on, while its tree is followed from the beginning.
pub(crate) async fn run_and_follow(
    runtime: &Runtime,
    agent: &Arc<Agent>,
    follow: Follow,
) -> (SessionKey, RunOutcome, Vec<TreeShown>) {
    let run = runtime.execute(say(agent, "go")).await.unwrap();
    let followed = runtime.tree_events(run.key(), TreeCursor::START, follow).try_collect();
    let ((root, outcome), followed) = tokio::join!(finish(run), followed);
    (root, outcome, followed.unwrap())
}

/// Returns the numbers of the shown events by session, in the order in which they were shown.
pub(crate) fn by_session(items: &[TreeShown]) -> BTreeMap<SessionId, Vec<EventSeq>> {
    let mut by_session = BTreeMap::<_, Vec<_>>::new();
    for item in items {
        by_session.entry(item.member.session.clone()).or_default().push(seq(item));
    }
    by_session
}

/// Returns the numbers of all events of each session of the tree, in order.
pub(crate) async fn all(runtime: &Runtime, root: &SessionKey) -> BTreeMap<SessionId, Vec<EventSeq>> {
    let mut all = BTreeMap::new();
    for entry in runtime.tree(root, true).await.unwrap().entries {
        let events = runtime.events(&entry.session.key, EventCursor::START, Follow::Available);
        let events: Vec<_> = events.map_ok(|entry| entry.seq).try_collect().await.unwrap();
        all.insert(entry.session.key.id, events);
    }
    all
}

/// Asserts that each child is shown after its parent asks for it and before the call ends.
fn check_order(items: &[TreeShown]) {
    let at = |of: &dyn Fn(&TreeShown) -> bool| items.iter().position(of);
    for (place, item) in items.iter().enumerate() {
        let Some(of) = &item.member.place else { continue };
        let of_parent = |told: &TreeShown| told.member.session == of.parent;
        let asks = |told: &TreeShown| {
            of_parent(told) && matches!(event(told), Event::Asked { call, .. } if *call == of.call)
        };
        let ends = |told: &TreeShown| {
            let ends =
                matches!(event(told), Event::Call { call, is, .. } if *call == of.call && is == "done");
            of_parent(told) && ends
        };
        assert!(at(&asks).unwrap() < place, "{item:?}");
        assert!(at(&ends).is_none_or(|end| place < end), "{item:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a65_every_event_of_a_tree_is_shown_once_with_the_call_that_its_session_answers() {
    let agent = three(says_it);
    let runtime = runtime(&store(), &agent);
    let (root, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let items = available(&runtime, &root, TreeCursor::START).await;
    assert_eq!(by_session(&items), all(&runtime, &root).await);
    check_order(&items);
    let tools: BTreeMap<_, _> = items
        .iter()
        .map(|item| (item.member.depth, item.member.tool.as_ref().map(ToString::to_string)))
        .collect();
    assert_eq!(tools, [(0, None), (1, Some("clerk".to_owned())), (2, Some("page".to_owned()))].into());
    assert!(matches!(event(items.last().unwrap()), Event::Done { .. }));
    assert_eq!(items.last().unwrap().member.depth, 0);
}

#[tokio::test(start_paused = true)]
async fn a_reader_goes_on_from_any_item_and_is_shown_nothing_twice() {
    let agent = three(says_it);
    let runtime = runtime(&store(), &agent);
    let (root, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let items = available(&runtime, &root, TreeCursor::START).await;
    let all = all(&runtime, &root).await;
    for read in 0..=items.len() {
        let cursor = read.checked_sub(1).map_or(TreeCursor::START, |last| items[last].cursor.clone());
        let text = cursor.to_string();
        let rest = available(&runtime, &root, text.parse().unwrap()).await;
        let both = [&items[..read], &rest].concat();
        assert_eq!(by_session(&both), all, "after {read}: {cursor:?}");
        check_order(&both);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tree_is_followed_while_it_works_and_until_it_is_at_rest() {
    let agent = three(says_it);
    let runtime = runtime(&store(), &agent);
    let (root, outcome, followed) = run_and_follow(&runtime, &agent, Follow::UntilRest).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(by_session(&followed), all(&runtime, &root).await);
    check_order(&followed);
}

#[tokio::test(start_paused = true)]
async fn of_many_children_at_most_64_are_followed_at_once_and_all_are_shown() {
    let agent = many(150, Duration::from_secs(1));
    let runtime = runtime(&store(), &agent);
    let (root, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let all = all(&runtime, &root).await;
    assert_eq!(all.len(), 151);
    let items = available(&runtime, &root, TreeCursor::START).await;
    assert_eq!(by_session(&items), all);
    check_order(&items);
    let mut longest = 0;
    for (read, item) in items.iter().enumerate() {
        let text = item.cursor.to_string();
        longest = longest.max(text.len());
        assert!(text.len() < 4_096, "{} bytes after {read}", text.len());
    }
    // 64 children were open at once, so the longest cursor is long.
    assert!(longest > 1_300, "{longest} bytes");
    for read in [40, 300, items.len() / 2, items.len() - 30] {
        let rest = available(&runtime, &root, items[read - 1].cursor.clone()).await;
        assert_eq!(by_session(&[&items[..read], &rest].concat()), all, "after {read}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_grandchild_is_in_the_stream_and_the_tree_is_parked_then() {
    let agent = three(writes);
    let runtime = runtime(&store(), &agent);
    let (root, _, followed) = run_and_follow(&runtime, &agent, Follow::UntilParked).await;
    let asked: Vec<_> = followed
        .iter()
        .filter(|item| matches!(event(item), Event::Asked { kind: PendingKind::Approval, .. }))
        .collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].member.depth, 2);
    assert_eq!(by_session(&followed), by_session(&available(&runtime, &root, TreeCursor::START).await));

    // After the last item that was shown, or from the cursor of the parked tree, only the rest is shown.
    let parked = runtime.session(&root).await.unwrap().unwrap();
    let last = followed.last().unwrap().cursor.clone();
    assert!(available(&runtime, &root, last.clone()).await.is_empty());
    let stands = runtime.tree_cursor(&parked).await.unwrap();
    assert_eq!(stands, last);
    let Event::Asked { pending, .. } = event(asked[0]) else { unreachable!("see above") };
    runtime.approve(&root, pending, "ann").await.unwrap();
    runtime.wait(&root).await.unwrap();
    let rest = available(&runtime, &root, stands).await;
    assert_eq!(by_session(&[followed, rest].concat()), all(&runtime, &root).await);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_tree_and_a_deleted_child_are_followed_to_their_ends() {
    for deletes in [false, true] {
        let agent = three(writes);
        let runtime = runtime(&store(), &agent);
        let (root, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let parked = available(&runtime, &root, TreeCursor::START).await;
        if deletes {
            let child = parked.iter().find(|item| item.member.depth == 1).unwrap();
            let child = SessionKey::new(root.tenant.clone(), child.member.session.clone());
            runtime.delete(&child, Deletion::UNLESS_ACTIVE).await.unwrap();
        } else {
            runtime.interrupt(&root, "enough").await.unwrap();
        }
        runtime.wait(&root).await.unwrap();
        let rest = runtime.tree_events(&root, parked.last().unwrap().cursor.clone(), Follow::UntilRest);
        let rest: Vec<_> = rest.try_collect().await.unwrap();
        let last = rest.last().unwrap();
        assert!(matches!(event(last), Event::Done { .. }), "{last:?}");
        let mut shown = by_session(&[&parked[..], &rest].concat());
        let there = all(&runtime, &root).await;
        assert_eq!(shown.len(), 3);
        shown.retain(|session, _| there.contains_key(session));
        assert_eq!(shown, there);
        assert_eq!(last.member.depth, 0);
        assert_eq!(last.cursor.to_string().split_once('.'), None, "no child is open");
    }
}

#[tokio::test(start_paused = true)]
async fn children_that_were_stopped_before_they_began_hold_nothing_back() {
    let agent = many(100, Duration::from_secs(1));
    let runtime = runtime(&store(), &agent);
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    let root = run.key().clone();
    // No run takes up the children.
    run.first_outcome().await.unwrap();
    let parked = available(&runtime, &root, TreeCursor::START).await;
    assert!(parked.iter().all(|item| item.member.depth == 0), "no child has an event");
    runtime.interrupt(&root, "enough").await.unwrap();
    runtime.wait(&root).await.unwrap();
    for after in [TreeCursor::START, parked.last().unwrap().cursor.clone()] {
        let last = available(&runtime, &root, after).await.pop().unwrap();
        assert!(matches!(event(&last), Event::Done { .. }), "{last:?}");
        assert_eq!((last.member.depth, TreeCursor::from(last.cursor.root())), (0, last.cursor));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tree_is_parked_only_when_none_of_its_sessions_goes_on() {
    let agent = many(3, Duration::from_secs(5));
    let runtime = runtime(&store(), &agent);
    let (root, _, followed) = run_and_follow(&runtime, &agent, Follow::UntilParked).await;
    assert_eq!(by_session(&followed), all(&runtime, &root).await);
}

#[tokio::test(start_paused = true)]
async fn a_child_is_followed_until_the_end_of_the_turn_that_answers() {
    let agent = three(says_it);
    let runtime = runtime(&store(), &agent);
    let (root, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let before = available(&runtime, &root, TreeCursor::START).await;
    let child = before.iter().find(|item| item.member.depth == 2).unwrap();
    let child = SessionKey::new(root.tenant.clone(), child.member.session.clone());
    runtime.deliver(&child, Deliver::message("and now for me alone")).await.unwrap();
    runtime.wait(&child).await.unwrap();
    assert_ne!(all(&runtime, &root).await, by_session(&before), "it has had another turn");
    assert_eq!(by_session(&available(&runtime, &root, TreeCursor::START).await), by_session(&before));
}

/// Returns a chief that gives 70 tasks to clerks, each of which gives a task to a page.
fn many_families() -> Arc<Agent> {
    let tasks: Vec<String> = (0..70).map(|task| task.to_string()).collect();
    let arguments: &str = serde_json::json!({ "tasks": tasks }).to_string().leak();
    let model = Script::new(move |request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", arguments)]),
        ("clerk", true) => Say::Calls(vec![("page", r#"{"tasks":["it"]}"#)]),
        _ => Say::Text("done"),
    });
    let clerk = sub_agent("clerk").fan_out_max(1_000).sub_agent(sub_agent("page"));
    Arc::new(agent(&model).instructions("You are chief.").sub_agent(clerk).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn children_never_wait_for_the_places_that_their_parents_have() {
    let agent = many_families();
    let runtime = runtime(&store(), &agent);
    let (root, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let all = all(&runtime, &root).await;
    assert_eq!(all.len(), 141);
    let items = available(&runtime, &root, TreeCursor::START).await;
    assert_eq!(by_session(&items), all);
    check_order(&items);
    for read in (100..items.len()).step_by(500) {
        let cursor = items[read - 1].cursor.to_string().parse().unwrap();
        let rest = available(&runtime, &root, cursor).await;
        assert_eq!(by_session(&[&items[..read], &rest].concat()), all, "after {read}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_a_parent_has_none_of_its_children() {
    let agent = three(says_it);
    let runtime = runtime(&store(), &agent);
    let (root, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let forked = runtime.fork(&root, Fork::newest()).await.unwrap();
    let items = available(&runtime, &forked.key, TreeCursor::START).await;
    assert!(items.iter().any(|item| matches!(event(item), Event::Asked { .. })), "the copies are shown");
    assert!(items.iter().all(|item| item.member.depth == 0));
}

#[tokio::test(start_paused = true)]
async fn a_root_that_is_not_there_and_a_cursor_of_another_are_refused() {
    let agent = three(says_it);
    let runtime = runtime(&store(), &agent);
    let (one, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (other, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let cursor = available(&runtime, &one, TreeCursor::START).await.pop().unwrap().cursor;
    let mut refused = runtime.tree_events(&other, cursor, Follow::Forever);
    assert!(matches!(refused.next().await, Some(Err(RuntimeError::Gone { .. }))));
    assert!(refused.next().await.is_none());
    let nobody = SessionKey::new(one.tenant.clone(), SessionId::new("nobody").unwrap());
    let mut refused = runtime.tree_events(&nobody, TreeCursor::START, Follow::Forever);
    assert!(matches!(refused.next().await, Some(Err(RuntimeError::NotFound { .. }))));
}
