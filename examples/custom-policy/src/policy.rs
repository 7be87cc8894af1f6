//! The policy.

use async_trait::async_trait;
use holdover::{GateError, GateQuestion, PolicyGate, Verdict};
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
