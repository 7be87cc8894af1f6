//! Tests of folders, sources, the cache and pins. Requirement: C12.

#[cfg(feature = "skills-https")]
mod archives;
mod commits;
mod declared;

use holdover_core::tool::ToolReturn;
use serde_json::{Value, json};

use super::*;
use crate::testing::call;

const PDF: &str = "---\nname: pdf\ndescription: Reads PDF\n---\nUse it so.";

async fn run(skills: &Skills, arguments: Value) -> Result<String, String> {
    match skills.tool().call(call(arguments)).await {
        Ok(ToolReturn::Output(output)) => Ok(output.content),
        other => Err(other.unwrap_err().to_string()),
    }
}

async fn provision(skills: &Skills) -> Result<(), ErrorInfo> {
    skills.provisioner().provision(&call(json!({})).session, TurnNumber(1)).await
}

fn names(skills: &Skills) -> Vec<String> {
    skills.index().into_iter().map(|entry| entry.name).collect()
}

/// Returns the number of files in the cache.
fn kept(cache: &SkillCache) -> usize {
    std::fs::read_dir(cache.folder()).map_or(0, Iterator::count)
}
