//! An editor gives questions to researchers and joins their answers. Each researcher works in its own session. The editor is
//! an agent, or with `--flow` code.
#![allow(clippy::print_stdout, reason = "a program that shows what came of it")]

mod notes;
mod planned;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use holdover::agent::{Limits, SubAgent};
use holdover::model::{Model, ModelRef, Script, ScriptedModel, connect};
use holdover::prelude::*;
use holdover::store::SqliteOptions;

use crate::notes::search;
use crate::planned::Question;

const QUESTION: &str = "Which is the longest: the Elbe, the Weser or the Rhine?";

/// Returns the model that the second argument names, such as `openai:NAME` or `anthropic:NAME`. Without the argument,
/// returns a scripted model.
fn model(named: Option<&str>) -> Result<Arc<dyn Model>, Box<dyn Error>> {
    match named {
        Some(name) => Ok(connect(&name.parse::<ModelRef>()?)?),
        None => Ok(Arc::new(ScriptedModel::new("research", Script::from_toml(include_str!("script.toml"))?))),
    }
}

fn editor(model: Arc<dyn Model>) -> Result<Arc<Agent>, Box<dyn Error>> {
    let researcher =
        SubAgent::new("researcher", "Answers questions from the notes: one question for each task")
            .instructions("You answer one question. Search the notes, and name the note that says it.")
            .tools([ToolName::new("search")?])
            .limits(Limits::default().max_steps(6));
    let editor = Agent::builder("editor")
        .version("1")
        .instructions("You are an editor. Give each question of fact to a researcher, all in one call.")
        .shared_model(model)
        .shared_tool(search()?)
        .sub_agent(researcher);
    Ok(Arc::new(editor.build()?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let planned = arguments.next_if(|first| first == "--flow").is_some();
    let folder = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    let model = model(arguments.next().as_deref())?;
    let store = SqliteStore::open(SqliteOptions::new(folder.join("research.db"))).await?;
    let tenant = TenantId::new("acme")?;
    let (agent, request) = if planned {
        let flow = planned::flow(&model)?;
        let rivers = ["Elbe", "Weser", "Rhine"].map(str::to_owned).to_vec();
        let question = Question { asked: QUESTION.to_owned(), rivers };
        (Arc::clone(flow.agent()), flow.execute(tenant, &question)?)
    } else {
        let agent = editor(model)?;
        (Arc::clone(&agent), Execute::new(tenant, agent, QUESTION))
    };
    let runtime = Runtime::new(store, Agents::new().with(agent), RuntimeOptions::default());
    // The key ensures that the question is asked once: a restarted program continues where the killed one stopped.
    let key = if planned { "the rivers, as a flow" } else { "the rivers" };
    let run = runtime.execute(request.once(ItemKey::new(key)?)).await?;
    let session = run.key().clone();
    run.text().await?;

    let tree = runtime.tree(&session, true).await?;
    for entry in &tree.entries {
        let child = entry.session.key.clone();
        let said = runtime.response(&child).await?.and_then(|response| response.text).unwrap_or_default();
        let label = entry.session.queue.as_str();
        let who = label.rsplit('>').next().and_then(|name| name.split('@').next()).unwrap_or(label);
        println!("{}{who}: {said}", if entry.depth == 0 { "" } else { "  " });
    }
    println!("{} model calls", tree.usage.model_calls);
    Ok(())
}
