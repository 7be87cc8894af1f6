//! Chooses the turn of a script that fits the conversation.

use std::fmt;

use holdover_core::message::{Message, ToolResult};
use holdover_core::model::ModelRequest;

use super::script::{Script, Turn, When};

/// The maximum number of characters of a text that an error shows.
const SHOWN_CHARS_MAX: usize = 80;

/// Returns the first turn that fits the request, if there is one.
pub(super) fn choose<'a>(script: &'a Script, request: &ModelRequest) -> Option<&'a Turn> {
    let scene = Scene::of(request);
    script.turns.iter().find(|turn| turn.when.as_ref().is_none_or(|when| scene.fits(when)))
}

/// The part of a conversation that a script can test.
pub(super) struct Scene<'a> {
    system: &'a str,
    user: Option<&'a str>,
    /// The number of the requested answer, counted from 1 since the last user message.
    nth: usize,
    /// The tool results since the model's last answer or the last user message, whichever is later.
    results: Vec<&'a ToolResult>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(request: &'a ModelRequest) -> Self {
        let mut scene = Self { system: &request.system, user: None, nth: 1, results: Vec::new() };
        let messages = &request.messages;
        let turn = messages.iter().rposition(|message| matches!(&**message, Message::User(_))).unwrap_or(0);
        for message in messages.range(turn..messages.len()) {
            match &**message {
                Message::User(said) => {
                    scene.user = Some(&said.text);
                    scene.nth = 1;
                    scene.results.clear();
                }
                Message::Assistant(_) => {
                    scene.nth += 1;
                    scene.results.clear();
                }
                Message::Tool(result) => scene.results.push(result),
                Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
            }
        }
        scene
    }

    fn fits(&self, when: &When) -> bool {
        let contains =
            |text: &str, part: &Option<String>| part.as_ref().is_none_or(|part| text.contains(part));
        contains(self.system, &when.system_contains)
            && contains(self.user.unwrap_or_default(), &when.user_contains)
            && when.nth.is_none_or(|nth| nth == self.nth)
            && (!when.asks_for_a_result()
                || self.results.iter().any(|result| {
                    when.result_of.as_ref().is_none_or(|tool| *tool == result.tool)
                        && contains(&result.content, &when.result_contains)
                        && when.result_status.is_none_or(|status| status == result.status)
                }))
    }
}

impl When {
    fn asks_for_a_result(&self) -> bool {
        self.result_of.is_some() || self.result_contains.is_some() || self.result_status.is_some()
    }
}

impl fmt::Display for Scene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user {
            Some(text) => write!(f, "user {:?}, answer {} since then", shown(text), self.nth)?,
            None => write!(f, "no user message, answer {}", self.nth)?,
        }
        for (at, result) in self.results.iter().enumerate() {
            let before = if at == 0 { ", results: " } else { ", " };
            write!(f, "{before}{} ({:?}) {:?}", result.tool, result.status, shown(&result.content))?;
        }
        Ok(())
    }
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
