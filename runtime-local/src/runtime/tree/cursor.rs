//! A place in the events of a tree: a place in the events of the root, and one in those of each followed child.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdover_core::children::ChildNames;
use holdover_core::ids::{CallId, EventSeq, Incarnation, PendingId, SessionId, ToolName};
use holdover_core::store::{EventCursor, EventPlace, InvalidCursor, StreamId};
use serde::{Deserialize, Serialize};

use crate::agent::SUB_AGENT_DEPTH_MAX;

/// The maximum number of sessions below the root that are followed at once.
pub(super) const FOLLOWED_MAX: usize = 64;

/// The maximum length of a cursor's text, in bytes. A longer text is refused without being read.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// A place in the events of a tree, from which following continues. Its text form has no spaces. The text grows
/// with the followed children, of which there are at most 64, and with the calls whose children have more to show.
#[derive(Debug, Clone)]
pub struct TreeCursor {
    pub(super) root: EventCursor,
    /// The calls whose children have more to show, in the order in which they were found.
    pub(super) calls: Vec<OpenCall>,
}

/// A call whose children are followed, or wait to be followed.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    /// The session of the call, or `None` for the root.
    pub(super) parent: Option<SessionId>,
    /// The number of sessions above the children.
    pub(super) depth: u32,
    pub(super) tool: ToolName,
    pub(super) pending: PendingId,
    pub(super) count: u32,
    /// True once all children of the call that will exist have been created.
    pub(super) is_created: bool,
    /// True if the children run in the background, so that the call ends before they do.
    pub(super) in_background: bool,
    /// The index of the first child that has not been followed yet.
    pub(super) next: u32,
    /// The children that are followed.
    pub(super) open: Vec<OpenChild>,
}

/// A place in the events of a child.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenChild {
    pub(super) index: u32,
    pub(super) after: EventSeq,
    pub(super) within: Option<(StreamId, u64)>,
}

/// A call as text. Its pending id follows from the life of its session, so a text cannot name a session of another
/// tree.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    #[serde(rename = "t")]
    tool: ToolName,
    #[serde(rename = "k")]
    call: CallId,
    #[serde(rename = "r")]
    round: u32,
    #[serde(rename = "c")]
    count: u32,
    #[serde(rename = "m", default, skip_serializing_if = "std::ops::Not::not")]
    is_created: bool,
    #[serde(rename = "g", default, skip_serializing_if = "std::ops::Not::not")]
    in_background: bool,
    #[serde(rename = "n")]
    next: u32,
    #[serde(rename = "o")]
    open: Vec<ChildText>,
}

/// A child as text, with its own calls.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChildText {
    #[serde(rename = "i")]
    index: u32,
    #[serde(rename = "a")]
    after: EventSeq,
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    within: Option<(StreamId, u64)>,
    #[serde(rename = "b", default, skip_serializing_if = "Vec::is_empty")]
    below: Vec<CallText>,
}

impl OpenChild {
    /// Creates a place before the first event of a child.
    pub(super) fn new(index: u32) -> Self {
        Self { index, after: EventSeq(0), within: None }
    }
}

impl OpenCall {
    /// Returns true if this is call `call` of session `parent`.
    pub(super) fn is_of(&self, parent: Option<&SessionId>, call: &CallId) -> bool {
        self.parent.as_ref() == parent && self.pending.parts().is_some_and(|(_, of)| of == *call)
    }

    /// Returns true if every child has shown all of its events.
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.count && self.open.is_empty()
    }
}

impl TreeCursor {
    /// The place before the first event of any session with the root's id.
    pub const START: Self = Self { root: EventCursor::START, calls: Vec::new() };

    /// Returns the place in the events of the root.
    pub fn root(&self) -> EventCursor {
        self.root
    }

    /// Returns the number of children at this depth that may be followed in addition. At each depth above the
    /// deepest, one place is kept for the depths below it, so that children never wait for places that their
    /// parents use.
    pub(super) fn room(&self, depth: u32) -> usize {
        let room = |depth: u32| {
            let kept = usize::try_from(SUB_AGENT_DEPTH_MAX.saturating_sub(depth)).unwrap_or_default();
            let above = self.calls.iter().filter(|call| call.depth <= depth);
            (FOLLOWED_MAX - kept).saturating_sub(above.map(|call| call.open.len()).sum())
        };
        (depth..=depth.max(SUB_AGENT_DEPTH_MAX)).map(room).min().unwrap_or_default()
    }

