//! Describes the capabilities of a store as promises.

use holdover_core::store::{Capabilities, CommitSurvives, SharedBy};
use holdover_core::tool::EffectClass;

/// Returns the promises of the store, one sentence each.
pub(super) fn in_words(capabilities: &Capabilities) -> Vec<String> {
    let survives = match capabilities.commit_survives {
        CommitSurvives::Nothing => match capabilities.shared_by {
            SharedBy::Process => "a commit survives nothing: it lives in this process",
            SharedBy::Machine | SharedBy::Network => {
                "a commit may be lost at any time: it is acknowledged before it is kept"
            }
        },
        CommitSurvives::ProcessKill => {
            "a commit survives the death of its process, but the last ones may be lost in a power cut"
        }
        CommitSurvives::PowerCut => "a commit survives the death of its process, and a power cut",
        CommitSurvives::Failover => "a commit survives the loss of the server that acknowledged it",
    };
    let shared = match capabilities.shared_by {
        SharedBy::Process => "one process may use it",
        SharedBy::Machine => "processes of one machine may share it",
        SharedBy::Network => "processes of many machines may share it",
    };
    let hints = if capabilities.change_hints_across_processes {
        "; they hear of each other's changes"
    } else {
        "; they look for each other's changes once a second"
    };
    let classes = effects(capabilities).join(", ");
    let largest = capabilities.payload_bytes_max / (1024 * 1024);
    vec![
        survives.to_owned(),
        format!("{shared}{hints}"),
        format!("tools of these classes run on it: {classes}"),
        format!("a message or a result may have {largest} MiB"),
        format!(
            "{}; {}",
            can(capabilities.forks, "fork sessions"),
            can(capabilities.retention, "remove them by age")
        ),
    ]
}

fn can(does: bool, what: &str) -> String {
    format!("it {} {what}", if does { "can" } else { "cannot" })
}

/// Returns the effect classes, and the flag `dangerous`, that the engine accepts on the store. An at-most-once call
/// requires a start mark that survives the death of its process.
pub(super) fn effects(capabilities: &Capabilities) -> Vec<&'static str> {
    let mut classes = vec![EffectClass::ReadOnly.as_str(), EffectClass::Idempotent.as_str()];
    if capabilities.commit_survives >= CommitSurvives::ProcessKill {
        classes.extend([EffectClass::AtMostOnce.as_str(), "dangerous"]);
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_store_can_protect_runs_on_it() {
        let of = |commit_survives| {
            effects(&Capabilities {
                backend: String::new(),
                commit_survives,
                shared_by: SharedBy::Process,
                change_hints_across_processes: false,
                forks: false,
                retention: false,
                payload_bytes_max: 0,
                commit_bytes_max: 0,
                settings: Vec::new(),
            })
        };
        assert_eq!(of(CommitSurvives::Nothing), ["read_only", "idempotent"]);
        assert_eq!(of(CommitSurvives::ProcessKill), ["read_only", "idempotent", "at_most_once", "dangerous"]);
    }
}
