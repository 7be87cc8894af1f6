//! The rows or keys of one kind in a statement, and the sessions to which they belong.

use crate::sql::{Commas, Param, Sql};

/// Rows or keys of one kind.
#[derive(Clone)]
pub(super) struct Given<T> {
    pub(super) rows: Vec<T>,
    /// The place of the session of each row, if the statement writes several sessions.
    places: Vec<i64>,
}

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), places: Vec::new() }
    }
}

impl<T> Given<T> {
    /// Adds a row. `place` is that of its session, if the statement writes several.
    pub(super) fn add(&mut self, place: Option<i64>, row: T) {
        self.rows.push(row);
        self.places.extend(place);
    }

    /// Returns true if a row belongs to the session at this place.
    pub(super) fn names(&self, place: Option<i64>) -> bool {
        place.map_or(!self.rows.is_empty(), |place| self.places.contains(&place))
    }

    /// Leaves out the sessions that have a row in `others`.
    pub(super) fn leave_out<U>(&mut self, others: &Given<U>) {
        if self.places.is_empty() {
            if !others.rows.is_empty() {
                self.rows.clear();
            }
            return;
        }
        let keeps: Vec<bool> = self.places.iter().map(|place| !others.places.contains(place)).collect();
        let (mut of_rows, mut of_places) = (keeps.iter(), keeps.iter());
        self.rows.retain(|_| of_rows.next() == Some(&true));
        self.places.retain(|_| of_places.next() == Some(&true));
    }

    /// Returns a join of the written sessions `s` with these arrays, which have a value for each row. Each row joins its
    /// session as `name`, with these columns. Without arrays, returns one for the sessions that have a row.
    pub(super) fn joined(&self, sql: &mut Sql<'_>, name: &str, columns: &str, arrays: &[Param]) -> String {
        let listed = Commas(arrays.iter());
        match (self.places.is_empty(), arrays.is_empty()) {
            (true, true) => String::new(),
            (true, false) => format!("CROSS JOIN unnest({listed}) AS {name} ({columns})"),
            (false, true) => {
                let places = sql.bind(self.places.clone());
                format!("JOIN unnest({places}) AS {name} (sid) ON {name}.sid = s.sid")
            }
            (false, false) => {
                let places = sql.bind(self.places.clone());
                format!("JOIN unnest({places}, {listed}) AS {name} (sid, {columns}) ON {name}.sid = s.sid")
            }
        }
    }
}
