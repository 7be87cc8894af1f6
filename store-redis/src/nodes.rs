//! The nodes of a cluster, as one of them reports them.

use std::collections::BTreeSet;

use crate::error::Fault;

/// The number of fields before the slots in a line of `CLUSTER NODES`.
const SLOTS: usize = 8;

/// The nodes of a cluster as one of them reports them, including those that are away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// The id of the reporting node.
    myself: String,
    /// The masters that have slots.
    owners: BTreeSet<String>,
    pub(crate) replicas: u64,
}

impl Nodes {
    /// Reads the answer to `CLUSTER NODES`.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        let mut nodes = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let (Some(id), Some(flags)) = (words.next(), words.nth(1)) else {
                return Err(Fault::Corrupt("CLUSTER NODES: a line is cut short".into()));
            };
            let is = |flag| flags.split(',').any(|word| word == flag);
            if is("myself") {
                id.clone_into(&mut nodes.myself);
            }
            // A slot that is only moving is named in brackets.
            let has_slots = line.split(' ').skip(SLOTS).any(|slots| !slots.starts_with('['));
            if is("slave") {
                nodes.replicas += 1;
            } else if has_slots {
                nodes.owners.insert(id.to_owned());
            }
        }
        Ok(nodes)
    }
}

/// Returns a master with slots that some node reports but that is not among the reporting nodes, if there is one.
pub(crate) fn silent<'a>(said: impl Iterator<Item = &'a Nodes> + Clone) -> Option<&'a str> {
    let mut owners = said.clone().flat_map(|nodes| &nodes.owners);
    owners.find(|owner| said.clone().all(|nodes| nodes.myself != **owner)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen_by(myself: &str) -> Nodes {
        let lines = [
            ("a", "master", "1 connected 0-100 7000"),
            ("b", "slave", "1 connected"),
            ("c", "slave,fail", "1 disconnected"),
            ("d", "master,fail", "1 disconnected 101-16383"),
            ("e", "master", "1 connected [5->-a]"),
        ];
        let line = |(id, flags, rest)| {
            let myself = if id == myself { "myself," } else { "" };
            format!("{id} 127.0.0.1:1@2 {myself}{flags} - 0 0 {rest}\n")
        };
        Nodes::read(&lines.map(line).concat()).unwrap()
    }

    #[test]
    fn replicas_that_are_away_are_counted() {
        assert_eq!(seen_by("a").replicas, 2);
    }

    #[test]
    fn a_master_that_has_slots_and_said_nothing_is_missed() {
        assert_eq!(silent([seen_by("a")].iter()), Some("d"));
        assert_eq!(silent([seen_by("a"), seen_by("d")].iter()), None, "one without slots is not needed");
        assert_eq!(silent([seen_by("d"), seen_by("e")].iter()), Some("a"));
    }

    #[test]
    fn what_is_cut_short_is_corrupt() {
        assert!(Nodes::read("a 127.0.0.1:1@2").is_err());
        assert_eq!(Nodes::read("").unwrap(), Nodes::default());
    }
}
