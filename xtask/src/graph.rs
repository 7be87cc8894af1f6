//! A directed graph of names, and its cycles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A set of arrows between names. Each arrow has a reason.
#[derive(Debug, Clone)]
pub struct Graph<T> {
    arrows: BTreeMap<String, BTreeMap<String, T>>,
}

impl<T> Default for Graph<T> {
    fn default() -> Self {
        Self { arrows: BTreeMap::new() }
    }
}

impl<T> Graph<T> {
    /// Adds an arrow. If there is one already, its reason is kept.
    pub fn add(&mut self, from: &str, to: &str, why: T) {
        self.arrows.entry(from.to_owned()).or_default().entry(to.to_owned()).or_insert(why);
    }

    /// Removes an arrow and returns its reason, or `None` if there is no such arrow.
    pub fn remove(&mut self, from: &str, to: &str) -> Option<T> {
        self.arrows.get_mut(from)?.remove(to)
    }

    /// Returns the reason of an arrow, or `None` if there is no such arrow.
    pub fn why(&self, from: &str, to: &str) -> Option<&T> {
        self.arrows.get(from)?.get(to)
    }

    /// Returns the shortest path along the arrows, including both ends. A path from a name to itself is a cycle.
    /// Returns `None` if there is no path.
    pub fn way(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next = VecDeque::from([from]);
        while let Some(name) = next.pop_front() {
            let (name, targets) = self.arrows.get_key_value(name)?;
            for target in targets.keys() {
                if target == to {
                    let mut way = vec![target.clone(), name.clone()];
                    let mut at = name.as_str();
                    while at != from {
                        at = before.get(at)?;
                        way.push(at.to_owned());
                    }
                    way.reverse();
                    return Some(way);
                }
                if target != from && self.arrows.contains_key(target) && !before.contains_key(&**target) {
                    before.insert(target, name);
                    next.push_back(target);
                }
            }
        }
        None
    }

    /// Returns the shortest cycle through each name, in the order of their lengths. A cycle that shares a name with an
    /// earlier one is left out.
    pub fn cycles(&self) -> Vec<Vec<String>> {
        let mut told = BTreeSet::new();
        let mut cycles: Vec<_> = self.arrows.keys().filter_map(|name| self.way(name, name)).collect();
        cycles.sort_by_key(Vec::len);
        cycles.retain(|cycle| {
            let fresh = cycle.iter().all(|name| !told.contains(name));
            told.extend(cycle.iter().cloned());
            fresh
        });
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(arrows: &[(&str, &str)]) -> Graph<()> {
        let mut graph = Graph::default();
        arrows.iter().for_each(|(from, to)| graph.add(from, to, ()));
        graph
    }

    #[test]
    fn a_cycle_is_found_and_the_shortest_is_told() {
        let mut knot = graph(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "b"), ("e", "a")]);
        assert_eq!(knot.cycles(), [["b", "c", "b"]]);
        knot.remove("c", "b");
        assert_eq!(knot.cycles(), [["a", "b", "c", "d", "a"]]);
        knot.remove("d", "a");
        assert!(knot.cycles().is_empty());
    }

    #[test]
    fn a_way_has_both_ends() {
        let line = graph(&[("a", "b"), ("b", "c")]);
        assert_eq!(line.way("a", "c"), Some(["a", "b", "c"].map(str::to_owned).to_vec()));
        assert_eq!(line.way("c", "a"), None);
    }
}
