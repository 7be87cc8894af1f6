//! The same research as a flow: code knows the questions, and agents answer them.

use std::error::Error;
use std::sync::Arc;

use holdover::agent::{Limits, SubAgent};
use holdover::flow::{Cx, Flow, Stop};
use holdover::model::Model;
use holdover::prelude::*;
use serde::{Deserialize, Serialize};

use crate::notes::search;

/// A question about rivers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) asked: String,
    pub(crate) rivers: Vec<String>,
}

/// Gives each river to a researcher, and all answers to a writer.
async fn research(cx: Cx, question: Question) -> Result<String, Stop> {
    let tasks = question.rivers.iter().map(|river| format!("How long is the {river}?"));
    let answers = cx.agent_each("researcher", tasks).await?;
    // An answer that is missing does not stop the others.
    let found: Vec<String> =
        answers.into_iter().map(|answer| answer.unwrap_or_else(|error| error.to_string())).collect();
    Ok(cx.agent("writer", format!("{}\n{}", question.asked, found.join("\n"))).await?)
}

/// Returns the flow, whose agents all have this model.
pub(crate) fn flow(model: &Arc<dyn Model>) -> Result<Flow<Question, String>, Box<dyn Error>> {
    let researcher = SubAgent::new("researcher", "Answers a question from the notes")
        .instructions("You answer one question. Search the notes, and name the note that says it.")
        .shared_model(Arc::clone(model))
        .tools([ToolName::new("search")?])
        .limits(Limits::default().max_steps(6))
        .fan_out_max(100);
    let writer = SubAgent::new("writer", "Writes the answer")
        .instructions("You write one sentence from what researchers have found.")
        .shared_model(Arc::clone(model));
    let flow = Flow::builder("research", research).version("1").tools([search()?]);
    Ok(flow.agent(researcher).agent(writer).build()?)
}
