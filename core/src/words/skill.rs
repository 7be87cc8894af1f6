//! Skills: instructions that a model reads when it needs them.

use std::sync::Arc;

use crate::words::provision::Provisioner;
use crate::words::tool::Tool;

/// The tool by which a model reads a skill.
pub const READ_SKILL: &str = "read_skill";

/// A skill as the system prompt lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillEntry {
    /// The name of the skill.
    pub name: String,
    /// The purpose of the skill, in one line.
    pub description: String,
}

/// The skills of an agent: an index for the prompt, bodies on demand.
pub trait SkillSet: Send + Sync + 'static {
    /// All skills, in the order in which they are listed. The same for as long as the set lives.
    fn index(&self) -> Vec<SkillEntry>;

    /// The tool [`READ_SKILL`], which is read-only.
    fn tool(&self) -> Arc<dyn Tool>;

    /// The provisioner that reads the bodies when a turn is provisioned, whatever the turn's prompt is. An
    /// error ends the turn.
    fn provisioner(&self) -> Arc<dyn Provisioner>;
}
