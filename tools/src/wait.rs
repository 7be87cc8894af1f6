//! The tool `wait_for`.

use std::time::Duration;

use holdover_core::ids::ToolName;
use holdover_core::signal::SignalName;
use holdover_core::tool::{EffectClass, ResourceProfile, ToolError, ToolReturn};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::FunctionTool;

/// The maximum length of a wait, in seconds: 366 days.
const WAIT_SECONDS_MAX: u64 = 366 * 24 * 60 * 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitFor {
    /// The name of the signal: letters, digits, _ and -, at most 64.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    name: String,
    /// How long to wait at most, in seconds: at least 1, at most 31622400 (366 days).
    #[schemars(range(min = 1, max = WAIT_SECONDS_MAX))]
    within_seconds: u64,
}

/// Returns a tool that waits durably for a named signal: no task runs during the wait, and the wait survives the end of
/// the process. The result is the body of the signal, as JSON. A signal that came before the call is taken at once.
pub(crate) fn wait_for(name: ToolName) -> FunctionTool<WaitFor> {
    FunctionTool::new(
        name,
        "Waits until a signal with this name comes from outside, and returns its body as JSON. A signal that came before is \
         returned at once. The call fails if none comes in time. The wait is durable and costs nothing.",
        |asked: WaitFor, _| async move {
            let seconds = asked.within_seconds;
            if !(1..=WAIT_SECONDS_MAX).contains(&seconds) {
                return Err(ToolError::Failed(format!(
                    "within_seconds: {seconds} is not in 1..={WAIT_SECONDS_MAX}"
                )));
            }
            let name = SignalName::new(&asked.name).map_err(ToolError::failed)?;
            Ok(ToolReturn::Signal { name, within: Some(Duration::from_secs(seconds)) })
        },
    )
    .effect(EffectClass::ReadOnly)
    .resources(|_| ResourceProfile::Keys(Vec::new()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Fixture, call};

    #[tokio::test]
    async fn it_answers_with_a_wait_for_a_signal_within_its_bounds() {
        let tool = Fixture::new(&[]).tool("wait_for");
        let asked = json!({ "name": "paid", "within_seconds": 90 });
        assert_eq!(
            tool.call(call(asked)).await,
            Ok(ToolReturn::Signal {
                name: SignalName::new("paid").unwrap(),
                within: Some(Duration::from_secs(90))
            })
        );
        let name = "x".repeat(65);
        for asked in [
            json!({ "name": "paid", "within_seconds": 0 }),
            json!({ "name": "paid", "within_seconds": WAIT_SECONDS_MAX + 1 }),
            json!({ "name": "", "within_seconds": 1 }),
            json!({ "name": "a b", "within_seconds": 1 }),
            json!({ "name": name, "within_seconds": 1 }),
        ] {
            assert!(!jsonschema::is_valid(&tool.spec().parameters, &asked), "{asked}");
            assert!(matches!(tool.call(call(asked)).await, Err(ToolError::Failed(_))));
        }
        assert!(
            !jsonschema::is_valid(&tool.spec().parameters, &json!({ "name": "paid" })),
            "no endless wait"
        );
    }
}
