//! Files that a message mentions.
//!
//! Requirements: B09, G02.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::event::Event;
use holdover_core::hook::{BeforeModel, Hook, HookError, HookPoint, ModelAsked};
use holdover_core::ids::{InboxSeq, ItemKey, SessionId};
use holdover_core::message::{Mention, Mentions, MessagePolicy, NotRead};
use holdover_core::model::ModelRequest;
use holdover_core::payload::Digest;
use holdover_core::store::{EventCursor, Wake};
use holdover_runtime_local::{Deliver, Delivered, Follow, Fork, HandOff, RuntimeError};

use crate::bench::{agent, completes, runtime, say, store, transcript};
use crate::script::{Say, Script};

fn file(path: &str, content: &str) -> Mention {
    Mention::file(path, Digest::of(content.as_bytes()), content.len() as u64).unwrap()
}

fn of(mentions: impl IntoIterator<Item = Mention>) -> Mentions {
    Mentions::of(mentions).unwrap()
}

/// A hook that keeps the mentions of the newest message before each model call.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Vec<Mentions>>>);

#[async_trait]
impl Hook for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeModel]
    }

    async fn before_model(&self, _: &ModelAsked, request: &ModelRequest) -> Result<BeforeModel, HookError> {
        let newest = request.messages.last().map(|message| message.mentions().clone());
        self.0.lock().unwrap().extend(newest);
        Ok(BeforeModel::Ask)
    }
}

