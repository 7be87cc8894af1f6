//! The kept list equals a list that is built again, whatever happened to the session in between.
//!
//! Requirements: A33, A34, A51, B10, U01.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::pictures::tests::within_bound;
use super::*;
use crate::machine::view::View;
use crate::words::ids::CallId;
use crate::words::image::tests::png;
use crate::words::image::{IMAGE_BYTES_MAX, Image, Images};
use crate::words::message::{
    AssistantMessage, AssistantPart, InShort, Notice, ResultStatus, Summary, ToolResult, UserMessage,
};

/// The most characters of a result that are shown.
const MOST: usize = 5_000;

static PICTURE: LazyLock<Image> = LazyLock::new(|| png(IMAGE_BYTES_MAX));

/// An event in the life of a session. Places are counted from its end.
#[derive(Debug, Clone)]
enum Happens {
    UserSaid {
        pictures: usize,
    },
    ModelSaid,
    Result {
        chars: usize,
        pictures: usize,
    },
    Noticed {
        told: bool,
    },
    PutInShort {
        ago: u64,
        text: char,
    },
    Cleared {
        ago: u64,
    },
    InPart {
        ago: u64,
    },
    Compacted {
        ago: u64,
    },
    TakenBack {
        ago: u64,
    },
    /// The decisions since then are forgotten, as if they had not been made.
    Forgotten {
        ago: usize,
    },
    Asked,
}

fn happens() -> impl Strategy<Value = Happens> {
    let size = prop_oneof![Just(20), Just(600), Just(2_000), Just(9_000)];
    prop_oneof![
        2 => (0..3_usize).prop_map(|pictures| Happens::UserSaid { pictures }),
        3 => Just(Happens::ModelSaid),
        6 => (size, 0..3_usize).prop_map(|(chars, pictures)| Happens::Result { chars, pictures }),
        1 => any::<bool>().prop_map(|told| Happens::Noticed { told }),
        1 => (0..12_u64, prop_oneof![Just('a'), Just('b')])
            .prop_map(|(ago, text)| Happens::PutInShort { ago, text }),
        1 => (0..12_u64).prop_map(|ago| Happens::Cleared { ago }),
        1 => (0..12_u64).prop_map(|ago| Happens::InPart { ago }),
        1 => (0..12_u64).prop_map(|ago| Happens::Compacted { ago }),
        1 => (0..12_u64).prop_map(|ago| Happens::TakenBack { ago }),
        1 => (1..6_usize).prop_map(|ago| Happens::Forgotten { ago }),
        8 => Just(Happens::Asked),
    ]
}

/// A session as a run sees it.
#[derive(Debug, Clone, Default)]
struct Session {
    read: Vec<(MessageSeq, Arc<Message>)>,
    added: SharedList<(MessageSeq, Arc<Message>)>,
    view: View,
}

impl Session {
    fn last(&self) -> MessageSeq {
        MessageSeq((self.read.len() + self.added.len()) as u64)
    }

    fn ago(&self, ago: u64) -> MessageSeq {
        MessageSeq(self.last().0.saturating_sub(ago))
    }

    fn say(&mut self, message: Message) -> MessageSeq {
        let seq = self.last().next();
        self.added.push((seq, Arc::new(message)));
        seq
    }

    /// Applies the event with this number. The text of messages contains the number.
    fn live(&mut self, number: usize, happens: &Happens) {
        let text = || format!("so it went {number}");
        match *happens {
            Happens::UserSaid { pictures } => {
                let images = Images::of(vec![PICTURE.clone(); pictures]).unwrap();
                self.say(Message::User(UserMessage { images, ..UserMessage::new(text()) }));
            }
            Happens::ModelSaid => {
                let parts = vec![AssistantPart::Text { text: text() }];
                self.say(Message::Assistant(AssistantMessage::new(parts)));
            }
            Happens::Result { chars, pictures } => {
                self.say(Message::Tool(result(number, chars, pictures)));
            }
            Happens::Noticed { told } => {
                self.say(Message::Notice(Notice { told, ..Notice::new(text()) }));
            }
            Happens::PutInShort { ago, text } => {
                let in_short = vec![InShort { of: self.ago(ago), text: text.to_string() }];
                self.say(Message::Notice(Notice { in_short, ..Notice::new("in short") }));
            }
            Happens::Cleared { ago } => self.view.cleared = self.ago(ago),
            Happens::InPart { ago } => self.view.in_part = self.ago(ago),
            Happens::Compacted { ago } => {
                let before = self.ago(ago);
                let at = self.say(Message::Summary(Summary { text: text(), before, extract: false }));
                self.view.compact(at, before, 0);
            }
            Happens::TakenBack { ago } => {
                let to = self.ago(ago);
                let at = self.say(Message::Notice(Notice { rewound: Some(to), ..Notice::new(text()) }));
                self.view.rewind(to, at, 0);
            }
            Happens::Forgotten { .. } | Happens::Asked => {}
        }
    }

