//! The tool `ask_user`.

use holdover_core::ids::ToolName;
use holdover_core::tool::{EffectClass, ResourceProfile};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::FunctionTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "whoever follows the session reads them; here they only give the schema")]
pub(crate) struct AskUser {
    /// The question, in full: whoever answers may not have followed the work.
    #[schemars(length(min = 1, max = 10_000))]
    question: String,
    /// Answers to choose from; any other answer may come as well.
    #[schemars(length(max = 20))]
    choices: Option<Vec<String>>,
}

/// Returns a tool that asks the user who follows the session, and waits durably for the answer. The tool is
/// `read_only`, because asking changes nothing outside: a question that is open when the turn is stopped is not in
/// doubt.
pub(crate) fn ask_user(name: ToolName) -> FunctionTool<AskUser> {
    FunctionTool::on_client(
        name,
        "Asks the user a question and waits for the answer. Use it only when the answer changes what you do next.",
    )
    .effect(EffectClass::ReadOnly)
    .resources(|_| ResourceProfile::Keys(Vec::new()))
}

#[cfg(test)]
mod tests {
    use holdover_core::tool::ToolError;
    use serde_json::json;

    use crate::testing::{Fixture, call};

    #[tokio::test]
    async fn it_is_never_run_here() {
        let tool = Fixture::new(&[]).tool("ask_user");
        let end = tool.call(call(json!({ "question": "Which one?", "choices": ["a", "b"] }))).await;
        assert!(matches!(end, Err(ToolError::NotRun(_))), "{end:?}");
    }
}
