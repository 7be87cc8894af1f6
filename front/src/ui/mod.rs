//! The course of an answer, as a page shows it, read from the event log. The protocols for pages share it.

mod answer;
mod ends;
mod feed;
mod moment;
mod narrator;
mod question;
mod reply;
mod stream;
mod transcript;

pub(crate) use answer::{From, Place};
pub(crate) use ends::{questions_of_children, runs};
pub(crate) use moment::{End, Moment, PieceKind, Question, answer_id, answered};
pub(crate) use question::{
    Said, deliver_edit, deliver_new, here, newest_answer, now, position_of, question_up_to,
};
pub(crate) use reply::{Decision, Reply, deliver_replies, text_of};
pub(crate) use stream::{Encode, Reading, answer_stream, check_place};
pub(crate) use transcript::{Shown, shown_up_to};
