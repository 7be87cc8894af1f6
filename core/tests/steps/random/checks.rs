//! Checks what must hold at the end of every random scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdover_core::engine::ATTEMPTS_MAX;
use holdover_core::event::Event;
use holdover_core::ids::CallId;
use holdover_core::letter::{Letter, LetterCause};
use holdover_core::message::{Message, MessagePolicy, PendingBody};
use holdover_core::payload::Digest;
use holdover_core::store::{NewPending, PendingKind, SessionStatus};
use holdover_core::tool::EffectClass;

use crate::bench::Write;
use crate::check;
use crate::world::effect_of;

use super::world::World;

impl World<'_> {
    pub(super) fn check(&self) {
        let session = self.bench.session();
        assert!(session.status.at_rest() || session.status == SessionStatus::Aborted, "{session:?}");
        check::at_rest(self.bench);
        let refused = |event: &Arc<Event>| matches!(event.as_ref(), Event::Error { error } if error.code == "engine.refused");
        assert!(!check::told(self.bench).iter().any(refused), "an input had no place where it came");
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
        self.check_letters();
    }

    /// Returns the letters that the session has left, in order.
    pub(super) fn letters(&self) -> Vec<Letter> {
        let opened = |write: &Write| match write {
            Write::Commit(commit) => commit.open.iter().filter_map(letter_in).collect(),
            Write::Stage(_) => Vec::new(),
        };
        self.bench.writes.borrow().iter().flat_map(opened).collect()
    }

    /// C52: a turn that was given up although it may succeed later left one letter, whose error is that of the turn. At
    /// the end somebody has asked for the turn to be tried again, or the session went on or ended for good, so that no
    /// pending call is open.
    fn check_letters(&self) {
        let pending = self.bench.pending();
        assert!(pending.is_empty(), "nobody owes an answer any more: {pending:?}");
        let events = check::told(self.bench);
        let failed = |event| match event {
            &Event::Done { turn, ref ending, .. } => ending.error.as_ref().map(|error| (turn, error)),
            _ => None,
        };
        let failed: BTreeMap<_, _> = events.iter().map(Arc::as_ref).filter_map(failed).collect();
        let letters = self.letters();
        let about: BTreeSet<_> = letters.iter().map(|letter| letter.turn).collect();
        assert_eq!(about.len(), letters.len(), "one letter a turn: {letters:?}");
        for letter in &letters {
            assert_eq!(failed.get(&letter.turn), Some(&&letter.error), "{letter:?}");
            let died = letter.cause == LetterCause::Poisoned;
            // The run that gives the turn up may die too. Then the next one does it, and counts that run as well.
            assert!(!died || letter.attempts >= ATTEMPTS_MAX, "{letter:?}");
        }
        for (turn, error) in failed {
            let may_pass = ["engine.poisoned", "engine.circuit_open"].contains(&error.code.as_str());
            assert!(!may_pass || about.contains(&turn), "turn {turn} left no letter: {error:?}");
        }
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

/// Returns the content of a pending call that opens, if it is a dead letter.
fn letter_in(opened: &NewPending) -> Option<Letter> {
    let read = || serde_json::from_str(&opened.body.parse::<PendingBody>().unwrap().arguments).unwrap();
    (opened.kind == PendingKind::DeadLetter).then(read)
}

/// Returns the number in a message such as `word 3`, also after the message was edited.
pub(super) fn number_of(text: &str) -> usize {
    let number = text.strip_prefix("word ").and_then(|rest| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).expect("one of ours")
}
