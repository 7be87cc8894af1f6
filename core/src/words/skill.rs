//! Skills: instructions that a model reads when it needs them.

use std::sync::Arc;

use crate::words::provision::Provisioner;
use crate::words::tool::Tool;

/// The name of the tool with which a model reads a skill.
pub const READ_SKILL: &str = "read_skill";

/// A skill as the system prompt lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillEntry {
    /// The name of the skill.
    pub name: String,
    /// The purpose of the skill, in one line.
    pub description: String,
}

/// The skills of an agent. The prompt lists them, and the model reads their bodies on demand.
pub trait SkillSet: Send + Sync + 'static {
    /// Returns all skills, in the order in which the prompt lists them. The result must not change.
    fn index(&self) -> Vec<SkillEntry>;

    /// Returns the tool called [`READ_SKILL`], which is read-only.
    fn tool(&self) -> Arc<dyn Tool>;

    /// Returns the provisioner that reads the bodies of the skills before each turn, even if the turn has a
    /// different system prompt. An error ends the turn.
    fn provisioner(&self) -> Arc<dyn Provisioner>;
}
