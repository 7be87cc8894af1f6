//! What the protocols for pages share: the course of an answer, as a page shows it, read from the event log.

mod answer;
mod feed;
mod moment;
mod narrator;
mod question;
mod stream;

pub(crate) use answer::{Answer, From};
pub(crate) use moment::{End, Moment, PieceKind, Question};
pub(crate) use question::{Edit, deliver_edit, key_of, newest_question};
pub(crate) use stream::{Encode, stream};
