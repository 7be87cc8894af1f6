//! An agent that pays a bill once a person approves it, and a record of the payments.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::Message;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bill {
    amount: u32,
}

/// A model that asks for one payment, and then says how it ended.
struct Payer;

#[async_trait]
impl Model for Payer {
    fn name(&self) -> &str {
        "scripted:payer"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let part = match request.messages.last().map(AsRef::as_ref) {
            Some(Message::Tool(result)) => AnswerPart::Text(format!("it ended: {:?}", result.status)),
            _ => AnswerPart::Call { tool: "pay".into(), arguments: "{\"amount\": 12}".into() },
        };
        let stop = match part {
            AnswerPart::Call { .. } => StopReason::ToolUse,
            AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => StopReason::EndTurn,
        };
        let answer = ModelAnswer { parts: vec![part], stop, usage: TokenUsage::default() };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

pub(crate) fn agent(folder: &Path) -> Arc<Agent> {
    let payments = payments(folder);
    let pay =
        FunctionTool::new(ToolName::new("pay").unwrap(), "Pays a bill", move |bill: Bill, call: ToolCall| {
            let payments = payments.clone();
            async move {
                // One write per line: even when two processes append at once, each line stays whole.
                let line = format!("{} {}\n", call.session.id, bill.amount);
                let mut file = OpenOptions::new().create(true).append(true).open(&payments);
                match file.as_mut().map(|file| file.write_all(line.as_bytes())) {
                    Ok(Ok(())) => Ok(ToolOutput::text("paid")),
                    Ok(Err(error)) => Err(ToolError::Lost(error.to_string())),
                    Err(error) => Err(ToolError::NotRun(error.to_string())),
                }
            }
        });
    let ask = ApprovalRule::new("pay", RuleAction::Ask);
    let agent = Agent::builder("payer").model(Payer).tool(pay).gate(RuleGate::new(vec![ask]));
    Arc::new(agent.build().unwrap())
}

fn payments(folder: &Path) -> PathBuf {
    folder.join("payments.txt")
}

pub(crate) fn times_paid(folder: &Path, session: &SessionKey) -> usize {
    let text = std::fs::read_to_string(payments(folder)).unwrap_or_default();
    text.lines().filter(|line| line.split(' ').next() == Some(session.id.as_str())).count()
}
