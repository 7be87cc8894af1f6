//! The tool `sleep`.

use std::time::Duration;

use holdover_core::ids::ToolName;
use holdover_core::tool::{EffectClass, ResourceProfile, ToolError, ToolOutput, ToolReturn};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::FunctionTool;

/// The maximum length of a sleep, in seconds: 30 days.
const SLEEP_SECONDS_MAX: u64 = 30 * 24 * 60 * 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sleep {
    /// How long, in seconds: at least 1, at most 2592000 (30 days).
    #[schemars(range(min = 1, max = SLEEP_SECONDS_MAX))]
    seconds: u64,
}

/// Returns a tool that waits durably: no task runs during the wait, and the wait survives the end of the process.
pub(crate) fn sleep(name: ToolName) -> FunctionTool<Sleep> {
    FunctionTool::new(
        name,
        "Waits for some seconds, up to 30 days, before you go on. The wait is durable and costs nothing.",
        |asked: Sleep, _| async move {
            let seconds = asked.seconds;
            if !(1..=SLEEP_SECONDS_MAX).contains(&seconds) {
                return Err(ToolError::Failed(format!(
                    "seconds: {seconds} is not in 1..={SLEEP_SECONDS_MAX}"
                )));
            }
            Ok(ToolReturn::After {
                delay: Duration::from_secs(seconds),
                output: ToolOutput::text(format!("{seconds} s have passed")),
            })
        },
    )
    .effect(EffectClass::Idempotent)
    .resources(|_| ResourceProfile::Keys(Vec::new()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Fixture, call};

    #[tokio::test]
    async fn it_answers_with_a_durable_wait_within_its_bounds() {
        let tool = Fixture::new(&[]).tool("sleep");
        assert_eq!(
            tool.call(call(json!({ "seconds": 90 }))).await,
            Ok(ToolReturn::After {
                delay: Duration::from_secs(90),
                output: ToolOutput::text("90 s have passed")
            })
        );
        for seconds in [0, SLEEP_SECONDS_MAX + 1] {
            let arguments = json!({ "seconds": seconds });
            assert!(!jsonschema::is_valid(&tool.spec().parameters, &arguments));
            assert!(matches!(tool.call(call(arguments)).await, Err(ToolError::Failed(_))));
        }
    }
}
