//! Unreadable pending calls among others: left behind by a newer version in a rolling upgrade, or damaged.
//!
//! Requirements: U05.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, PageRequest, PendingCall, PendingQuery, Request, StateStore,
    StoreError, StoreErrorKind,
};
use holdover_runtime_local::{Approval, Denial, RuntimeError};
use serde_json::{Value, json};

use crate::bench::{agent, asking_for, finish, only_pending, runtime, say, store, tenant};
use crate::script::Script;
use crate::tools::Fake;

/// A layer that shows pending calls of one session, all or only one, as a newer version would have stored them.
#[derive(Default)]
struct Newer(Mutex<Option<(SessionKey, Option<PendingId>)>>);

impl Newer {
    /// Rewrites only this pending call of the session.
    fn only(&self, key: &SessionKey, pending: &PendingId) {
        *self.0.lock().unwrap() = Some((key.clone(), Some(pending.clone())));
    }

    fn rewrite(&self, call: &mut PendingCall) {
        let newer = self.0.lock().unwrap();
        let is_newer = newer
            .as_ref()
            .is_some_and(|(key, id)| *key == call.key && id.as_ref().is_none_or(|id| *id == call.id));
        if is_newer {
            let mut body: Value = call.body.parse().unwrap();
            let terms = json!({ "approvers": { "needed": 2 }, "quorum": "half" });
            body["panel"] = json!({ "terms": terms, "asked_at": 0, "votes": [] });
            call.body = Payload::json(&body).unwrap();
        }
    }
}

#[async_trait]
impl Layer for Newer {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let mut answer = request.perform(&store).await?;
        if let Answer::Pending(page) = &mut answer {
            page.items.iter_mut().for_each(|call| self.rewrite(call));
        }
        Ok(answer)
    }
}

#[tokio::test(start_paused = true)]
async fn u05_an_asking_that_cannot_be_read_holds_no_other_up_and_is_answered_by_nobody_here() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let tool = Fake::echo("pay");
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = Layered::new(store(), Newer::default());
    let newer = Arc::clone(store.layer());
    let runtime = runtime(&store, &agent);
    let mut asked: Vec<(SessionKey, PendingId)> = Vec::new();
    for _ in 0..3 {
        let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let pending = only_pending(&runtime, &key).await;
        asked.push((key, pending));
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    }
    let (key, pending) = &asked[1];
    *newer.0.lock().unwrap() = Some((key.clone(), None));

    let first = PageRequest::first(NonZeroU32::new(1).unwrap());
    let mut query = PendingQuery { page: first, ..PendingQuery::all(tenant()) };
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    loop {
        let page = runtime.list_pending(&query).await.unwrap();
        read.extend(page.items.into_iter().map(|entry| (entry.call.key.clone(), entry.call.id)));
        unread.extend(page.unreadable);
        let Some(next) = page.next else { break };
        query.page.after = Some(next);
    }
    assert_eq!(read, [asked[0].clone(), asked[2].clone()], "the others are listed");
    let [found] = unread.as_slice() else { panic!("{unread:?}") };
    assert_eq!((&found.call.key, &found.call.id), (key, pending));
    assert!(
        found.why.starts_with("this version cannot read what is asked: unknown field `quorum`"),
        "{found:?}"
    );
    let shown = serde_json::to_value(found).unwrap();
    assert_eq!((&shown["id"], &shown["session"]), (&json!(pending), &json!(key.id)), "{shown}");
    assert!(shown["deadline"].is_number() || shown["deadline"].is_string(), "{shown}");

    for refused in [
        runtime.approve(key, pending, Approval::default()).await.map(drop),
        runtime.deny(key, pending, Denial::default()).await.map(drop),
        runtime.pending_call(key, pending).await.map(drop),
        runtime.pending(key).await.map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, RuntimeError::Unreadable { .. }), "{refused}");
        assert!(refused.to_string().contains("this version cannot read what is asked"), "{refused}");
    }
    assert_eq!(runtime.session(key).await.unwrap().unwrap().unread, 0, "nothing was stored");
    let (key, pending) = &asked[0];
    runtime.approve(key, pending, Approval::default()).await.unwrap();
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    // A version that can read the call goes on with it.
    *newer.0.lock().unwrap() = None;
    let (key, pending) = &asked[1];
    runtime.approve(key, pending, Approval::default()).await.unwrap();
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn u05_the_front_page_of_a_session_names_what_cannot_be_read_and_shows_the_rest() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#), ("pay", r#"{"n":8}"#)]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = Layered::new(store(), Newer::default());
    let newer = Arc::clone(store.layer());
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = runtime.pending(&key).await.unwrap();
    assert_eq!(asked.len(), 2);
    let page = serde_json::to_value(runtime.standing(&key).await.unwrap()).unwrap();
    assert!(page.get("unreadable").is_none(), "{page}");

    let hidden = asked.iter().position(|entry| entry.body.arguments.contains('8')).unwrap();
    newer.only(&key, asked[hidden].id());
    let standing = runtime.standing(&key).await.unwrap();
    assert_eq!(standing.outcome, Some(outcome));
    assert_eq!(standing.pending, [asked[1 - hidden].clone()], "what can be read is shown");
    let [found] = standing.unreadable.as_slice() else { panic!("{standing:?}") };
    assert_eq!(found.call.id, asked[hidden].call.id);
    assert!(found.why.contains("unknown field `quorum`"), "{found:?}");
    let taken = runtime.snapshot(&key, 9).await.unwrap();
    assert_eq!(taken.standing, standing);
    let page = serde_json::to_value(&taken).unwrap();
    assert_eq!((&page["unreadable"][0]["id"], &page["unreadable"][1]), (&json!(found.call.id), &Value::Null));
    assert_eq!(page["pending"][0]["id"], json!(asked[1 - hidden].id()));
}

/// A layer that makes the inbox of one session unreadable.
#[derive(Default)]
struct Damaged(Mutex<Option<SessionKey>>);

#[async_trait]
impl Layer for Damaged {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::ReadInbox(key, ..) = &request
            && self.0.lock().unwrap().as_ref() == Some(key)
        {
            let why = "item 1: not what was written";
            return Err(StoreError::new(StoreErrorKind::Corrupt, "read_inbox", why).on(key));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_told_of_its_call_and_holds_no_other_up() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = Layered::new(store(), Damaged::default());
    let damaged = Arc::clone(store.layer());
    let runtime = runtime(&store, &agent);
    let (bad, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (good, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let owed = runtime.pending(&bad).await.unwrap().remove(0);
    runtime.approve(&bad, owed.id(), Approval::by("ann")).await.unwrap();
    *damaged.0.lock().unwrap() = Some(bad.clone());
    let page = runtime.list_pending(&PendingQuery::all(tenant())).await.unwrap();
    let read: Vec<_> = page.items.iter().map(|entry| &entry.call.key).collect();
    let unreadable: Vec<_> = page.unreadable.iter().map(|found| &found.call.key).collect();
    assert_eq!((read, unreadable), (vec![&good], vec![&bad]));
    assert!(page.unreadable[0].why.contains("not what was written"), "{}", page.unreadable[0].why);
}
