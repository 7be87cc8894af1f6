//! Takes up the children of calls: notes each call when its event is shown, and follows its children as there is
//! room.

use holdover_core::event::Event;

use super::super::cursor::{FOLLOWED_MAX, OpenCall, OpenChild};
use super::super::feed::{Feed, Who};
use super::{TreeTail, WAITS};
use crate::runtime::EventEntry;

/// The number of places that background children may not take.
pub(in crate::runtime::tree) const KEPT: usize = FOLLOWED_MAX / 2;

impl TreeTail {
    /// Notes a call whose children are to be followed, if the event reports one.
    pub(super) fn note(&mut self, feed: &Feed, entry: &EventEntry) {
        let parent = feed.parent();
        let (asked, in_background) = if let Event::Began { agent, pending, children, .. } = &entry.event {
            (Some((agent, pending, children)), true)
        } else if let Event::Asked { tool, pending, children, .. } = &entry.event {
            (Some((tool, pending, children)), false)
        } else {
            (None, false)
        };
        if let Some((tool, pending, children)) = asked
            && let Ok(tool) = tool.parse()
            && let (Some((life, _)), (own, _)) = (pending.parts(), entry.cursor.parts())
            // The events of a fork's source report children that the fork does not have.
            && own == Some(life)
            && *children > 0
        {
            self.cursor.calls.push(OpenCall {
                parent: parent.cloned(),
                depth: feed.member.depth + 1,
                tool,
                pending: pending.clone(),
                count: *children,
                is_created: in_background,
                in_background,
                next: 0,
                open: Vec::new(),
            });
        }
        if let Event::Call { call: of, is, .. } = &entry.event
            && is == WAITS
            && let Some(call) = self.cursor.calls.iter_mut().find(|call| call.is_of(parent, of))
        {
            call.is_created = true;
            let pending = call.pending.clone();
            self.read_resting(&pending);
        }
    }

    /// Follows waiting children as long as there is room, the deepest first.
    pub(super) fn take_up(&mut self) {
        loop {
            let cursor = &self.cursor;
            let room = |call: &OpenCall| {
                // Background children may run for ever. They leave places for children that hold back an event.
                let kept = if call.in_background { KEPT } else { 0 };
                cursor.room(call.depth) > kept
            };
            let waits = |call: &&OpenCall| call.next < call.count && room(call);
            let deepest =
                cursor.calls.iter().filter(waits).max_by_key(|call| (!call.in_background, call.depth));
            let Some(pending) = deepest.map(|call| call.pending.clone()) else { return };
            let Some(call) = self.cursor.call(&pending) else { return };
            let index = call.next;
            call.next += 1;
            call.open.push(OpenChild::new(index));
            let in_background = call.in_background;
            let who = Who::Child { pending, index };
            if in_background {
                self.loose.insert(who.clone());
            }
            self.read(who);
        }
    }
}