    pub(super) fn call(&mut self, pending: &PendingId) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|call| call.pending == *pending)
    }

    /// Notes the new place of a child.
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

    fn texts_of(&self, parent: Option<&SessionId>) -> Vec<CallText> {
        let own = self.calls.iter().filter(|call| call.parent.as_ref() == parent);
        let text = |call: &OpenCall| {
            let below = |child: &OpenChild| {
                let id = ChildNames::of(&call.pending, child.index).ok()?.id;
                let (index, after, within) = (child.index, child.after, child.within);
                Some(ChildText { index, after, within, below: self.texts_of(Some(&id)) })
            };
            Some(CallText {
                tool: call.tool.clone(),
                call: call.pending.parts()?.1,
                round: call.pending.round()?,
                count: call.count,
                is_created: call.is_created,
                in_background: call.in_background,
                next: call.next,
                open: call.open.iter().filter_map(below).collect(),
            })
        };
        own.filter_map(text).collect()
    }

    /// Adds the calls of a session with this life. Returns `None` if they cannot be calls of a tree.
    fn add(
        &mut self,
        parent: Option<&SessionId>,
        life: Incarnation,
        depth: u32,
        calls: Vec<CallText>,
    ) -> Option<()> {
        for CallText { tool, call, round, count, is_created, in_background, next, open } in calls {
            let pending = PendingId::of(life, &call, round).ok()?;
            let (parent, below) = (parent.cloned(), depth + 1);
            let children = open.iter().map(|child| OpenChild {
                index: child.index,
                after: child.after,
                within: child.within,
            });
            let open_call = OpenCall {
                parent,
                depth,
                tool,
                pending: pending.clone(),
                count,
                is_created,
                in_background,
                next,
                open: children.collect(),
            };
            let fits = open_call.open.iter().all(|child| child.index < next) && next <= count;
            if !fits || self.call(&pending).is_some() || depth > SUB_AGENT_DEPTH_MAX {
                return None;
            }
            self.calls.push(open_call);
            for child in open {
                let names = ChildNames::of(&pending, child.index).ok()?;
                self.add(Some(&names.id), names.incarnation, below, child.below)?;
            }
        }
        let followed: usize = self.calls.iter().map(|call| call.open.len()).sum();
        (followed <= FOLLOWED_MAX).then_some(())
    }
}

impl PartialEq for TreeCursor {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for TreeCursor {}

/// Creates a cursor at a place in the root's events. Children of earlier calls are not followed.
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
        let calls = serde_json::to_vec(&self.texts_of(None)).map_err(|_| fmt::Error)?;
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
        let no_place = || InvalidCursor::because("not the place of a tree");
        let calls = URL_SAFE_NO_PAD.decode(calls).map_err(|_| no_place())?;
        let calls = serde_json::from_slice(&calls).map_err(|_| no_place())?;
        let mut cursor = Self::from(root.parse::<EventCursor>()?);
        let life = cursor.root.parts().0.ok_or_else(no_place)?;
        cursor.add(None, life, 1, calls).ok_or_else(no_place)?;
        Ok(cursor)
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
    use holdover_core::ids::Epoch;

    use super::*;

    fn cursor(open: Vec<OpenChild>, next: u32) -> TreeCursor {
        let life = Incarnation::derived([7; 16]);
        let call = OpenCall {
            parent: None,
            depth: 1,
            tool: ToolName::new("clerk").unwrap(),
            pending: PendingId::of(life, &CallId::new("c1-0").unwrap(), 1).unwrap(),
            count: 100,
            in_background: false,
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
        let mut nested = cursor(vec![OpenChild::new(0), within], 5);
        let names = ChildNames::of(&nested.calls[0].pending, 4).unwrap();
        let pending = PendingId::of(names.incarnation, &CallId::new("c3-1").unwrap(), 2).unwrap();
        let below = OpenCall { parent: Some(names.id), depth: 2, pending, ..nested.calls[0].clone() };
        nested.calls.push(OpenCall { open: vec![OpenChild::new(1)], ..below });
        for cursor in [TreeCursor::START, cursor(vec![OpenChild::new(0), within], 5), nested] {
            let read: TreeCursor = cursor.to_string().parse().unwrap();
            assert_eq!(format!("{read:?}"), format!("{cursor:?}"));
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
