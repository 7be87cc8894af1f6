//! What a model sees, and what an observer is shown.

use std::sync::{Arc, Mutex};

use holdover_core::message::Message;
use holdover_runtime_local::{Agents, Provisional, RunObserver, Runtime, RuntimeOptions};

use crate::bench::{agent, asking_for, completes, finish, only_pending, options, runtime, say, store};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

#[derive(Default)]
struct Reader(Mutex<String>);

impl RunObserver for Reader {
    fn on_text(&self, _of: &Provisional, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_reads_along() {
    let model = Script::new(|_| Say::Text("hello"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let reader = Arc::new(Reader::default());
    let options = RuntimeOptions { observer: Some(reader.clone()), ..options() };
    let runtime = Runtime::new(Arc::new(store()), Arc::new(Agents::new()), options);
    completes(runtime.execute(say(&agent, "hi")).await.unwrap()).await;
    assert_eq!(*reader.0.lock().unwrap(), "hello");
}

#[tokio::test(start_paused = true)]
async fn a_model_sees_no_decisions_and_every_result_once() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#), ("echo", r#"{"n":8}"#)]);
    let agent = agent(&model).tool(Fake::echo("pay")).tool(Fake::echo("echo")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let call = only_pending(&runtime, &key).await;
    runtime.approve(&key, &call, holdover_runtime_local::Approval::default()).await.unwrap();
    runtime.wait(&key).await.unwrap();
    let asked = model.asked();
    let last = asked.last().unwrap();
    assert_eq!(results(last), [r#"{"n":7}"#, r#"{"n":8}"#]);
    let hidden = |message: &Arc<Message>| matches!(**message, Message::Decision(_) | Message::Notice(_));
    assert!(!last.messages.iter().any(hidden));
}
