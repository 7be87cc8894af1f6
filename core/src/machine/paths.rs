//! Paths through the machine, from a state until the session rests.

use std::collections::BTreeMap;

use super::table::{Name, SESSION, Table};
use super::{InputKind, StateKind};

/// The default length up to which paths are followed, in moves.
pub const PATH_MOVES_DEFAULT: usize = 5;

/// The longest path that [`paths`] follows, in moves. Most states have tens of thousands of paths up to that length.
pub const PATH_MOVES_MAX: usize = 12;

/// A path from a state: the moves to other states, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path<S = StateKind, I = InputKind> {
    /// The first state.
    pub from: S,
    /// The moves.
    pub moves: Vec<Move<S, I>>,
    /// True if the path ends at rest; otherwise it was cut off.
    pub rests: bool,
}

/// A move to another state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move<S = StateKind, I = InputKind> {
    /// The inputs that may lead there.
    pub on: Vec<I>,
    /// The next state.
    pub to: S,
}

/// Returns every path from `from` until the session rests or `depth` moves were made, in the order of the table.
/// `depth` is limited to [`PATH_MOVES_MAX`].
pub fn paths(from: StateKind, depth: usize) -> Vec<Path> {
    SESSION.paths(from, depth)
}

/// The moves to other states, by the state before.
type Edges<S, I> = BTreeMap<S, Vec<Move<S, I>>>;

impl<S: Name, I: Name> Table<'_, S, I> {
    /// Returns every path from `from` until the machine rests or `depth` moves were made, in the order of the table.
    /// `depth` is limited to [`PATH_MOVES_MAX`].
    pub fn paths(&self, from: S, depth: usize) -> Vec<Path<S, I>> {
        let mut paths = Vec::new();
        self.each_path(from, depth, |path| paths.push(path));
        paths
    }

    /// As [`paths`](Self::paths), but passes each path to `found` and keeps none. The number of paths may grow
    /// exponentially with `depth`.
    pub fn each_path(&self, from: S, depth: usize, mut found: impl FnMut(Path<S, I>)) {
        let mut edges = Edges::new();
        for row in self.rows {
            for to in row.to.iter().filter(|to| **to != row.from) {
                let known: &mut Vec<Move<S, I>> = edges.entry(row.from).or_default();
                match known.iter_mut().find(|edge| edge.to == *to) {
                    Some(edge) => edge.on.push(row.on),
                    None => known.push(Move { on: vec![row.on], to: *to }),
                }
            }
        }
        let so_far = Path { from, moves: Vec::new(), rests: false };
        self.follow(&edges, so_far, depth.min(PATH_MOVES_MAX), &mut found);
    }

    fn follow(
        &self,
        edges: &Edges<S, I>,
        so_far: Path<S, I>,
        left: usize,
        found: &mut impl FnMut(Path<S, I>),
    ) {
        let at = so_far.moves.last().map_or(so_far.from, |edge| edge.to);
        let rests = !so_far.moves.is_empty() && self.is_rest(at);
        if rests || left == 0 {
            found(Path { rests, ..so_far });
            return;
        }
        for edge in edges.get(&at).into_iter().flatten() {
            let mut longer = so_far.clone();
            longer.moves.push(edge.clone());
            self.follow(edges, longer, left - 1, found);
        }
    }
}

impl<S: Name, I: Name> std::fmt::Display for Path<S, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.from.name())?;
        for Move { on, to } in &self.moves {
            let on: Vec<&str> = on.iter().map(Name::name).collect();
            write!(f, " -{}-> {}", on.join("|"), to.name())?;
        }
        f.write_str(if self.rests { "" } else { " …" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_rest(state: StateKind) -> bool {
        SESSION.is_rest(state)
    }

    fn paths(depth: usize) -> Vec<Path> {
        super::paths(StateKind::Idle, depth)
    }

    #[test]
    fn d07_from_every_state_there_is_a_way_and_each_says_where_it_began() {
        for from in StateKind::ALL {
            let ways = super::paths(from, PATH_MOVES_DEFAULT);
            assert!(!ways.is_empty(), "{}", from.as_str());
            for way in &ways {
                assert_eq!(way.from, from);
                assert!(way.to_string().starts_with(from.as_str()), "{way}");
                assert!(!way.moves.is_empty() && way.moves.len() <= PATH_MOVES_DEFAULT, "{way}");
            }
        }
        let freed = super::paths(StateKind::TearingDown, PATH_MOVES_DEFAULT);
        assert_eq!(
            freed.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["tearing_down -torn_down-> done"]
        );
    }

    fn through(path: &Path) -> Vec<StateKind> {
        path.moves.iter().map(|edge| edge.to).collect()
    }

    #[test]
    fn c01_the_shortest_turn_is_a_word_and_its_answer() {
        let all = paths(6);
        let answered = [
            StateKind::Provisioning,
            StateKind::Thinking,
            StateKind::Streaming,
            StateKind::Steering,
            StateKind::TearingDown,
            StateKind::Done,
        ];
        assert!(all.iter().any(|path| path.rests && through(path) == answered));
    }

    #[test]
    fn a_path_ends_at_rest_or_is_cut_off() {
        assert!(paths(0).iter().all(|path| path.moves.is_empty() && !path.rests));
        for path in paths(9) {
            let (last, before) = path.moves.split_last().unwrap();
            assert!(before.iter().all(|edge| !is_rest(edge.to)), "{path}");
            assert_eq!(path.rests, is_rest(last.to), "{path}");
            assert!(path.rests || path.moves.len() == 9, "{path}");
        }
        assert!(paths(9).len() > paths(8).len());
    }

    #[test]
    fn c44_every_turn_that_rests_was_torn_down() {
        for path in paths(10).iter().filter(|path| path.rests) {
            let end = through(path);
            let before = end[..end.len() - 1].last();
            // A summary that a caller requests at rest is not a turn. The table does not tell the two apart.
            assert!(
                [Some(&StateKind::TearingDown), Some(&StateKind::Compacting)].contains(&before),
                "{path}"
            );
        }
    }
}
