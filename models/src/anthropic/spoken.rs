//! Groups blocks into messages of alternating roles, as the service requires.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
}

/// One message.
#[derive(Serialize)]
pub(super) struct Said<B> {
    role: Role,
    pub(super) content: Vec<B>,
}

/// The messages so far. Blocks of the same role that follow each other are one message.
pub(super) struct Spoken<B> {
    said: Vec<Said<B>>,
    text: fn(&'static str) -> B,
}

impl<B> Spoken<B> {
    /// `text` makes a block of a text.
    pub(super) fn new(text: fn(&'static str) -> B) -> Self {
        Self { said: Vec::new(), text }
    }

    pub(super) fn push(&mut self, role: Role, block: B) {
        match self.said.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            Some(_) | None => {
                if self.said.is_empty() && role == Role::Assistant {
                    let left_out = (self.text)("[the beginning is left out]");
                    self.said.push(Said { role: Role::User, content: vec![left_out] });
                }
                self.said.push(Said { role, content: vec![block] });
            }
        }
    }

    pub(super) fn into_messages(mut self) -> Vec<Said<B>> {
        // A transcript that ends with the assistant is taken for the beginning of its answer, or refused.
        if self.said.last().is_none_or(|last| last.role == Role::Assistant) {
            self.push(Role::User, (self.text)("[go on]"));
        }
        self.said
    }
}
