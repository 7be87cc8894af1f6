//! `skills list`, `skills fetch`: the skills of an agent file.

use std::path::Path;

use holdover_tools::{SkillPin, SkillPlace};
use serde_json::{Value, json};

use crate::agent_file::{self, Instead};
use crate::args::{Common, OfAgent, Skills};
use crate::exit::{Exit, Failure};
use crate::print::{Out, inline};
use crate::skills;

/// Reads the skills of an agent file, and prints them or their sources.
pub(crate) async fn skills(common: &Common, what: &Skills) -> Result<Exit, Failure> {
    let out = Out::new(common);
    let (Skills::List(OfAgent { agent }) | Skills::Fetch(OfAgent { agent })) = what;
    let read = read(agent).await?;
    if let Skills::List(_) = what {
        for (skill, _) in read.listed() {
            out.line(inline(&format!("{}: {}", skill.name, skill.description)));
        }
    }
    for pin in read.pins() {
        out.line(inline(&source(pin)));
    }
    if read.pins().is_empty() {
        out.line(out.dim("the agent has no skills"));
    }
    let listed = read.listed().map(|(skill, pin)| {
        json!({ "name": skill.name, "description": skill.description, "source": pin.source().name() })
    });
    out.object(&json!({
        "skills": listed.collect::<Vec<Value>>(),
        "sources": read.pins().iter().map(source_as_json).collect::<Vec<Value>>(),
    }));
    Ok(Exit::Completed)
}

async fn read(file: &Path) -> Result<holdover_tools::Skills, Failure> {
    let blueprint = agent_file::read(file, &Instead::default())?;
    let read = skills::fetch(&blueprint.recipe.skills).await;
    read.map_err(|why| Failure::wrong_use(format!("{}: {why}", file.display())))
}

/// Describes a source and its digest on one line.
pub(crate) fn source(pin: &SkillPin) -> String {
    let source = pin.source();
    let mut told = format!("source {}: {}", source.name().unwrap_or("-"), source.address());
    let inner = match source.place() {
        SkillPlace::Archive { folder, .. } => folder.as_str(),
        SkillPlace::Git { folder, commit, .. } => {
            told.push_str(&format!(", commit {commit}"));
            folder
        }
        SkillPlace::Folder(_) => "",
        // Every variant of this version is named above; the lint finds missing ones.
        _ => "",
    };
    if !inner.is_empty() {
        told.push_str(&format!(", folder {inner}"));
    }
    match pin.digest() {
        Some(digest) => told.push_str(&format!(", sha256:{digest}")),
        None => told.push_str(", not pinned"),
    }
    told
}

/// Returns a source as its table in an agent file, with its digest.
pub(crate) fn source_as_json(pin: &SkillPin) -> Value {
    // A folder without a name is its path alone.
    let mut table = match json!(pin.source()).as_object() {
        Some(table) => table.clone(),
        None => [("folder".to_owned(), json!(pin.source().address()))].into_iter().collect(),
    };
    // The query of an address may hold a secret.
    if table.contains_key("url") {
        table.insert("url".to_owned(), json!(pin.source().address()));
    }
    table.insert("digest".to_owned(), json!(pin.digest()));
    Value::Object(table)
}
