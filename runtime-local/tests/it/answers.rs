//! The binding of an answer to one call, and the separate keys of each kind of delivery.
//!
//! Requirements: C28.

use std::sync::Arc;

use holdover_core::ids::{InboxSeq, ItemKey, SessionId};
use holdover_core::message::{ClientAnswer, Decision};
use holdover_core::payload::Digest;
use holdover_core::store::{Deletion, OutcomeKind, StateStore};
use holdover_runtime_local::{
    Agent, Agents, Approval, Deliver, Delivered, Denial, Runtime, RuntimeError, RuntimeErrorKind,
};
use holdover_store_layers::{Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};

use crate::bench::{
    agent, asking_for, completes, finish, only_pending, options, runtime, say, store, transcript,
};
use crate::script::{Say, Script, results};
use crate::tools::{Fake, spec};

/// Returns an agent that asks for one payment and is then done, and its payment tool.
fn payer(arguments: &'static str) -> (Arc<Agent>, Fake) {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", arguments)]);
    let agent = agent(&model).tool(tool.clone()).gate(asking_for("pay"));
    (Arc::new(agent.build().unwrap()), tool)
}

#[tokio::test(start_paused = true)]
async fn no_key_of_a_message_takes_the_key_of_an_answer() {
    let (agent, tool) = payer("{}");
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let entry = runtime.pending(&key).await.unwrap().remove(0);
    // The id is visible to everyone who may answer. Here the service also uses it as its own key for the one answer.
    let shown = ItemKey::new(entry.id().as_str()).unwrap();
    let said = runtime.deliver(&key, Deliver::message("hello").once(shown.clone())).await.unwrap();
    assert_eq!(said, Delivered::Accepted);
    let decision = Decision { by: Some("ada".into()), ..Decision::new(true, entry.body.digest) };
    let decide = Deliver::decision(&entry.call, decision).once(shown);
    assert_eq!(runtime.deliver(&key, decide.clone()).await.unwrap(), Delivered::Accepted);
    assert_eq!(runtime.deliver(&key, decide).await.unwrap(), Delivered::Duplicate);
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_message_has_a_key_that_no_other_message_can_have() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let first = |text: &str| say(&agent, text).in_session(SessionId::new("desk").unwrap()).first();
    let key = completes(runtime.execute(first("go")).await.unwrap()).await;
    for text in ["first", "!first", "message!first", "first message"] {
        let other = Deliver::message("more").once(ItemKey::new(text).unwrap());
        assert_eq!(runtime.deliver(&key, other).await.unwrap(), Delivered::Accepted, "{text}");
    }
    assert!(runtime.start(first("go")).await.unwrap().duplicate);
    assert!(runtime.execute(first("go")).await.unwrap().is_duplicate());
    let other = runtime.start(first("else")).await;
    assert!(matches!(other, Err(RuntimeError::NotFirst { .. })), "{other:?}");
    let other = runtime.execute(first("else")).await.unwrap_err().to_string();
    let said =
        "session acme/desk: it exists already and began with another message; choose another session id";
    assert!(other.starts_with(said), "{other}");
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_of_what_was_shown_and_of_nothing_that_came_later() {
    let (first, _) = payer(r#"{"n":7}"#);
    let store = store();
    let id = SessionId::new("tidy").unwrap();
    let before = runtime(&store, &first);
    let (key, _) = finish(before.execute(say(&first, "go").in_session(id.clone())).await.unwrap()).await;
    let shown = only_pending(&before, &key).await;
    before.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();

    // The same name, the same call id, other bytes.
    let (second, tool) = payer(r#"{"n":1000}"#);
    let now = runtime(&store, &second);
    let (_, outcome) = finish(now.execute(say(&second, "go").in_session(id)).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let asked = now.pending(&key).await.unwrap().remove(0);
    assert!(shown.as_str().contains(asked.call.call.as_str()), "{shown}: the same call id");
    for refused in [
        now.approve(&key, &shown, Approval::default()).await,
        now.deny(&key, &shown, Denial::default()).await,
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), RuntimeErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains(shown.as_str()), "{error}");
    }
    assert_eq!(now.pending(&key).await.unwrap().len(), 1, "it is still asked");
    now.approve(&key, asked.id(), Approval::default()).await.unwrap();
    assert_eq!(now.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1);
}

/// Requirements: C28.
#[tokio::test(start_paused = true)]
async fn the_same_answer_again_is_a_duplicate_and_another_one_is_late() {
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("ask_user", r#"{"n":1}"#)]),
        _ => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).client_tool(spec("ask_user")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = only_pending(&runtime, &key).await;
    let answer = |content: &str| ClientAnswer::done(content);
    assert_eq!(runtime.answer(&key, &asked, answer("blue")).await.unwrap(), Delivered::Accepted);
    assert_eq!(runtime.answer(&key, &asked, answer("blue")).await.unwrap(), Delivered::Duplicate);
    let other = runtime.answer(&key, &asked, answer("red")).await.unwrap_err();
    assert!(matches!(other, RuntimeError::AlreadyAnswered { .. }), "{other}");
    assert_eq!(other.kind().http_status(), 409);
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(runtime.answer(&key, &asked, answer("blue")).await.unwrap(), Delivered::Duplicate);
    let other = runtime.answer(&key, &asked, answer("red")).await.unwrap_err();
    assert!(matches!(other, RuntimeError::NotPending { .. }), "{other}");
    assert_eq!(transcript(&runtime, &key).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_decision_says_who_decides_or_says_nothing_of_it() {
    let (agent, tool) = payer("{}");
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = only_pending(&runtime, &key).await;
    for by in ["", " "] {
        let nobody = Approval::by(by);
        let error = runtime.approve(&key, &asked, nobody).await.unwrap_err();
        assert_eq!(error.kind(), RuntimeErrorKind::Invalid, "{error}");
    }
    assert_eq!(tool.calls(), []);
    runtime.approve(&key, &asked, Approval::default()).await.unwrap();
}

/// A reader of an encrypted store cannot find an answer by trying all possible answers. A repeated answer is still
/// recognised, even after the key was changed or if the answer was written before the store was encrypted.
#[tokio::test(start_paused = true)]
async fn an_answer_is_not_found_from_its_key_and_a_repeat_of_it_is_known() {
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("ask_user", r#"{"n":1}"#)]),
        _ => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).client_tool(spec("ask_user")).build().unwrap());
    let plain = store();
    let under = |ids: &[u32]| {
        let keys = ids.iter().map(|id| (KeyId(*id), EncryptionKey::new([*id as u8; EncryptionKey::BYTES])));
        let encrypted = Encrypted::new(Keyring::new(KeyId(ids[0]), keys).unwrap()).or_plain();
        let agents = Agents::new().with(Arc::clone(&agent));
        Runtime::new(Arc::new(encrypted.around(plain.clone())), agents, options())
    };
    let pin = |code: u32| ClientAnswer::done(format!("{code:04}"));
    for (before, then, is_plain) in [
        (under(&[1]), under(&[1]), false),
        (under(&[1]), under(&[2, 1]), false),
        (runtime(&plain, &agent), under(&[1]), true),
    ] {
        let (key, _) = finish(before.execute(say(&agent, "go")).await.unwrap()).await;
        let asked = only_pending(&before, &key).await;
        assert_eq!(before.answer(&key, &asked, pin(4711)).await.unwrap(), Delivered::Accepted);
        let written = plain.read_inbox(&key, InboxSeq(0), 1000).await.unwrap().items;
        let written = written.last().unwrap().key.clone();
        let found = (0..10_000).any(|code| {
            let said = Digest::of(&serde_json::to_vec(&pin(code)).unwrap());
            let words = format!("{asked}\0{said}");
            written.as_str().contains(&Digest::of(words.as_bytes()).to_string())
        });
        assert_eq!(found, is_plain, "{written}");
        assert_eq!(before.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
        assert_eq!(then.answer(&key, &asked, pin(4711)).await.unwrap(), Delivered::Duplicate);
        let late = then.answer(&key, &asked, pin(4712)).await.unwrap_err();
        assert!(matches!(late, RuntimeError::NotPending { .. }), "{late}");
    }
}
