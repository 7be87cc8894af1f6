//! Plays a session to its end. If asked, kills the run right after its n-th action, before it gets the reply.

use holdover_core::engine::{Action, CallOut, Reply};
use holdover_core::message::Message;
use holdover_core::model::ModelAnswer;
use holdover_core::time::{Clock, Timestamp};
use holdover_core::tool::{ToolError, ToolReturn};

use crate::bench::{Bench, LEASE};
use crate::run::Run;

/// The kinds of actions that a run would otherwise perform by itself.
const PERFORMED: [&str; 6] = ["read", "commit", "stage", "consult", "foresee", "stop_model"];

/// The model and the tools of a session.
pub(crate) struct Cast<'a> {
    pub(crate) think: &'a dyn Fn(&[Message]) -> ModelAnswer,
    pub(crate) tool: &'a dyn Fn(&CallOut) -> Result<ToolReturn, ToolError>,
}

/// Runs the session whenever it is due, and moves the clock to each alarm up to `last`. Returns the number of actions.
/// The run that performs action number `stop` dies, and its lease ends.
pub(crate) fn play(bench: &Bench, last: Timestamp, stop: Option<usize>, cast: &Cast<'_>) -> usize {
    let mut actions = 0;
    while let Some(alarm) = bench.session().alarm.filter(|alarm| *alarm <= last) {
        bench.clock.move_to(alarm);
        let claim = bench.claim().expect("the session is due");
        let mut run = Run::holding(bench, claim, &PERFORMED);
        while !run.is_over() {
            if run.out.is_empty() {
                let until = run.until().expect("an instant");
                bench.clock.move_to(until);
                run.apply(Reply::TimePassed);
                continue;
            }
            let seen = matches!(run.out.front(), Some(Action::CallModel { .. })).then(|| run.model_sees().0);
            let action = run.out.pop_front().expect("an action");
            actions += 1;
            let replies = match action {
                Action::CallModel { id, .. } => {
                    let answer = (cast.think)(&seen.expect("what it sees"));
                    vec![Reply::ModelAnswered { id, result: Ok(answer) }]
                }
                Action::RunCalls { calls, .. } => calls
                    .iter()
                    .map(|call| Reply::CallEnded {
                        call: call.id.clone(),
                        result: (cast.tool)(call),
                        duration_ms: 1,
                    })
                    .collect(),
                other => vec![run.reply_to(other)],
            };
            if Some(actions) == stop {
                bench.clock.pass(LEASE);
                break;
            }
            for reply in replies {
                run.apply(reply);
            }
        }
        assert!(actions < 1_000, "actions without end");
    }
    assert!(bench.clock.now() <= last.after(LEASE * 2), "it took too long");
    actions
}
