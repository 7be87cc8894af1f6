//! A gate for payments, and a hook that hides the account number.

use async_trait::async_trait;
use holdover::gates::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover::hooks::{AfterTool, Hook, HookError, HookPoint, OnFailure, ToolEnded};
use holdover::tools::ToolOutput;
use serde_json::Value;

/// A gate that allows bills up to a bound. For larger bills it requires a person's approval.
pub(crate) struct Budget {
    pub(crate) cents_unasked: u64,
}

#[async_trait]
impl PolicyGate for Budget {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        if question.tool.as_str() != "pay" {
            return Ok(Verdict::Allow);
        }
        // The arguments were checked against the tool's schema. Arguments that cannot be read anyway give an error,
        // which denies the call.
        let asked: Value =
            serde_json::from_str(&question.arguments).map_err(|error| GateError(error.to_string()))?;
        let cents = asked["cents"].as_u64().ok_or_else(|| GateError("cents: is no number".into()))?;
        Ok(match cents <= self.cents_unasked {
            true => Verdict::Allow,
            false => Verdict::ask(format!("it is more than {} cents", self.cents_unasked)),
        })
    }
}

/// A hook that hides the account number: neither the store nor the model sees it.
pub(crate) struct NoAccounts {
    pub(crate) account: &'static str,
}

#[async_trait]
impl Hook for NoAccounts {
    fn name(&self) -> &str {
        "no_accounts"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::AfterTool]
    }

    /// Withholds a result if the hook fails.
    fn on_failure(&self, _: HookPoint) -> OnFailure {
        OnFailure::Closed
    }

    async fn after_tool(&self, call: &ToolEnded) -> Result<AfterTool, HookError> {
        let told = match &call.result {
            Ok(output) => output.clone(),
            Err(error) => ToolOutput::text(error.to_string()),
        };
        Ok(match told.content.contains(self.account) {
            true => {
                let content = told.content.replace(self.account, "****");
                AfterTool::Rewrite(ToolOutput { content, ..told })
            }
            false => AfterTool::Keep,
        })
    }
}
