#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test may panic")]

use holdover_core::ids::{CallId, Epoch};
use holdover_core::message::CallRequest;
use proptest::prelude::*;

use super::*;

/// What a page shows: its complete and its open pieces, in order.
#[derive(Debug, Default)]
struct Page {
    pieces: Vec<(String, PieceKind, String, bool)>,
    calls: usize,
}

impl Page {
    /// Shows moments, and checks that their order makes sense to a client.
    fn show(&mut self, told: Vec<Moment>) {
        for moment in told {
            match moment {
                Moment::PieceBegan { id, kind } => {
                    assert!(self.pieces.iter().all(|piece| piece.0 != id && !piece.3), "{id} in {self:?}");
                    self.pieces.push((id, kind, String::new(), true));
                }
                Moment::PieceGrew { id, kind, text } => {
                    let piece = self.open(&id, kind);
                    assert!(!text.is_empty());
                    piece.2.push_str(&text);
                }
                Moment::PieceEnded { id, kind } => self.open(&id, kind).3 = false,
                Moment::Voided { pieces } => {
                    let shown: Vec<_> = self.pieces.iter().map(|piece| piece.0.clone()).collect();
                    assert_eq!(pieces, shown, "all pieces of the attempt are void");
                    assert!(self.pieces.iter().all(|piece| !piece.3), "{self:?}");
                    self.pieces.clear();
                }
                Moment::Called(_) => self.calls += 1,
                other => panic!("{other:?}"),
            }
        }
    }

    fn open(&mut self, id: &str, kind: PieceKind) -> &mut (String, PieceKind, String, bool) {
        let found = self.pieces.iter_mut().find(|piece| piece.0 == id).unwrap();
        assert!(found.1 == kind && found.3, "{found:?}");
        found
    }

    fn texts(&self) -> Vec<(PieceKind, &str)> {
        self.pieces.iter().map(|piece| (piece.1, piece.2.as_str())).collect()
    }
}

fn stream(attempt: u32) -> StreamId {
    StreamId { run: Epoch(1), number: attempt }
}

fn call() -> AssistantPart {
    let id = CallId::new("c1").unwrap();
    AssistantPart::Call(CallRequest { id, tool: "pay".into(), arguments: "{}".into() })
}

/// A part of what a model writes.
#[derive(Debug, Clone)]
enum Written {
    Text(String),
    Reasoning(String),
    Call,
}

impl Written {
    fn delta(&self) -> Delta {
        match self.clone() {
            Self::Text(text) => Delta::Text { text },
            Self::Reasoning(text) => Delta::Reasoning { text },
            Self::Call => Delta::CallStarted { tool: "pay".into() },
        }
    }

    fn part(&self) -> AssistantPart {
        match self.clone() {
            Self::Text(text) => AssistantPart::Text { text },
            Self::Reasoning(text) => AssistantPart::Reasoning { text, signature: None },
            Self::Call => call(),
        }
    }
}

fn written() -> impl Strategy<Value = Vec<Written>> {
    let part = prop_oneof![
        4 => "[a-cé]{1,4}".prop_map(Written::Text),
        2 => "[x-z]{1,4}".prop_map(Written::Reasoning),
        1 => Just(Written::Call),
    ];
    prop::collection::vec(part, 0..8)
}

proptest! {
    /// However many attempts die, wherever each is cut, and whatever of the last one was shown before it was committed: the
    /// page ends with the texts of the message and nothing else.
    #[test]
    fn a_page_ends_with_the_texts_of_the_message(
        attempts in prop::collection::vec((written(), any::<prop::sample::Index>(), any::<bool>()), 0..4),
        last in written(),
        shown in any::<prop::sample::Index>(),
        rewritten in any::<bool>(),
    ) {
        let (mut narrator, mut page) = (Narrator::default(), Page::default());
        let mut number = 0;
        for (attempt, cut, said_so) in attempts {
            number += 1;
            let mut told = Vec::new();
            for part in &attempt[..cut.index(attempt.len() + 1)] {
                narrator.delta(stream(number), part.delta(), &mut told);
            }
            // An attempt may be followed by another one without a word about its end.
            if said_so {
                narrator.void(&mut told);
            }
            page.show(told);
        }
        number += 1;
        let mut told = Vec::new();
        for part in &last[..shown.index(last.len() + 1)] {
            narrator.delta(stream(number), part.delta(), &mut told);
        }
        let mut parts: Vec<_> = last.iter().map(Written::part).collect();
        if rewritten {
            // A hook may put other words in place of those that were shown.
            parts.insert(0, AssistantPart::Text { text: "!".into() });
        }
        let said = AssistantMessage::new(parts);
        let wanted = texts(&said);
        let calls = said.calls().count();
        narrator.said("message-9", Some(stream(number)), said, &mut told);
        page.show(told);
        let wanted: Vec<_> = wanted.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
        prop_assert_eq!(page.texts(), wanted);
        prop_assert!(page.pieces.iter().all(|piece| !piece.3));
        prop_assert_eq!(page.calls, calls);
    }
}

#[test]
fn what_was_shown_is_not_said_again() {
    let (mut narrator, mut told) = (Narrator::default(), Vec::new());
    narrator.delta(stream(1), Delta::Text { text: "one ".into() }, &mut told);
    narrator.delta(stream(1), Delta::Text { text: "two".into() }, &mut told);
    let said = AssistantMessage::new(vec![AssistantPart::Text { text: "one two three".into() }]);
    narrator.said("message-2", Some(stream(1)), said, &mut told);
    let grown: Vec<&str> = told
        .iter()
        .filter_map(|moment| match moment {
            Moment::PieceGrew { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(grown, ["one ", "two", " three"]);
    assert!(!told.iter().any(|moment| matches!(moment, Moment::Voided { .. })));
}
