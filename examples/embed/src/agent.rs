//! The agent: a clerk who makes refunds after a person has approved them.

use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdover::agent::Limits;
use holdover::model::{Model, ModelRef, Script, ScriptedModel, connect};
use holdover::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;

/// All versions of the clerk that a session may have begun with, with their instructions. A session keeps its version.
/// An old version can be removed when `Runtime::list` finds no more sessions in its queue.
const VERSIONS: [(&str, &str); 2] = [
    ("1", "You are a clerk. Look an order up, have its receipt scanned, then refund it."),
    (
        "2",
        "You are a clerk. Look an order up, have its receipt scanned, then refund it. When you cannot know \
         whether a refund happened, look the order up before you act again.",
    ),
];

/// The time that a person may take for an answer.
const A_WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    /// The order's number.
    order: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Refund {
    /// The order's number.
    order: u32,
    /// How much is paid back.
    cents: u32,
}

/// Returns the clerks of all versions. Without `model`, they use the built-in script.
pub(crate) fn clerks(model: Option<&ModelRef>, bank: &Bank) -> Result<Agents, Box<dyn Error>> {
    let model: Arc<dyn Model> = match model {
        Some(model) => connect(model)?,
        None => Arc::new(ScriptedModel::new("desk", Script::from_toml(include_str!("../script.toml"))?)),
    };
    let clerk =
        |(version, instructions)| clerk(version, instructions, Arc::clone(&model), bank).map(Arc::new);
    VERSIONS.into_iter().map(clerk).collect()
}

/// Returns a clerk of one version. It has a tool that only reads, a tool with an effect, and a tool that a client runs.
fn clerk(
    version: &str,
    instructions: &str,
    model: Arc<dyn Model>,
    bank: &Bank,
) -> Result<Agent, Box<dyn Error>> {
    // This tool only reads: after a crash, it runs again.
    let look_up = FunctionTool::with(
        bank.clone(),
        ToolName::new("look_up_order")?,
        "Tells what was paid for an order, and what was refunded",
        |bank, asked: Order, _call| bank.look_up(asked.order),
    )
    .effect(EffectClass::ReadOnly);
    // This tool has the default class, at most once: a call is never sent twice. After a crash in the middle, the call
    // is in doubt, and the model is told.
    let refund = FunctionTool::with(
        bank.clone(),
        ToolName::new("refund")?,
        "Pays money back to the customer",
        |bank, asked: Refund, _call| bank.refund(asked),
    );
    // This tool runs at the counter: the session waits until the counter posts the answer.
    let scan = FunctionTool::<Order>::on_client(ToolName::new("scan_receipt")?, "Scans an order's receipt");
    let a_person_first = ApprovalRule::new("refund", RuleAction::Ask).because("money leaves the house");
    let clerk = Agent::builder("clerk")
        .version(version)
        .instructions(instructions)
        .shared_model(model)
        .tool(look_up)
        .tool(refund)
        .tool(scan)
        .gate(RuleGate::new(vec![a_person_first]))
        .limits(Limits::default().answer_timeout_ms(Some(A_WEEK_MS)));
    Ok(clerk.build()?)
}

/// A simulated bank: each refund adds a line to a file.
#[derive(Clone)]
pub(crate) struct Bank {
    ledger: PathBuf,
    takes: Duration,
}

impl Bank {
    pub(crate) fn new(ledger: PathBuf, takes: Duration) -> Self {
        Self { ledger, takes }
    }

    async fn refund(self, asked: Refund) -> Result<ToolOutput, ToolError> {
        // One write appends the whole line, even if two processes append at once.
        let line = format!("{} {}\n", asked.order, asked.cents);
        let opened = OpenOptions::new().create(true).append(true).open(&self.ledger).await;
        // The kind of error says what is known: here nothing was sent; below, something may have been.
        let mut ledger = opened.map_err(ToolError::not_run)?;
        ledger.write_all(line.as_bytes()).await.map_err(ToolError::lost)?;
        ledger.flush().await.map_err(ToolError::lost)?;
        tokio::time::sleep(self.takes).await;
        Ok(ToolOutput::text(format!("refunded {} cents", asked.cents)))
    }

    async fn look_up(self, order: u32) -> Result<ToolOutput, ToolError> {
        let ledger = match tokio::fs::read_to_string(&self.ledger).await {
            Ok(ledger) => ledger,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(ToolError::failed(error)),
        };
        let number = order.to_string();
        let refunds = ledger.lines().filter_map(|line| line.split_once(' '));
        let refunded: u64 =
            refunds.filter(|(of, _)| *of == number).filter_map(|(_, cents)| cents.parse::<u64>().ok()).sum();
        Ok(ToolOutput::text(format!("order {order}: paid 1250 cents, refunded {refunded} cents")))
    }
}
