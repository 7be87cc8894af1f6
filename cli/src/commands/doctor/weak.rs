//! Settings with which a store promises less than it could.

use holdover_core::store::Capabilities;

/// A setting, its weak value, the consequence, and a better value.
struct Weak {
    name: &'static str,
    value: &'static str,
    means: &'static str,
    better: &'static str,
}

const fn weak(name: &'static str, value: &'static str, means: &'static str, better: &'static str) -> Weak {
    Weak { name, value, means, better }
}

const WEAK: [Weak; 13] = [
    weak("synchronous", "normal", "a power cut may take the last commits back", "full"),
    weak("filesystem", "tmpfs", "it lies in memory, and goes with a power cut", "a disk"),
    weak("filesystem", "ramfs", "it lies in memory, and goes with a power cut", "a disk"),
    weak("synchronous_commit", "off", "the death of the server loses the last commits", "on"),
    weak("fsync", "off", "a power cut loses commits, and may break the database", "on"),
    weak("full_page_writes", "off", "a power cut may break the database", "on"),
    weak("appendonly", "no", "sessions lie in the server's memory, and go with it", "yes"),
    weak("appendfsync", "everysec", "the death of the server loses the last seconds", "always"),
    weak("appendfsync", "no", "a power cut loses what was not written to disk yet", "always"),
    weak("failover", "possible", "a replica that takes over may lack the last commits", "none"),
    weak(
        "failover",
        "unknown",
        "it is unknown whether a replica may take over, so the worst is assumed",
        "allow the command INFO",
    ),
    weak(
        "appendfsync",
        "unknown",
        "the setting is unknown, so the worst is assumed",
        "allow the command CONFIG GET",
    ),
    weak("no-appendfsync-on-rewrite", "yes", "nothing is synced while the log is rewritten", "no"),
];

/// Returns the settings that weaken the store, one sentence each.
pub(super) fn weakened(capabilities: &Capabilities) -> Vec<String> {
    let settings = capabilities.settings.iter();
    settings
        .flat_map(|(name, value)| {
            // The servers of a cluster may have different values.
            let is = move |weak: &&Weak| {
                weak.name == name && value.split([',', ':']).any(|one| one.trim() == weak.value)
            };
            WEAK.iter().filter(is).map(|weak| {
                let Weak { name, value, means, better } = weak;
                format!("{name} is {value}: {means}; better: {better}")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use holdover_core::store::{CommitSurvives, SharedBy};

    use super::*;

    #[test]
    fn what_weakens_a_store_is_named() {
        let of = |name: &str, value: &str| {
            weakened(&Capabilities {
                backend: String::new(),
                commit_survives: CommitSurvives::Nothing,
                shared_by: SharedBy::Network,
                change_hints_across_processes: false,
                forks: false,
                retention: false,
                payload_bytes_max: 0,
                commit_bytes_max: 0,
                settings: vec![(name.to_owned(), value.to_owned())],
            })
        };
        let lazy = "synchronous_commit is off: the death of the server loses the last commits; better: on";
        assert_eq!(of("synchronous_commit", "off"), [lazy]);
        assert_eq!(of("synchronous_commit", "on"), [""; 0]);
        assert_eq!(of("appendfsync", "always, everysec").len(), 1, "one server of a cluster");
        assert_eq!(of("appendfsync", "unknown: CONFIG is forbidden, so no more").len(), 1);
        assert_eq!(of("appendfsync", "always").len(), 0);
    }
}
