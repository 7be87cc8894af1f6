//! `sessions tree`: shows a session and its children.

use holdover_core::phrases;
use holdover_runtime_local::{TreeEntry, agent_label};
use serde_json::{Value, json};

use crate::args::Tree;
use crate::exit::Failure;
use crate::front::Front;
use crate::print::{counted, human, inline, usage};

/// Shows a session with the children that its calls wait for, its background children, and their children.
pub(super) async fn tree(front: &Front, args: &Tree) -> Result<(), Failure> {
    let root = front.session(&args.session).await?;
    let tree = front.runtime.tree(&root.key, args.all).await?;
    let lines: Vec<(String, String, &TreeEntry)> = tree
        .entries
        .iter()
        .map(|entry| {
            let indent = "  ".repeat(usize::try_from(entry.depth).unwrap_or_default());
            let agent = agent_label(&entry.session.queue, &entry.session.labels);
            (format!("{indent}{}", inline(entry.session.key.id.as_str())), inline(&agent), entry)
        })
        .collect();
    let width =
        |of: &dyn Fn(&(String, String, &TreeEntry)) -> usize| lines.iter().map(of).max().unwrap_or_default();
    let (id, agent) =
        (width(&|(id, _, _)| id.chars().count()), width(&|(_, agent, _)| agent.chars().count()));
    for (name, called, entry) in &lines {
        let tokens = counted(entry.usage.tokens.total(), "token");
        front.out.line(format!("{name:<id$}  {called:<agent$}  {}; {tokens}", inline(&standing(entry))));
        front.out.object(&as_json(entry));
    }
    front.out.line(front.out.dim(&format!("in all: {}", usage::in_words(&tree.usage))));
    front.out.object(&json!({ "usage": tree.usage }));
    Ok(())
}

fn standing(entry: &TreeEntry) -> String {
    match &entry.outcome {
        Some(outcome) if entry.session.lease.is_none() => human::outcome(outcome),
        Some(_) | None => phrases::status(entry.session.status).to_owned(),
    }
}

fn as_json(entry: &TreeEntry) -> Value {
    let session = &entry.session;
    let place = entry.place.as_ref();
    json!({
        "session": session.key.id,
        "depth": entry.depth,
        "parent": place.map(|place| &place.parent),
        "call": place.map(|place| &place.call),
        "index": place.map(|place| place.index),
        "waits": place.map(|_| entry.waits),
        "agent": agent_label(&session.queue, &session.labels),
        "status": session.status,
        "outcome": entry.outcome.as_ref().map(|outcome| outcome.kind()),
        "usage": entry.usage,
    })
}
