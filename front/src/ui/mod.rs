//! What the protocols for pages share: the course of an answer, as a page shows it, read from the event log.

mod answer;
mod feed;
mod moment;
mod narrator;
mod question;
mod reply;
mod stream;
mod transcript;

pub(crate) use answer::{Answer, From};
pub(crate) use moment::{End, Moment, PieceKind, Question, answer_id, answered};
pub(crate) use question::{Said, deliver_edit, deliver_new, newest, newest_answer, newest_question};
pub(crate) use reply::{Reply, deliver_replies};
pub(crate) use stream::{Encode, stream};
pub(crate) use transcript::{MESSAGES_MAX, shown, up_to};
