//! What the functions answer of a session, as the contract has it.

mod extras;
mod inbox;
mod items;
mod session;

pub(crate) use extras::{Extras, claim, is_over, labels};
pub(crate) use inbox::inbox_page;
pub(crate) use items::{bind_item, bind_items, delivery, refusal};
pub(crate) use session::{receipt, session_row};

/// The columns of `session` in answer `a`, in the order in which `session_row` reads them.
macro_rules! session_columns {
    () => {
        "(a.session).tenant, (a.session).id, (a.session).incarnation, (a.session).created_by, \
         (a.session).queue, (a.session).created_at, (a.session).status, (a.session).version, \
         (a.session).epoch, (a.session).format, (a.session).lease_worker, (a.session).lease_ends, \
         (a.session).lease_granted_ms, (a.session).last_claim, (a.session).found, (a.session).run_open, \
         (a.session).attempts, (a.session).interrupt_handed_to, (a.session).last_message, \
         (a.session).last_event, (a.session).last_item, (a.session).unread, (a.session).inbox_seen, \
         (a.session).unseen_counted, (a.session).unseen_urgent, (a.session).wake_on, \
         (a.session).stream_run, (a.session).stream_number, (a.session).stream_last, \
         (a.session).stream_open, (a.session).updated_at, (a.session).alarm, (a.session).interrupt_id, \
         (a.session).interrupt_kind, (a.session).interrupt_reason, (a.session).interrupt_at, \
         (a.session).interrupt_incarnation"
    };
}

/// The columns of `extras` in answer `a`, in the order in which `Extras::read` reads them.
macro_rules! extras_columns {
    () => {
        "(a.extras).label_names, (a.extras).label_values, (a.extras).definition_digest, \
         (a.extras).definition, (a.extras).state_digest, (a.extras).state, (a.extras).staged_call, \
         (a.extras).staged_digest, (a.extras).staged, (a.extras).starts, (a.extras).pending_id, \
         (a.extras).pending_call, (a.extras).pending_kind, (a.extras).pending_needed, \
         (a.extras).pending_answered, (a.extras).pending_last, (a.extras).pending_endless, \
         (a.extras).pending_deadline, (a.extras).pending_opened_at, (a.extras).pending_digest, \
         (a.extras).pending, ((a.extras).inbox).seq, ((a.extras).inbox).key, ((a.extras).inbox).kind, \
         ((a.extras).inbox).wake, ((a.extras).inbox).pending, ((a.extras).inbox).settles, \
         ((a.extras).inbox).at, ((a.extras).inbox).digest, ((a.extras).inbox).payload, \
         ((a.extras).inbox).more"
    };
}

/// The columns of `receipt` in answer `a`, in the order in which `receipt` reads them.
macro_rules! receipt_columns {
    () => {
        "(a.receipt).version, (a.receipt).last_message, (a.receipt).last_item, (a.receipt).unread, \
         (a.receipt).interrupt, (a.receipt).now, (a.receipt).lease_ends"
    };
}

pub(crate) use extras_columns;
pub(crate) use receipt_columns;
pub(crate) use session_columns;
