//! The labels by which sessions are listed: the agent, and the program that created the session.

use std::path::Path;

use holdover_core::ids::QueueLabel;
use holdover_core::payload::Payload;
use holdover_core::store::{Labels, Session};

use super::recorded::AgentRecord;
use crate::agent::{Definition, of_agent};

/// Returns the label of a session's agent: its name, and `@version` if it has one. If the queue is not named
/// after the agent, the label is made from the session's labels.
pub fn agent_label(queue: &QueueLabel, labels: &Labels) -> String {
    let Some(name) = labels.0.get(Labels::AGENT) else { return queue.to_string() };
    match (is_version_of(queue.as_str(), name), labels.0.get(Labels::AGENT_VERSION)) {
        (true, _) => queue.to_string(),
        (false, Some(version)) => format!("{name}@{version}"),
        (false, None) => name.clone(),
    }
}

/// Returns true if `label` is the label of an agent with this name, in any version.
pub(super) fn is_version_of(label: &str, name: &str) -> bool {
    label.strip_prefix(name).is_some_and(|version| version.is_empty() || version.starts_with('@'))
}

/// Returns true if the agent of a session has this name, in any version.
pub(super) fn is_of(session: &Session, name: &str) -> bool {
    is_version_of(session.queue.as_str(), name)
        || name_in(&session.definition).is_some_and(|found| found == name)
}

fn name_in(definition: &Payload) -> Option<String> {
    Definition::read(definition).ok().map(|definition| definition.spec.name)
}

/// Returns `labels` with the runtime's own added. Labels that are set already are kept.
pub(super) fn labelled(labels: Labels, agent: &AgentRecord, program: &str) -> Labels {
    let labels = of_agent(labels, &agent.name, agent.version.as_deref());
    if labels.0.contains_key(Labels::PROGRAM) {
        return labels;
    }
    labels.with_if_room(Labels::PROGRAM, program)
}

/// Returns the default name of this program: the name of its executable, cut to the length of a label.
pub(super) fn own_program() -> String {
    let own = std::env::current_exe().ok();
    let stem = own.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    fitting(stem.unwrap_or_default())
}

/// Returns `name`, cut to the length of a label.
pub(super) fn fitting(mut name: String) -> String {
    name.truncate(name.floor_char_boundary(Labels::TEXT_BYTES_MAX));
    name
}
