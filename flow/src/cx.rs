//! The context of a flow: everything that its code may wait for.

use std::time::Duration;

use holdover_core::children::Tasks;
use holdover_core::plan::Drawn;
use holdover_core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::approval::Approval;
use crate::built_in::{ASK, SLEEP};
use crate::call::{Call, Kind};
use crate::child::{Child, Each};
use crate::code::{Shared, lock};
use crate::error::{Stop, Why};
use crate::saga::Saga;
use crate::signal::Signal;
use crate::step::Step;

/// The context of a flow. A flow may wait only for what its context returns; everything else would be forgotten with the
/// run. Clones are the same context.
#[derive(Clone)]
pub struct Cx {
    ledger: Shared,
}

impl Cx {
    pub(crate) fn new(ledger: Shared) -> Self {
        Self { ledger }
    }

    pub(crate) fn ledger(&self) -> &Shared {
        &self.ledger
    }

    /// Runs a step. It begins when the returned call is first awaited, and is cancelled when the call is dropped.
    pub fn step<A: Serialize, R: DeserializeOwned>(&self, step: &Step<A, R>, argument: &A) -> Call<R> {
        Call::new(self, step.name, argument, Kind::Value)
    }

    /// Calls a tool of the flow by its name. The value is the tool's text.
    pub fn call(&self, tool: &str, arguments: &impl Serialize) -> Call<String> {
        Call::new(self, tool, arguments, Kind::Text)
    }

    /// Gives an agent of the flow a task, and waits for its answer. The agent works in a session of its own.
    pub fn agent(&self, name: &str, task: impl Into<String>) -> Call<String> {
        Call::new(self, name, &Tasks { tasks: vec![task.into()], ..Tasks::default() }, Kind::ChildText)
    }

    /// Gives an agent of the flow several tasks at once, each in a session of its own, and waits for all answers.
    pub fn agent_each<T: Into<String>>(
        &self,
        name: &str,
        tasks: impl IntoIterator<Item = T>,
    ) -> Each<String> {
        Each::texts(self, name, tasks.into_iter().map(Into::into).collect())
    }

    /// Runs another flow as a child, in a session of its own, and waits for its value.
    pub fn flow<I: Serialize, O: DeserializeOwned>(&self, child: &Child<I, O>, input: &I) -> Call<O> {
        match serde_json::to_string(input) {
            Ok(task) => {
                Call::new(self, child.name, &Tasks { tasks: vec![task], ..Tasks::default() }, Kind::Child)
            }
            Err(error) => Call::broken(self, child.name, &error),
        }
    }

    /// Runs another flow once for each input, each in a session of its own, and waits for all values. At most 1,000 run in one
    /// call; this flow is woken once, when all of them have ended.
    pub fn map<I: Serialize, O: DeserializeOwned>(&self, child: &Child<I, O>, inputs: &[I]) -> Each<O> {
        Each::values(self, child.name, inputs)
    }

    /// Asks whoever follows the session a question, and waits for the answer, for ever unless a [time](Call::within) is set.
    pub fn ask(&self, question: impl Into<String>) -> Call<String> {
        Call::new(self, ASK, &serde_json::json!({ "question": question.into() }), Kind::Text)
    }

    /// Asks people to approve something. `what` names it, and `shown` is shown to them.
    pub fn approve(&self, what: &str, shown: &impl Serialize) -> Approval {
        Approval::new(self, what, shown)
    }

    /// Waits for a [named signal](holdover_runtime_local::Runtime::signal), whose body is the value.
    pub fn signal<T: DeserializeOwned>(&self, name: &str) -> Signal<T> {
        Signal::new(self, name)
    }

    /// Waits for a time. The wait is durable, and no task runs during it.
    pub fn sleep(&self, duration: Duration) -> Call<()> {
        let until = self.now().after(duration);
        self.sleep_until(until)
    }

    /// Waits until an instant on the store's clock. The wait is durable, and no task runs during it.
    pub fn sleep_until(&self, instant: Timestamp) -> Call<()> {
        Call::new(self, SLEEP, &serde_json::json!({ "until": instant.as_ms() }), Kind::Nothing)
    }

    /// Returns the present instant, on the store's clock. A later run sees the same instant here.
    pub fn now(&self) -> Timestamp {
        let mut ledger = lock(&self.ledger);
        let now = ledger.now;
        match ledger.draw(|| Drawn::Now { at: now }) {
            Drawn::Now { at } => at,
            other @ (Drawn::Random { .. } | Drawn::Uuid { .. } | Drawn::Patched { .. }) => {
                ledger.drew(&other, "the clock");
                now
            }
        }
    }

    /// Returns a random number. A later run sees the same number here.
    pub fn random(&self) -> u64 {
        let mut ledger = lock(&self.ledger);
        let (fresh, _) = Uuid::new_v4().as_u64_pair();
        match ledger.draw(|| Drawn::Random { value: fresh }) {
            Drawn::Random { value } => value,
            other @ (Drawn::Now { .. } | Drawn::Uuid { .. } | Drawn::Patched { .. }) => {
                ledger.drew(&other, "a random number");
                fresh
            }
        }
    }

    /// Returns a random UUID. A later run sees the same UUID here.
    pub fn uuid(&self) -> Uuid {
        let mut ledger = lock(&self.ledger);
        let fresh = Uuid::new_v4();
        match ledger.draw(|| Drawn::Uuid { value: fresh.to_string() }) {
            Drawn::Uuid { value } => value.parse().unwrap_or(fresh),
            other @ (Drawn::Now { .. } | Drawn::Random { .. } | Drawn::Patched { .. }) => {
                ledger.drew(&other, "a UUID");
                fresh
            }
        }
    }

    /// Returns true if this flow takes the changed path `change`: it came here after the change. A flow that had gone
    /// past this place before gets false, in all later runs.
    pub fn patched(&self, change: &str) -> bool {
        let mut ledger = lock(&self.ledger);
        match ledger.next_drawn() {
            Some(Drawn::Patched { id, yes }) if id == change => {
                let yes = *yes;
                ledger.draw(|| Drawn::Patched { id: change.to_owned(), yes });
                return yes;
            }
            Some(Drawn::Now { .. } | Drawn::Random { .. } | Drawn::Uuid { .. } | Drawn::Patched { .. })
            | None => {}
        }
        if ledger.repeats() || ledger.unpatched.contains(change) {
            ledger.unpatched.insert(change.to_owned());
            return false;
        }
        ledger.draw(|| Drawn::Patched { id: change.to_owned(), yes: true });
        true
    }

    /// Begins a saga: steps with the steps that undo them.
    pub fn saga(&self) -> Saga {
        Saga::new(self.clone())
    }

    /// Ends this flow, and begins it again in the same session with a new input. Open calls are cancelled. Use it for a
    /// flow that goes on for ever: what a run must be told again begins anew.
    ///
    /// # Errors
    /// Always. Return the error from the flow.
    pub fn carry_on<T>(&self, input: &impl Serialize) -> Result<T, Stop> {
        match serde_json::to_string(input) {
            Ok(input) => Err(Stop(Why::CarryOn(input))),
            Err(error) => Err(Stop::failed(format!("the input to carry on with is no JSON: {error}"))),
        }
    }

    /// Returns true if the flow was told to stop. Its steps are then cancelled, and only the undoing of a saga runs.
    pub fn is_stopping(&self) -> bool {
        lock(&self.ledger).stops
    }
}

impl std::fmt::Debug for Cx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx").finish_non_exhaustive()
    }
}
