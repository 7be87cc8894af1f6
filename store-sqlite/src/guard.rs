//! What code of a caller's may not do on the connection that writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Watches what is prepared on the connection, while it is lent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    lent: Arc<AtomicBool>,
}

impl Guard {
    /// Watches this connection.
    pub(crate) fn watch(&self, conn: &Connection) -> rusqlite::Result<()> {
        let lent = Arc::clone(&self.lent);
        conn.authorizer(Some(move |context: AuthContext<'_>| {
            if !lent.load(Ordering::Relaxed) || may(context.action) {
                Authorization::Allow
            } else {
                Authorization::Deny
            }
        }))
    }

    /// Runs code of a caller's. It catches its panics.
    pub(crate) fn while_lent<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lent.store(true, Ordering::Relaxed);
        let done = work();
        self.lent.store(false, Ordering::Relaxed);
        done
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all else reads, or is about nothing that has a name here"
)]
fn may(action: AuthAction<'_>) -> bool {
    match action {
        AuthAction::Transaction { .. } | AuthAction::Attach { .. } | AuthAction::Detach { .. } => false,
        AuthAction::Pragma { pragma_name, .. } => PRAGMAS.contains(&pragma_name),
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
        | AuthAction::CreateTempTrigger { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. } => !is_ours(table_name),
        _ => true,
    }
}

/// Names of tables are the same in all cases.
fn is_ours(table: &str) -> bool {
    let begins = table.get(..PREFIX.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(PREFIX));
    begins || TABLES.iter().any(|ours| ours.eq_ignore_ascii_case(table))
}
