//! The messages that the events of a stream announce, read some at a time.

use std::collections::VecDeque;

use holdover_core::ids::{MessageSeq, SessionId, SessionKey};
use holdover_runtime_local::Runtime;
use serde_json::value::{RawValue, to_raw_value};

use crate::problem::Problem;
use crate::wire::Positioned;

/// The most messages that are read at once.
const AT_ONCE: u32 = 64;
/// The most bytes of messages that a stream keeps for later events.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// Messages of one session, as JSON, that were read before the events that announce them.
#[derive(Default)]
pub(super) struct Ahead {
    session: Option<SessionId>,
    messages: VecDeque<(MessageSeq, Box<RawValue>)>,
}

impl Ahead {
    /// Returns the message at this position. If it was not read before, those after it are read with it.
    pub(super) async fn message(
        &mut self,
        runtime: &Runtime,
        key: &SessionKey,
        seq: MessageSeq,
    ) -> Result<Option<Box<RawValue>>, Problem> {
        if self.session.as_ref() != Some(&key.id) {
            *self = Self { session: Some(key.id.clone()), messages: VecDeque::new() };
        }
        while self.messages.front().is_some_and(|(at, _)| *at < seq) {
            self.messages.pop_front();
        }
        if self.messages.front().is_none_or(|(at, _)| *at != seq) {
            self.read(runtime, key, seq).await?;
        }
        Ok(self.messages.pop_front_if(|(at, _)| *at == seq).map(|(_, message)| message))
    }

    async fn read(&mut self, runtime: &Runtime, key: &SessionKey, seq: MessageSeq) -> Result<(), Problem> {
        let before = MessageSeq(seq.0.saturating_sub(1));
        let page = match runtime.messages_page(key, before, AT_ONCE).await {
            Ok(page) => page,
            // A later message may be one that this version cannot read.
            Err(_) => runtime.messages_page(key, before, 1).await?,
        };
        self.messages.clear();
        let mut bytes = 0;
        for entry in page.items {
            let seq = entry.seq;
            // All maps in messages have text keys, so they can be written as JSON.
            let Ok(message) = to_raw_value(&Positioned::from(entry)) else { break };
            bytes += message.get().len();
            if bytes > KEPT_BYTES_MAX && !self.messages.is_empty() {
                break;
            }
            self.messages.push_back((seq, message));
        }
        Ok(())
    }
}
