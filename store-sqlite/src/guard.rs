//! What a caller's code may not do on the connection that writes. The guard protects against mistakes, not
//! against a caller who means to get round it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// The store's own tables. One that is made from now on begins with [`PREFIX`]: others may be a caller's.
pub(crate) const TABLES: [&str; 15] = [
    "session",
    "label",
    "definition",
    "state",
    "message",
    "event",
    "item",
    "staged",
    "start_mark",
    "pending",
    "opened",
    "run",
    "delta",
    "checkpoint",
    "tombstone",
];
/// How the names of the store's tables begin, but for those that came first.
const PREFIX: &str = "holdover_";

/// Pragmas that only say something.
const PRAGMAS: [&str; 8] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
];

/// After so many steps of SQLite's own machine a statement is asked whether its time is over.
const STEPS: i32 = 10_000;

/// Watches the connection while it is lent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    lent: Arc<AtomicBool>,
    /// Whether a transaction was undone as a whole since it was lent.
    undone: Arc<AtomicBool>,
}

impl Guard {
    /// Watches this connection. What the authorizer does not see, since it was prepared before or is SQLite's own doing, the
    /// other two do: nothing is committed while the connection is lent, and an undone transaction does not go unnoticed.
    pub(crate) fn watch(&self, conn: &Connection) -> rusqlite::Result<()> {
        let lent = Arc::clone(&self.lent);
        conn.authorizer(Some(move |context: AuthContext<'_>| {
            if !lent.load(Ordering::Relaxed) || may(context.action) {
                Authorization::Allow
            } else {
                Authorization::Deny
            }
        }))?;
        let lent = Arc::clone(&self.lent);
        conn.commit_hook(Some(move || lent.load(Ordering::Relaxed)))?;
        let undone = Arc::clone(&self.undone);
        conn.rollback_hook(Some(move || undone.store(true, Ordering::Relaxed)))
    }

    /// Runs code of a caller's, which must not panic, and ends a statement of it that is still at work at `until`. Answers
    /// whether the transaction still is the one in which it began.
    pub(crate) fn while_lent<T>(
        &self,
        conn: &Connection,
        until: Instant,
        work: impl FnOnce() -> T,
    ) -> (T, bool) {
        self.undone.store(false, Ordering::Relaxed);
        let bounded = conn.progress_handler(STEPS, Some(move || Instant::now() >= until)).is_ok();
        self.lent.store(true, Ordering::Relaxed);
        let done = work();
        self.lent.store(false, Ordering::Relaxed);
        let unbounded = conn.progress_handler(STEPS, None::<fn() -> bool>).is_ok();
        let undone = self.undone.load(Ordering::Relaxed) || conn.is_autocommit();
        (done, bounded && unbounded && !undone)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all else reads, or is about nothing that has a name here"
)]
fn may(action: AuthAction<'_>) -> bool {
    match action {
        AuthAction::Transaction { .. }
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::Analyze { .. }
        // What is temporary comes before a table of its name, also for the store.
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTrigger { .. } => false,
        AuthAction::Pragma { pragma_name, .. } => {
            PRAGMAS.iter().any(|says| says.eq_ignore_ascii_case(pragma_name))
        }
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::CreateView { view_name: table_name }
        | AuthAction::CreateIndex { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. } => !is_ours(table_name),
        _ => true,
    }
}

/// Names of tables are the same in small and in large letters.
fn is_ours(table: &str) -> bool {
    let begins = table.get(..PREFIX.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(PREFIX));
    begins || TABLES.iter().any(|ours| ours.eq_ignore_ascii_case(table))
}
