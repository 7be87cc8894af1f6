//! Limits what a caller's code may do on the connection that writes. The guard protects against mistakes, not
//! against a caller who means to bypass it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// The store's own tables whose names do not begin with [`PREFIX`]. Names of new tables must begin with it, because a
/// caller may use other names.
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
/// The prefix of the names of all other tables of the store.
const PREFIX: &str = "holdover_";

/// Pragmas that only return information.
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

/// The number of steps of SQLite's virtual machine between two checks of a statement's time limit.
const STEPS: i32 = 10_000;

/// Watches the connection while it is lent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    lent: Arc<AtomicBool>,
    /// True if a transaction was rolled back as a whole since the connection was lent.
    undone: Arc<AtomicBool>,
}

impl Guard {
    /// Watches this connection. The authorizer sees neither statements that were prepared before nor SQLite's own
    /// actions. Two hooks cover these: one prevents commits while the connection is lent, and one notices a
    /// rolled-back transaction.
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

    /// Runs a caller's code, which must not panic. A statement of that code that still runs at `until` is
    /// interrupted. Also returns true if the transaction is still the one in which the code began.
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
        // A temporary object would hide a table of the same name, even from the store.
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

/// Returns true if a table belongs to the store. SQLite ignores case in table names.
fn is_ours(table: &str) -> bool {
    let begins = table.get(..PREFIX.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(PREFIX));
    begins || TABLES.iter().any(|ours| ours.eq_ignore_ascii_case(table))
}
