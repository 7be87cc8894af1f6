//! A place in what is followed: a session alone, or with the sessions below it.

use std::fmt;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use holdover_core::ids::SessionKey;
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, RuntimeError, Shown, TreeCursor, TreeShown};

use crate::desk::Desk;

/// The items that are followed, each with its session.
pub(super) type Items = BoxStream<'static, Result<TreeShown, RuntimeError>>;

/// The cursor of the last item that was read.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Session(EventCursor),
    Tree(TreeCursor),
}

impl Place {
    /// Returns the items after this place.
    pub(super) fn items(&self, desk: &Desk, key: &SessionKey, follow: Follow, deltas: bool) -> Items {
        let runtime = &desk.runtime;
        let after = match self {
            Self::Tree(after) if deltas => return runtime.follow_tree(key, after.clone(), follow),
            Self::Tree(after) => return runtime.tree_events(key, after.clone(), follow),
            Self::Session(after) => *after,
        };
        let shown = match deltas {
            true if follow == Follow::Forever => desk.tails.follow(key, after),
            true => runtime.follow(key, after, follow),
            false => runtime.events(key, after, follow).map_ok(Shown::Event).boxed(),
        };
        let session = key.id.clone();
        shown.map_ok(move |shown| TreeShown::of_root(&session, shown)).boxed()
    }

    /// Moves behind an item.
    pub(super) fn pass(&mut self, item: &TreeShown) {
        match self {
            Self::Session(cursor) => *cursor = item.shown.cursor(),
            Self::Tree(cursor) => *cursor = item.cursor.clone(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(cursor) => cursor.fmt(f),
            Self::Tree(cursor) => cursor.fmt(f),
        }
    }
}
