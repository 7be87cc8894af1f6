//! Hooks on the result of a tool.

use std::sync::Arc;

use holdover_core::hook::{AfterTool, HookPoint, ToolEnded};
use holdover_core::ids::ToolName;
use holdover_core::tool::{ToolError, ToolReturn};

use super::{Failed, Hooks};

impl Hooks {
    pub(crate) fn concern_calls_of(&self, tool: &ToolName) -> bool {
        let mut points = [HookPoint::BeforeTool, HookPoint::BeforeSubAgent].into_iter();
        points.any(|point| self.of_tool(point, tool).next().is_some())
    }

    /// Returns the result after the hooks have kept, rewritten or rejected it.
    pub(crate) async fn after_tool(
        &self,
        call: ToolEnded,
        result: Result<ToolReturn, ToolError>,
    ) -> Result<ToolReturn, ToolError> {
        if let Ok(ToolReturn::Signal { .. }) = &result {
            // There is no result yet.
            return result;
        }
        let returned = result.ok();
        let mut call = call;
        for hooked in self.of_tool(HookPoint::AfterTool, &call.tool.clone()) {
            let (hook, told) = (Arc::clone(&hooked.hook), call.clone());
            let word = hooked.ask(HookPoint::AfterTool, async move { hook.after_tool(&told).await }).await;
            match word {
                Ok(None | Some(AfterTool::Keep)) => {}
                Ok(Some(AfterTool::Rewrite(output))) => {
                    call.result = call
                        .result
                        .map_or_else(|was| Err(reworded(was, &output.content)), |_| Ok(output.clone()));
                }
                Ok(Some(AfterTool::Reject { reason })) => call.result = Err(rejected(call.result, &reason)),
                // The hook's error text is left out, because it may contain the content that the hook was to
                // withhold.
                Err(Failed { what, .. }) => return Err(rejected(call.result, &withheld(&what))),
            }
        }
        call.result.map(|output| match returned {
            Some(returned) => returned.map(|_| output),
            None => ToolReturn::Output(output),
        })
    }

    /// Returns the result of a call of which no hook was told, for this reason. If the failure of a hook would withhold
    /// results of this tool, rejects the result instead.
    pub(crate) fn unseen(
        &self,
        tool: &ToolName,
        result: Result<ToolReturn, ToolError>,
        because: &str,
    ) -> Result<ToolReturn, ToolError> {
        match self.withholds(tool) {
            Some(hook) => {
                let why = withheld(&format!("the hook {hook} was not heard, as {because}"));
                Err(rejected(result, &why))
            }
            None => result,
        }
    }

    pub(crate) fn look_at_results_of(&self, tool: &ToolName) -> bool {
        self.of_tool(HookPoint::AfterTool, tool).next().is_some()
    }
}

fn withheld(why: &str) -> String {
    format!("the result is withheld: {why}")
}

/// Replaces the text of an error and keeps its kind: a hook cannot change whether the call has acted.
fn reworded(error: ToolError, text: &str) -> ToolError {
    match error {
        ToolError::Failed(_) => ToolError::Failed(text.to_owned()),
        ToolError::NotRun(_) => ToolError::NotRun(text.to_owned()),
        ToolError::Transient { detail: _, wait } => ToolError::Transient { detail: text.to_owned(), wait },
        ToolError::Lost(_) => ToolError::Lost(text.to_owned()),
    }
}

fn rejected<T>(result: Result<T, ToolError>, text: &str) -> ToolError {
    match result {
        Ok(_) => ToolError::Failed(text.to_owned()),
        Err(error) => reworded(error, text),
    }
}
