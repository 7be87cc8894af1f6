//! The tools.

mod decisions;
mod lists;
mod reading;
mod sessions;
mod wait;

pub(super) use reading::bounded_transcript;

use super::offer::Offer;

/// Every tool.
pub(super) const ALL: [Offer; 11] = [
    lists::LIST_AGENTS,
    sessions::START_SESSION,
    sessions::SEND_MESSAGE,
    wait::WAIT,
    lists::LIST_PENDING,
    decisions::DECIDE,
    decisions::ANSWER,
    sessions::INTERRUPT,
    lists::LIST_SESSIONS,
    reading::READ_TRANSCRIPT,
    reading::READ_EVENTS,
];
