//! Checks what must hold at the end of every random scenario.

use std::collections::{BTreeMap, BTreeSet};

use holdover_core::event::Event;
use holdover_core::ids::CallId;
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::payload::Digest;
use holdover_core::store::SessionStatus;
use holdover_core::tool::EffectClass;

use crate::check;
use crate::world::effect_of;

use super::world::World;

impl World<'_> {
    pub(super) fn check(&self) {
        let session = self.bench.session();
        assert!(session.status.at_rest() || session.status == SessionStatus::Aborted, "{session:?}");
        check::at_rest(self.bench);
        let refused =
            |event: &Event| matches!(event, Event::Error { error } if error.code == "engine.refused");
        assert!(!check::events(self.bench).iter().any(refused), "an input had no place where it came");
        let transcript = self.bench.transcript();
        let words: Vec<usize> = transcript
            .iter()
            .filter_map(|message| match message {
                Message::User(said) if said.text.starts_with("[course correction") => None,
                Message::User(said) => Some(number_of(&said.text)),
                _ => None,
            })
            .collect();
        let once: BTreeSet<usize> = words.iter().copied().collect();
        assert_eq!(once.len(), words.len(), "each message is taken once (U08): {words:?}");
        if session.status != SessionStatus::Aborted {
            assert_eq!(session.unread, 0, "what was accepted was consumed (INV-26)");
            let all = 1..=self.said.len();
            let missing: Vec<usize> =
                all.filter(|word| !once.contains(word) && !self.withdrawn.contains(word)).collect();
            assert!(missing.is_empty(), "accepted and never taken (U08): {missing:?} of {words:?}");
        }
        for waits in [true, false] {
            let policy = |word: &usize| self.said[*word - 1].unwrap_or(MessagePolicy::Steer);
            let of_class: Vec<usize> =
                words.iter().copied().filter(|word| policy(word).waits() == waits).collect();
            assert!(of_class.is_sorted(), "first come, first taken (B49): {words:?}");
        }
        self.check_sends(&transcript);
    }

    fn check_sends(&self, transcript: &[Message]) {
        let mut by_key: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut by_call: BTreeMap<CallId, Vec<String>> = BTreeMap::new();
        for send in self.bench.sends.borrow().iter() {
            let bytes = (send.tool.to_string(), send.arguments.clone());
            let first = by_key.entry(send.idempotency_key.clone()).or_insert_with(|| bytes.clone());
            assert_eq!(*first, bytes, "one key, the same bytes (INV-14)");
            let effect = effect_of(send.tool.as_str());
            if effect != EffectClass::ReadOnly {
                let keys = by_call.entry(send.id.clone()).or_default();
                keys.push(send.idempotency_key.clone());
                assert_eq!(keys.first(), keys.last(), "one call, one key (INV-14)");
                let once = effect == EffectClass::AtMostOnce;
                let again = self.not_run.get(&send.id).copied().unwrap_or(0);
                assert!(!once || keys.len() <= 1 + again, "{} was sent twice (INV-15)", send.id);
            }
            if ["edit", "wipe"].contains(&send.tool.as_str()) {
                let approved = transcript.iter().any(|message| match message {
                    Message::Decision(record) => {
                        let bytes =
                            record.decision.arguments.as_ref().map(|text| Digest::of(text.as_bytes()));
                        record.call == send.id
                            && record.decision.approve
                            && bytes.unwrap_or(record.decision.saw) == Digest::of(send.arguments.as_bytes())
                    }
                    _ => false,
                });
                assert!(approved, "{} ran on bytes that nobody approved (INV-21)", send.id);
            }
        }
    }
}

/// Returns the number in a message such as `word 3`, also after the message was edited.
pub(super) fn number_of(text: &str) -> usize {
    let number = text.strip_prefix("word ").and_then(|rest| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).expect("one of ours")
}
