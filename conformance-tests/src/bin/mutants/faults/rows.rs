//! Faults in the rows of a store whose rules are sound: mistakes that the author of a backend can make.

use std::sync::Arc;

use holdover_store::rows::{Kind, Op, Slot, Token, Verdict, Which, Write};

use crate::fault::{Mutant, broken};
use crate::rows::{RowFault, SOUND_ROWS};

/// Defines a store over rows with this fault.
macro_rules! rows {
    ($name:literal, $broken:literal, $($field:ident: $value:expr),+) => {
        broken($name, $broken).rows(Some(RowFault { $($field: $value,)+ ..SOUND_ROWS }))
    };
}

/// Changes the slot that a write leaves.
fn leaving(write: &mut Write, change: impl FnOnce(&mut Slot)) {
    if let Some(after) = &mut write.after {
        change(Arc::make_mut(after));
    }
}

/// Leaves out the row operations of a write that match.
fn without(write: &mut Write, is_left_out: fn(&Op) -> bool) {
    write.ops.retain(|op| !is_left_out(op));
}

pub(super) static MUTANTS: &[Mutant] = &[
    rows!("rows-token-not-compared", "a write is applied whatever stands there by now", uncompared: true),
    rows!("rows-token-stays", "a write leaves the token as it was", write: |write| {
        let token = write.expect();
        leaving(write, |slot| slot.token = token.unwrap_or(slot.token));
    }),
    rows!("rows-token-is-the-version", "the token is the version of the session", write: |write| {
        leaving(write, |slot| slot.token = Token(slot.row.as_ref().map_or(0, |row| row.version.0)));
    }),
    rows!("rows-inserts-overwrite", "what is to be inserted replaces what is there", write: |write| {
        for op in &mut write.ops {
            if let Op::Insert(row) = op {
                *op = Op::Put(row.clone());
            }
        }
    }),
    rows!("rows-written-in-two", "the row of the session is written first, and the others later", written_in_two: true),
    rows!("rows-read-in-two", "the row of the session is read first, and the others later", read_in_two: true),
    rows!("rows-deletions-left-out", "single rows are not removed", write: |write| {
        without(write, |op| matches!(op, Op::Delete(_)));
    }),
    rows!("rows-clearing-left-out", "rows of a kind are not removed together", write: |write| {
        without(write, |op| matches!(op, Op::Clear(_)));
    }),
    rows!("rows-removed-but-the-last", "of the rows up to a number the last one stays", write: |write| {
        for op in &mut write.ops {
            if let Op::DeleteUpTo(_, last) = op {
                *last = last.saturating_sub(1);
            }
        }
    }),
    rows!("rows-marks-not-written", "the marks of calls that started are not written", write: |write| {
        without(write, |op| matches!(op, Op::Put(row) | Op::Insert(row) if row.key().kind == Kind::Start));
    }),
    rows!("rows-lives-forgotten", "what is left of a deleted session names no life", write: |write| {
        leaving(write, |slot| slot.lives.clear());
    }),
    rows!("rows-copy-ends-early", "a fork is copied without the newest of its messages", write: |write| {
        if let Some(copy) = &mut write.copy {
            copy.last_message.0 = copy.last_message.0.saturating_sub(1);
        }
    }),
    rows!("rows-copy-has-no-events", "a fork is copied without events", write: |write| {
        if let Some(copy) = &mut write.copy {
            copy.last_event.0 = 0;
        }
    }),
    rows!("rows-taken-called-lost", "of what is there already it is said that others were there first",
    verdict: |verdict| match verdict {
        Verdict::Taken { .. } => Verdict::Lost,
        verdict => verdict,
    }),
    rows!("rows-one-write-of-a-batch", "of a batch only the first write is applied", one_at_a_time: true),
    rows!("rows-read-to-the-last-but-one", "of the rows from one number to another the last is not found",
    wants: |wants| for want in wants {
        if let Which::Numbers(from, to) = want.which && to > from {
            want.which = Which::Numbers(from, to - 1);
        }
    }),
    rows!("rows-due-of-every-tenant", "what is due is looked for in every tenant", due: |query| query.tenant = None),
    rows!("rows-due-in-reverse", "what is due is found in reverse order", found: |due| due.found.reverse()),
    rows!("rows-due-forget-whose-turn-it-was", "every look at what is due begins with the first tenant", due: |query| {
        query.after = None;
    }),
    rows!("rows-one-page-of-pending", "the first page of pending calls is the last", last_page_of_pending: true),
    rows!("rows-one-page-at-rest", "the first page of sessions at rest is the last", last_page_at_rest: true),
    rows!("rows-tell-nobody", "nobody is told of changes", hears: false),
];
