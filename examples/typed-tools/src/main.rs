//! Three typed tools, and an agent that uses them.
#![allow(clippy::print_stdout, reason = "a program that shows what came of it")]

mod tools;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use holdover::model::{Script, ScriptedModel};
use holdover::prelude::*;
use holdover::session::Message;
use holdover::store::SqliteOptions;

use crate::tools::Warehouse;

/// The script of the model.
const SCRIPT: &str = r#"
[[turns]]
when = { nth = 1 }
say = "I look what there is."
calls = [
    { tool = "stock", arguments = { article = 7 } },
    { tool = "stock", arguments = { article = 8 } },
    { tool = "stock", arguments = { article = "nine" } },
]

[[turns]]
when = { nth = 2 }
say = "There is enough of the seventh."
calls = [{ tool = "reserve", arguments = { article = 7, pieces = 3 } }]

[[turns]]
when = { nth = 3 }
calls = [{ tool = "ship", arguments = { article = 7, pieces = 3, to = { street = "Harbour 1", city = "Bergen" } } }]

[[turns]]
say = "Three pieces are on their way."
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let warehouse = Warehouse::with([(7, 12), (8, 0)]);
    let agent = Agent::builder("clerk")
        .version("1")
        .instructions("You send what customers order, if it is there.")
        .model(ScriptedModel::new("clerk", Script::from_toml(SCRIPT)?))
        .tool(warehouse.stock()?)
        .tool(warehouse.reserve()?)
        .tool(warehouse.ship()?);
    let agent = Arc::new(agent.build()?);
    let store = SqliteStore::open(SqliteOptions::new(folder.join("warehouse.db"))).await?;
    let runtime = Runtime::new(store, Agents::new().with(Arc::clone(&agent)), RuntimeOptions::default());
    let run = runtime
        .execute(Execute::new(TenantId::new("acme")?, agent, "Three of article 7, to Bergen."))
        .await?;
    let session = run.key().clone();
    let said = run.text().await?;
    for entry in runtime.messages(&session).await? {
        if let Message::Tool(result) = entry.message {
            println!("{}: {}", result.tool, result.content);
        }
    }
    println!("{said}");
    Ok(())
}
