//! The policy.

use async_trait::async_trait;
use holdover::gates::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover::hooks::{AfterTool, Hook, HookError, HookPoint, OnFailure, ToolEnded};
use holdover::tools::ToolOutput;
use serde_json::Value;

/// Bills up to a bound are paid unasked; about others a person decides.
pub(crate) struct Budget {
    pub(crate) cents_unasked: u64,
}

#[async_trait]
impl PolicyGate for Budget {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        if question.tool.as_str() != "pay" {
            return Ok(Verdict::Allow);
        }
        // The arguments fit the tool's schema; what cannot be read all the same is no reason to pay.
        let asked: Value =
            serde_json::from_str(&question.arguments).map_err(|error| GateError(error.to_string()))?;
        let cents = asked["cents"].as_u64().ok_or_else(|| GateError("cents: is no number".into()))?;
        Ok(match cents <= self.cents_unasked {
            true => Verdict::Allow,
            false => Verdict::ask(format!("it is more than {} cents", self.cents_unasked)),
        })
    }
}

/// What an account is called at the bank is nobody's business: neither the store nor the model sees it.
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

    /// What it could not look at is withheld.
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
