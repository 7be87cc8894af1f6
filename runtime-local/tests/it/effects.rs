//! The text and the ends of runs that an observer is shown. Also, the messages that a model is shown.

use std::sync::{Arc, Mutex};

use holdover_core::engine::RunOutcome;
use holdover_core::ids::SessionKey;
use holdover_core::message::Message;
use holdover_core::store::OutcomeKind;
use holdover_runtime_local::{Agents, Provisional, RunObserver, Runtime};

use crate::bench::{agent, asking_for, finish, only_pending, options, runtime, say, store};
use crate::script::{Script, results};
use crate::tools::Fake;

#[derive(Default)]
struct Reader {
    text: Mutex<String>,
    after: Mutex<Vec<u64>>,
    ends: Mutex<Vec<OutcomeKind>>,
}

impl RunObserver for Reader {
    fn on_text(&self, _of: &Provisional, text: &str) {
        self.text.lock().unwrap().push_str(text);
    }

    fn on_model_call(&self, of: &Provisional) {
        self.after.lock().unwrap().push(of.after.0);
    }

    fn on_run_over(&self, _session: &SessionKey, outcome: &RunOutcome) {
        self.ends.lock().unwrap().push(outcome.kind());
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_reads_along() {
    let model = Script::calling(vec![("echo", "{}")]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("echo")).gate(asking_for("echo")).build().unwrap());
    let reader = Arc::new(Reader::default());
    let options = options().observer(Some(reader.clone()));
    let agents = Agents::new().with(Arc::clone(&agent));
    let runtime = Runtime::new(Arc::new(store()), Arc::new(agents), options);
    let (key, _) = finish(runtime.execute(say(&agent, "hi")).await.unwrap()).await;
    let call = only_pending(&runtime, &key).await;
    runtime.approve(&key, &call, holdover_runtime_local::Approval::default()).await.unwrap();
    runtime.wait(&key).await.unwrap();
    assert_eq!(*reader.text.lock().unwrap(), "done");
    // The message; then the call, the decision and the result.
    assert_eq!(*reader.after.lock().unwrap(), [1, 4]);
    assert_eq!(*reader.ends.lock().unwrap(), [OutcomeKind::SuspendedClientTool, OutcomeKind::Completed]);
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
    let hidden = |message: &Arc<Message>| {
        matches!(**message, Message::Decision(_) | Message::Notice(_) | Message::Summary(_))
    };
    assert!(!last.messages.iter().any(hidden));
}
