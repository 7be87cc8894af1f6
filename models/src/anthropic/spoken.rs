//! Groups blocks into messages of alternating roles, as the service requires.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
}

/// A message: consecutive blocks of one role.
#[derive(Serialize)]
pub(super) struct Said<B> {
    role: Role,
    pub(super) content: Vec<B>,
}

/// The messages so far. Consecutive blocks of the same role form one message.
pub(super) struct Spoken<B> {
    said: Vec<Said<B>>,
    text: fn(&'static str) -> B,
}

impl<B> Spoken<B> {
    /// Creates an empty list. `text` makes a block from a text.
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
        // Services refuse a transcript that ends with the assistant, or continue its last message.
        if self.said.last().is_none_or(|last| last.role == Role::Assistant) {
            self.push(Role::User, (self.text)("[go on]"));
        }
        self.said
    }
}
