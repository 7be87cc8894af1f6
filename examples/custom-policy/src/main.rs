//! Combines a gate in code with rules, and adds a hook that filters results.
#![allow(clippy::print_stdout, reason = "a program that shows what came of it")]

mod policy;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use holdover::gates::StrictestGate;
use holdover::model::{Script, ScriptedModel};
use holdover::prelude::*;
use holdover::session::{InvalidId, Message};
use holdover::store::SqliteOptions;
use holdover::tools::{Access, ResourceProfile, RunsOn, Tool, ToolReturn, ToolSpec};
use serde_json::{Value, json};

use crate::policy::{Budget, NoAccounts};

/// The script of the model, which pays two bills and tries to close the account.
const SCRIPT: &str = r#"
[[turns]]
when = { nth = 1 }
calls = [
    { tool = "pay", arguments = { bill = "water", cents = 1200 } },
    { tool = "pay", arguments = { bill = "roof", cents = 900000 } },
    { tool = "close_account", arguments = {} },
]

[[turns]]
say = "The bills are seen to."
"#;

/// The number of the account. It must stay secret.
const ACCOUNT: &str = "DE02 1203";

/// A tool written by hand: its parameters are a JSON Schema.
struct Bank {
    spec: ToolSpec,
}

impl Bank {
    fn tool(name: &str, parameters: Value) -> Result<Self, InvalidId> {
        let spec = ToolSpec {
            name: ToolName::new(name)?,
            description: "What the bank does".into(),
            parameters,
            effect: EffectClass::AtMostOnce,
            dangerous: false,
            runs_on: RunsOn::Server,
            timeout_ms: None,
        };
        Ok(Self { spec })
    }
}

#[async_trait]
impl Tool for Bank {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _: &Value) -> ResourceProfile {
        ResourceProfile::key("account", Access::Write)
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        Ok(ToolOutput::text(format!("{} is done from {ACCOUNT}", call.arguments)).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let bill = json!({
        "type": "object",
        "properties": { "bill": { "type": "string" }, "cents": { "type": "integer", "minimum": 1 } },
        "required": ["bill", "cents"],
    });
    let rules =
        vec![ApprovalRule::new("close_*", RuleAction::Deny).because("accounts are closed at the counter")];
    let agent = Agent::builder("treasurer")
        .version("1")
        .model(ScriptedModel::new("treasurer", Script::from_toml(SCRIPT)?))
        .tool(Bank::tool("pay", bill)?)
        .tool(Bank::tool("close_account", json!({ "type": "object" }))?)
        .gate(StrictestGate::new().and(RuleGate::new(rules)).and(Budget { cents_unasked: 5_000 }))
        .hook(NoAccounts { account: ACCOUNT });
    let agent = Arc::new(agent.build()?);
    let store = SqliteStore::open(SqliteOptions::new(folder.join("bank.db"))).await?;
    let runtime = Runtime::new(store, Agents::new().with(Arc::clone(&agent)), RuntimeOptions::default());
    let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Pay what is due.")).await?;
    let session = run.key().clone();
    run.outcome().await?;
    // The bill for the roof waits for a person's approval.
    for asked in runtime.pending(&session).await? {
        let why = asked.body.prompt.unwrap_or_default();
        println!("asks: {} {} ({why})", asked.body.tool, asked.body.arguments);
        runtime.approve(&session, &asked.call.id, Approval::by("Ada")).await?;
    }
    let said = runtime.resume(&session).await?.text().await?;
    for entry in runtime.messages(&session).await? {
        if let Message::Tool(result) = entry.message {
            let by = result.denial.and_then(|denial| denial.rule).map(|rule| format!(" [{rule}]"));
            println!("{}: {}{}", result.tool, result.content, by.unwrap_or_default());
        }
    }
    println!("{said}");
    Ok(())
}
