//! The bodies of answers that several routes share.

mod answer;
mod pending;
mod session;

pub(crate) use answer::{Accepted, Created, Delivery, Listed, NamedLabel, Page, Repeats, Started};
pub(crate) use pending::{PendingList, PendingView};
pub(crate) use session::{OutcomeView, SessionView};