    fn shown(&self) -> Shown {
        Shown {
            ranges: self.view.ranges(self.last()),
            claimed: MessageSeq(self.read.len() as u64),
            added: self.added.clone(),
            cleared: self.view.cleared,
            in_part: self.view.in_part,
        }
    }
}

fn result(number: usize, chars: usize, pictures: usize) -> ToolResult {
    ToolResult {
        call: CallId::new("c1-0").unwrap(),
        tool: "look".to_owned(),
        status: ResultStatus::Done,
        content: format!("{number} {}", "x".repeat(chars)),
        edited_arguments: None,
        duration_ms: None,
        stop: false,
        broken: false,
        sent: None,
        denial: None,
        changes: Vec::new(),
        instead_of: Vec::new(),
        images: Images::of(vec![PICTURE.clone(); pictures]).unwrap(),
    }
}

/// Returns the messages that a model sees, built from nothing.
fn made_from_nothing(now: &Shown, read: &[(MessageSeq, Arc<Message>)]) -> Vec<Arc<Message>> {
    let placed: Vec<_> = now.messages(read).cloned().collect();
    let cleared = Cleared::of(&placed, now.cleared).in_part(now.in_part);
    let seen = placed.iter().filter_map(|(seq, message)| shown(*seq, message, &cleared, MOST));
    let mut seen: Vec<_> = seen.collect();
    within_bound(&mut seen);
    seen
}

/// Applies these events to a session that had these messages when its run began, and checks the result at the end.
fn play(before: &[Happens], life: &[Happens]) {
    let mut session = Session::default();
    before.iter().enumerate().for_each(|(number, happens)| session.live(number, happens));
    session.read = std::mem::take(&mut session.added).iter().cloned().collect();
    let (mut seen, mut remembered) = (Seen::default(), vec![session.clone()]);
    for (number, happens) in life.iter().chain([&Happens::Asked]).enumerate() {
        session.live(before.len() + number, happens);
        if let Happens::Forgotten { ago } = happens {
            remembered.truncate(remembered.len().saturating_sub(*ago).max(1));
            session = remembered[remembered.len() - 1].clone();
        } else if matches!(happens, Happens::Asked) {
            let shown = session.shown();
            let expected = made_from_nothing(&shown, &session.read);
            let messages = seen.update(&shown, &session.read, MOST);
            assert!(messages.iter().eq(&expected), "{shown:?}:\n{messages:?}\nnot\n{expected:?}");
        } else {
            remembered.push(session.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn u01_what_is_kept_says_the_same_as_what_is_made_from_nothing(
        before in vec(happens(), 0..12),
        life in vec(happens(), 0..40),
    ) {
        play(&before, &life);
    }
}

#[test]
fn u01_a_step_looks_at_what_is_new_and_at_results_that_are_shown_otherwise() {
    let mut session = Session::default();
    let mut seen = Seen::default();
    let mut before = seen.update(&session.shown(), &[], MOST);
    for step in 1..=2_000 {
        session.live(step, &Happens::ModelSaid);
        session.live(step, &Happens::Result { chars: 600, pictures: usize::from(step % 7 == 0) });
        // Old results are cleared as the engine does it: rarely, and all but the newest.
        let clears = step % 10 == 0;
        if clears {
            session.live(step, &Happens::Cleared { ago: 10 });
        }
        let now = seen.update(&session.shown(), &[], MOST);
        let anew = before.iter().zip(&now).filter(|(before, now)| !Arc::ptr_eq(before, now)).count();
        assert!(anew <= if clears { 15 } else { 2 }, "step {step}: {anew} messages were made anew");
        assert_eq!(now.len(), 2 * step);
        before = now;
    }
}
