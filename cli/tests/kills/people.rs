//! People who send messages, answers and approvals while the workers die. Each of these was acknowledged, so
//! none may be lost or applied twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use fastrand::Rng;

use crate::scene::{ASKERS, asking};
use crate::support::Fixture;

const STORM: u8 = 0;
const END: u8 = 1;
const GONE: u8 = 2;

/// The pause between two checks of the pending calls.
const PAUSE: Duration = Duration::from_millis(100);

/// The phase that the people are in, shared with the thread that kills the workers.
#[derive(Default)]
pub(crate) struct People {
    now: AtomicU8,
}

/// A guard that makes the people stop when it is dropped.
pub(crate) struct Leaving<'p>(&'p People);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.now.store(GONE, Ordering::SeqCst);
    }
}

/// A session and one of its calls.
type At = (String, String);

/// Everything that the store has acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The messages of each session, in the order in which they were sent.
    notes: BTreeMap<String, Vec<String>>,
    answers: BTreeMap<At, String>,
    approvals: Vec<At>,
}

impl People {
    /// Makes the people send no more messages, and answer every question with `stop`.
    pub(crate) fn come_to_an_end(&self) {
        self.now.store(END, Ordering::SeqCst);
    }

    /// Returns a guard; when it is dropped, the people stop.
    pub(crate) fn leaving(&self) -> Leaving<'_> {
        Leaving(self)
    }

    /// Sends messages, answers and approvals until the people are told to stop. Returns all that was
    /// acknowledged.
    pub(crate) fn speak(&self, fixture: &Fixture, round: u64) -> Said {
        let (mut said, mut rng) = (Said::default(), Rng::with_seed(round));
        loop {
            let now = self.now.load(Ordering::SeqCst);
            if now == GONE {
                return said;
            }
            if now == STORM {
                said.note(fixture, asking(rng.usize(0..ASKERS)));
            }
            said.give_what_is_owed(fixture, now == END);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Said {
    fn note(&mut self, fixture: &Fixture, session: String) {
        let notes = self.notes.entry(session.clone()).or_default();
        let note = format!("note {}", notes.len() + 1);
        fixture.run(&["send", &session, &note, "--detach"]).ends(0);
        notes.push(note);
    }

    fn give_what_is_owed(&mut self, fixture: &Fixture, at_the_end: bool) {
        for owed in fixture.run(&["sessions", "pending", "--json"]).ends(0).lines() {
            if owed["answered"] == true {
                continue;
            }
            let of = |field: &str| owed[field].as_str().unwrap().to_owned();
            let (session, call) = (of("session"), of("call"));
            let at = (session.clone(), call.clone());
            if owed["kind"] == "approval" {
                fixture.run(&["approve", &session, &call, "--detach"]).ends(0);
                self.approvals.push(at);
            } else {
                let answer = if at_the_end { "stop".to_owned() } else { format!("the answer to {call}") };
                fixture.run(&["answer", &session, &call, &answer, "--detach"]).ends(0);
                assert_eq!(self.answers.insert(at, answer), None, "{session} asked for {call} again");
            }
        }
    }

    /// Compares the transcripts with the acknowledged messages, answers and approvals.
    pub(crate) fn check(&self, fixture: &Fixture) {
        assert!(!self.notes.is_empty() && !self.answers.is_empty() && !self.approvals.is_empty(), "{self:?}");
        for session in (0..ASKERS).map(asking) {
            let messages = fixture.run(&["sessions", "messages", &session, "--json"]).ends(0).lines();
            let of = |role: &str| {
                let role = role.to_owned();
                messages.iter().map(|entry| &entry["message"]).filter(move |message| message["role"] == role)
            };
            let heard: Vec<&str> = of("user").map(|message| message["text"].as_str().unwrap()).collect();
            let notes = self.notes.get(&session).map(Vec::as_slice).unwrap_or_default();
            assert_eq!(heard.split_first(), Some((&"begin", notes_of(notes).as_slice())), "{session}");

            let mut found = BTreeMap::new();
            for result in of("tool") {
                let call = result["call"].as_str().unwrap().to_owned();
                assert_eq!(result["status"], "done", "{session}: {result}");
                let content = result["content"].as_str().unwrap().to_owned();
                assert_eq!(found.insert(call.clone(), content), None, "{session}: {call} has two results");
            }
            let of_session = |(name, _): &&At| *name == session;
            for at in self.approvals.iter().filter(of_session) {
                assert!(found.remove(&at.1).is_some(), "{at:?} was approved and has no result");
            }
            for (at, answer) in self.answers.iter().filter(|(at, _)| of_session(at)) {
                assert_eq!(found.remove(&at.1).as_ref(), Some(answer), "{at:?}");
            }
            assert_eq!(found, BTreeMap::new(), "{session}: nobody gave these");
        }
    }
}

fn notes_of(notes: &[String]) -> Vec<&str> {
    notes.iter().map(String::as_str).collect()
}