#[tokio::test(start_paused = true)]
async fn b09_mentions_reach_hooks_events_forks_and_handoffs() {
    let (model, watch) = (Script::new(|_| Say::Text("done")), Watch::default());
    let agent = Arc::new(agent(&model).hook(watch.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let both = of([file("src/main.rs", "fn"), Mention::not_read("docs", NotRead::Folder).unwrap()]);
    let run = runtime.execute(say(&agent, "look at @src/main.rs").mentioning(both.clone())).await.unwrap();
    let key = completes(run).await;
    let one = of([file("b.rs", "b")]);
    runtime.deliver(&key, Deliver::message("and @b.rs").mentioning(one.clone())).await.unwrap();
    assert_eq!(runtime.queued(&key).await.unwrap()[0].mentions, one);
    completes(runtime.resume(&key).await.unwrap()).await;
    assert_eq!(*watch.0.lock().unwrap(), [both.clone(), one.clone()]);

    let fork = runtime.fork(&key, Fork::newest()).await.unwrap().key;
    let to = HandOff::for_goal("go on").to(SessionId::new("handed").unwrap()).draft();
    let handed = runtime.hand_off(&key, to).await.unwrap().key;
    for session in [&key, &fork, &handed] {
        let kept = transcript(&runtime, session).await;
        let kept: Vec<_> = kept.iter().map(|message| message.mentions().clone()).collect();
        assert_eq!((&kept[0], &kept[2]), (&both, &one), "{session}");
        assert!(kept[1].is_empty(), "the model mentions nothing");
    }
    let events: Vec<_> = runtime.events(&key, EventCursor::START, Follow::Available).collect().await;
    let told: Vec<Mentions> = events
        .into_iter()
        .filter_map(|entry| {
            let Event::Message { mentions, .. } = entry.unwrap().event else { return None };
            (!mentions.is_empty()).then_some(mentions)
        })
        .collect();
    assert_eq!(told, [both, one]);
}

#[tokio::test(start_paused = true)]
async fn b09_a_message_that_is_sent_again_is_the_same_although_its_files_have_changed() {
    let model = Script::new(|_| Say::Text("done"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let once = |name: &str| ItemKey::new(name).unwrap();
    let (old, new) = (of([file("a.rs", "old")]), of([file("a.rs", "new")]));
    let first = |mentions: &Mentions| {
        say(&agent, "see @a.rs").in_session(SessionId::new("s").unwrap()).first().mentioning(mentions.clone())
    };
    let keyed = |text: &str, mentions: &Mentions| {
        let message = say(&agent, text).in_session(SessionId::new("s").unwrap());
        message.once(once("k")).mentioning(mentions.clone())
    };
    let key = completes(runtime.execute(first(&old)).await.unwrap()).await;
    let again = runtime.execute(first(&new)).await.unwrap();
    assert_eq!((again.is_duplicate(), again.item()), (true, Some(InboxSeq(1))));
    assert!(runtime.start(first(&new)).await.unwrap().duplicate);

    // While it waits, and once it is taken.
    let deliver =
        |mentions: &Mentions| Deliver::message("now @a.rs").once(once("k")).mentioning(mentions.clone());
    assert_eq!(runtime.deliver(&key, deliver(&old)).await.unwrap(), Delivered::Accepted);
    for _ in 0..2 {
        assert_eq!(runtime.deliver(&key, deliver(&new)).await.unwrap(), Delivered::Duplicate);
        assert_eq!(runtime.deliver(&key, deliver(&Mentions::none())).await.unwrap(), Delivered::Duplicate);
        assert!(runtime.start(keyed("now @a.rs", &new)).await.unwrap().duplicate);
        let rejects = deliver(&new).under(MessagePolicy::Reject);
        let conflict = runtime.deliver(&key, rejects).await;
        let waits = !runtime.queued(&key).await.unwrap().is_empty();
        assert_eq!(conflict.is_err(), waits, "a waiting message shows its policy: {conflict:?}");
        for refused in [
            runtime.deliver(&key, deliver(&of([file("b.rs", "b")]))).await.map(drop),
            runtime.start(keyed("now @a.rs?", &new)).await.map(drop),
            runtime.execute(keyed("now", &new)).await.map(drop),
        ] {
            assert!(matches!(refused, Err(RuntimeError::KeyConflict { .. })), "{refused:?}");
        }
        if waits {
            completes(runtime.resume(&key).await.unwrap()).await;
        }
    }
    let stored = transcript(&runtime, &key).await;
    let kept: Vec<_> = stored.iter().map(|message| message.mentions().clone()).collect();
    assert_eq!(
        kept,
        [old.clone(), Mentions::none(), old.clone(), Mentions::none()],
        "as they were first sent"
    );
    assert_eq!(model.asked().len(), 2);

    // A note is another message than one that wakes the session.
    let note = Deliver::message_that("then @a.rs", Wake::Quiet).once(once("n")).mentioning(old.clone());
    assert_eq!(runtime.deliver(&key, note).await.unwrap(), Delivered::Accepted);
    let wakes = Deliver::message("then @a.rs").once(once("n")).mentioning(new.clone());
    let refused = runtime.deliver(&key, wakes).await;
    assert!(matches!(refused, Err(RuntimeError::KeyConflict { .. })), "{refused:?}");

    // In a fork, the numbers of deliveries begin anew, and a copied message is no repeat.
    let fork = runtime.fork(&key, Fork::newest()).await.unwrap().key;
    let other =
        |mentions: &Mentions| Deliver::message("or @a.rs").once(once("f")).mentioning(mentions.clone());
    assert_eq!(runtime.deliver(&fork, other(&old)).await.unwrap(), Delivered::Accepted);
    completes(runtime.resume(&fork).await.unwrap()).await;
    assert_eq!(runtime.deliver(&fork, other(&new)).await.unwrap(), Delivered::Duplicate);
    let copied = Deliver::message("see @a.rs").once(once("f")).mentioning(new.clone());
    let refused = runtime.deliver(&fork, copied).await;
    assert!(matches!(refused, Err(RuntimeError::KeyConflict { .. })), "{refused:?}");

    // Here the first delivery says what the source was told first, and is withdrawn.
    let fork = runtime.fork(&key, Fork::newest()).await.unwrap().key;
    let first =
        |mentions: &Mentions| Deliver::message("see @a.rs").once(once("w")).mentioning(mentions.clone());
    let gone = runtime.deliver_item(&fork, first(&old)).await.unwrap().item;
    assert_eq!(gone, InboxSeq(1));
    runtime.withdraw(&fork, gone).await.unwrap();
    runtime.deliver(&fork, Deliver::message("go on")).await.unwrap();
    completes(runtime.resume(&fork).await.unwrap()).await;
    let refused = runtime.deliver(&fork, first(&new)).await;
    assert!(matches!(refused, Err(RuntimeError::KeyConflict { .. })), "it was not taken: {refused:?}");
}
