//! A place in the events of a tree: a place in those of the root, and in those of each child that is followed.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdover_core::children::ChildNames;
use holdover_core::ids::{CallId, EventSeq, PendingId, SessionId, ToolName};
use holdover_core::store::{EventCursor, EventPlace, InvalidCursor, StreamId};
use serde::{Deserialize, Serialize};

/// The number of sessions below the root that are followed at once.
pub(super) const FOLLOWED_MAX: usize = 64;

/// The longest text of a cursor, in bytes. Longer ones are refused unread.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// A place in the events of a tree, from which following goes on. As text it has no spaces. The text grows with
/// the number of open children that are followed, of which there are at most 64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCursor {
    pub(super) root: EventCursor,
    /// The calls whose children have more to show, in the order in which they were found.
    pub(super) calls: Vec<OpenCall>,
}

/// A call whose children are followed, or wait to be followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenCall {
    #[serde(rename = "s")]
    pub(super) parent: SessionId,
    /// The number of sessions above the children.
    #[serde(rename = "d")]
    pub(super) depth: u32,
    #[serde(rename = "t")]
    pub(super) tool: ToolName,
    #[serde(rename = "p")]
    pub(super) pending: PendingId,
    #[serde(rename = "c")]
    pub(super) count: u32,
    /// Whether all children have been created.
    #[serde(rename = "m")]
    pub(super) is_created: bool,
    /// The index of the first child that has not been followed yet.
    #[serde(rename = "n")]
    pub(super) next: u32,
    /// The children that are followed.
    #[serde(rename = "o")]
    pub(super) open: Vec<OpenChild>,
}

/// A place in the events of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenChild {
    #[serde(rename = "i")]
    pub(super) index: u32,
    #[serde(rename = "a")]
    pub(super) after: EventSeq,
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub(super) within: Option<(StreamId, u64)>,
}

impl OpenChild {
    /// Before the first event.
    pub(super) fn new(index: u32) -> Self {
        Self { index, after: EventSeq(0), within: None }
    }
}

impl OpenCall {
    /// Whether it is this call of this session.
    pub(super) fn is_of(&self, parent: &SessionId, call: &CallId) -> bool {
        self.parent == *parent && self.pending.parts().is_some_and(|(_, of)| of == *call)
    }

    /// Whether every child has shown all of its events.
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.count && self.open.is_empty()
    }
}

impl TreeCursor {
    /// Before the first event of whichever session exists under the root's id.
    pub const START: Self = Self { root: EventCursor::START, calls: Vec::new() };

    /// The place in the events of the root alone.
    pub fn root(&self) -> EventCursor {
        self.root
    }

    /// The number of children that are followed.
    pub(super) fn followed(&self) -> usize {
        self.calls.iter().map(|call| call.open.len()).sum()
    }

    pub(super) fn call(&mut self, pending: &PendingId) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|call| call.pending == *pending)
    }

    /// Notes that a child is at `at`.
    pub(super) fn move_child(&mut self, pending: &PendingId, index: u32, at: EventPlace) {
        let open =
            self.call(pending).and_then(|call| call.open.iter_mut().find(|child| child.index == index));
        if let Some(child) = open {
            (child.after, child.within) = (at.after, at.within);
        }
    }

    /// Notes that a child has shown all of its events.
    pub(super) fn close_child(&mut self, pending: &PendingId, index: u32) {
        if let Some(call) = self.call(pending) {
            call.open.retain(|child| child.index != index);
        }
        self.calls.retain(|call| !call.is_over());
    }

    fn is_sound(&self) -> bool {
        let sound = |call: &OpenCall| {
            let mut names = call.open.iter().map(|child| ChildNames::of(&call.pending, child.index));
            call.pending.parts().is_some()
                && call.next <= call.count
                && call.open.iter().all(|child| child.index < call.next)
                && names.all(|names| names.is_ok())
        };
        self.followed() <= FOLLOWED_MAX && self.calls.iter().all(sound)
    }
}

/// The place in the root's events; no child is followed whose call came before.
impl From<EventCursor> for TreeCursor {
    fn from(root: EventCursor) -> Self {
        Self { root, calls: Vec::new() }
    }
}

impl fmt::Display for TreeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)?;
        if self.calls.is_empty() {
            return Ok(());
        }
        let calls = serde_json::to_vec(&self.calls).map_err(|_| fmt::Error)?;
        write!(f, ".{}", URL_SAFE_NO_PAD.encode(calls))
    }
}

impl FromStr for TreeCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(InvalidCursor::because("too long"));
        }
        let Some((root, calls)) = text.split_once('.') else {
            return Ok(text.parse::<EventCursor>()?.into());
        };
        let calls = URL_SAFE_NO_PAD.decode(calls).map_err(|_| InvalidCursor::because("not base64"))?;
        let calls =
            serde_json::from_slice(&calls).map_err(|_| InvalidCursor::because("not the place of a tree"))?;
        let cursor = Self { root: root.parse()?, calls };
        if cursor.is_sound() { Ok(cursor) } else { Err(InvalidCursor::because("not the place of a tree")) }
    }
}

impl Serialize for TreeCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TreeCursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use holdover_core::ids::{Epoch, Incarnation};

    use super::*;

    fn cursor(open: Vec<OpenChild>, next: u32) -> TreeCursor {
        let life = Incarnation::derived([7; 16]);
        let call = OpenCall {
            parent: SessionId::new("root").unwrap(),
            depth: 1,
            tool: ToolName::new("clerk").unwrap(),
            pending: PendingId::of(life, &CallId::new("c1-0").unwrap(), 1).unwrap(),
            count: 100,
            is_created: true,
            next,
            open,
        };
        TreeCursor { root: EventCursor::after(life, EventSeq(9)), calls: vec![call] }
    }

    #[test]
    fn a_cursor_reads_back_from_its_text_and_that_of_the_root_is_one() {
        let stream = StreamId { run: Epoch(2), number: 1 };
        let within = OpenChild { within: Some((stream, 3)), ..OpenChild::new(4) };
        for cursor in [TreeCursor::START, cursor(vec![OpenChild::new(0), within], 5)] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor.clone()));
            assert_eq!(cursor.root.to_string().parse(), Ok(TreeCursor::from(cursor.root)));
        }
        let most = cursor((0..64).map(OpenChild::new).collect(), 64);
        assert!(most.to_string().len() < 4_096, "{}", most.to_string().len());
    }

    #[test]
    fn a_text_that_is_no_cursor_is_refused() {
        let many = cursor((0..65).map(OpenChild::new).collect(), 65);
        let ahead = cursor(vec![OpenChild::new(5)], 5);
        let beyond = cursor(vec![], 101);
        let cut = cursor(vec![OpenChild::new(0)], 1).to_string();
        for text in [
            many.to_string(),
            ahead.to_string(),
            beyond.to_string(),
            cut[..cut.len() - 3].to_owned(),
            format!("{}.", TreeCursor::START),
            "x".repeat(TEXT_BYTES_MAX + 1),
            String::new(),
        ] {
            assert!(text.parse::<TreeCursor>().is_err(), "{text}");
        }
    }
}
