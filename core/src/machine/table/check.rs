//! The check of a table.

use std::collections::BTreeSet;

use super::{Name, Nature, Row, Table, TableError, TableErrors};

impl<S: Name, I: Name> Table<'_, S, I> {
    /// Checks the table: it knows its first state, and every state is reached from there; no pair of state and input
    /// is listed twice; targets exist; rest is reached without passing through an error; every working or
    /// parked state has a failure edge, if the machine has failures; every parked state names its wake-up inputs; every
    /// awaited answer has an input that leads somewhere; and every cycle has a bound.
    ///
    /// # Errors
    /// Returns all faults of the table.
    pub fn validate(&self) -> Result<(), TableErrors<S, I>> {
        let problems = self.problems();
        if problems.is_empty() { Ok(()) } else { Err(TableErrors(problems)) }
    }

    /// Returns all faults of the table: row by row, then state by state.
    fn problems(&self) -> Vec<TableError<S, I>> {
        let mut found = Vec::new();
        if self.nature(self.first).is_none() {
            found.push(TableError::NoFirst(self.first));
        }
        let mut pairs = BTreeSet::new();
        for row in self.rows {
            if !pairs.insert((row.from, row.on)) {
                found.push(TableError::Twice(row.from, row.on));
            }
            if row.to.is_empty() || row.to.iter().any(|to| self.nature(*to).is_none()) {
                found.push(TableError::MissingTarget(row.from, row.on));
            }
        }
        let reached = self.reached(self.first, |_| true);
        for (state, nature) in self.natures {
            if !reached.contains(state) {
                found.push(TableError::Unreached(*state));
            }
            if !self.reaches_rest(*state) {
                found.push(TableError::DeadEnd(*state));
            }
            let leaves = |on: &I| self.targets(*state, *on).iter().any(|to| to != state);
            if *nature != Nature::Rest && !self.fails(*state) {
                found.push(TableError::NoFailureEdge(*state));
            }
            match nature {
                Nature::Rest | Nature::Working => {}
                Nature::Parked { woken_by, answered_by } => {
                    if woken_by.is_empty() || !woken_by.iter().all(leaves) {
                        found.push(TableError::NoWakeUp(*state));
                    }
                    if answered_by.as_ref().is_some_and(|on| !leaves(on)) {
                        found.push(TableError::NoAnswer(*state));
                    }
                }
            }
        }
        found.extend(self.unbounded().map(TableError::UnboundedCycle));
        found
    }

    /// Returns true if a failure in this state may end the turn, and leads only to teardown or to rest. A failure
    /// during teardown does not change its course. True for a machine without failures.
    fn fails(&self, state: S) -> bool {
        let Some(failure) = self.failure.as_ref().filter(|failure| failure.to != state) else { return true };
        let ends = |to: &S| *to == failure.to || self.is_rest(*to);
        let targets = self.targets(state, failure.on);
        targets.contains(&failure.to) && targets.iter().all(ends)
    }

    fn reaches_rest(&self, from: S) -> bool {
        let good = |row: &Row<'_, S, I>| {
            self.failure
                .as_ref()
                .is_none_or(|failure| failure.on != row.on && !failure.beside.contains(&row.on))
        };
        self.reached(from, good).iter().any(|state| self.is_rest(*state))
    }

    /// Returns the states that are reached from this one over rows that `counts` lets pass, with the state itself.
    fn reached(&self, from: S, counts: impl Fn(&Row<'_, S, I>) -> bool) -> BTreeSet<S> {
        let mut reached = BTreeSet::from([from]);
        loop {
            let more: BTreeSet<S> = self
                .rows
                .iter()
                .filter(|row| reached.contains(&row.from) && counts(row))
                .flat_map(|row| row.to.iter().copied())
                .filter(|to| !reached.contains(to))
                .collect();
            if more.is_empty() {
                return reached;
            }
            reached.extend(more);
        }
    }

    /// Returns a cycle of moves to other states that passes through no bounded state and no state of rest, and needs
    /// no input at the pace of somebody else, if there is one.
    fn unbounded(&self) -> Option<Vec<S>> {
        let free = |state: S| !self.is_rest(state) && !self.bounds.iter().any(|bound| bound.state == state);
        let mut left: BTreeSet<S> =
            self.natures.iter().map(|(state, _)| *state).filter(|state| free(*state)).collect();
        let onward = |state: S, left: &BTreeSet<S>| {
            let rows = self.rows.iter().filter(|row| row.from == state && !self.paced.contains(&row.on));
            rows.flat_map(|row| row.to).copied().find(|to| *to != state && left.contains(to))
        };
        // Remove the states that lead to no state that is left, until none remain. The rest lie on a cycle or lead
        // to one.
        while let Some(end) = left.iter().copied().find(|state| onward(*state, &left).is_none()) {
            left.remove(&end);
        }
        // Every state that is left leads to another one, so a walk through them returns to a state that it has
        // seen.
        let mut path = Vec::new();
        let mut at = left.first().copied()?;
        loop {
            if let Some(begins) = path.iter().position(|state| *state == at) {
                return Some(path.split_off(begins));
            }
            path.push(at);
            at = onward(at, &left)?;
        }
    }
}
