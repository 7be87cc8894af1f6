//! The bodies of answers that several routes share.

mod agent;
mod answer;
mod details;
mod event;
mod message;
mod pending;
mod session;

pub(crate) use agent::AgentView;
pub(crate) use answer::{Accepted, Created, Delivery, Listed, NamedLabel, Page, Repeats, Started};
pub(crate) use details::Details;
pub(crate) use event::EventView;
pub(crate) use message::{Positioned, Transcript};
pub(crate) use pending::{PendingList, PendingView};
pub(crate) use session::{OutcomeView, SessionView};
