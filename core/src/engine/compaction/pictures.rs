//! Limits how many pictures a model sees at once: only the newest ones, within bounds.

use std::sync::Arc;

use crate::words::image::{Images, Room};
use crate::words::list::SharedList;
use crate::words::message::{Message, ToolResult, UserMessage};

/// The messages of a list that have pictures, and the number of their pictures that the list shows.
///
/// The newest pictures are shown, as far as there is [`Room`]. A note replaces the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pictures(Vec<Pictured>);

#[derive(Debug, Clone)]
struct Pictured {
    /// The place in the list.
    at: usize,
    /// The message with all of its pictures.
    whole: Arc<Message>,
    /// The number of pictures that the list shows, counted from the newest. Once a message shows fewer than all of
    /// its pictures, no older message shows any.
    shows: usize,
}

impl Pictures {
    /// Adds the message at this place of the list, with all of its pictures. Messages must be added in the order of
    /// their places.
    pub(crate) fn note(&mut self, at: usize, whole: &Arc<Message>) {
        let shows = whole.images().iter().len();
        if shows > 0 {
            self.0.push(Pictured { at, whole: Arc::clone(whole), shows });
        }
    }

    /// Forgets the messages from this place on.
    pub(crate) fn truncate(&mut self, at: usize) {
        self.0.truncate(self.0.partition_point(|pictured| pictured.at < at));
    }

    /// Replaces messages in the list so that it stays within the bounds. Only messages that have shown pictures, or
    /// show them now, are looked at.
    pub(crate) fn bound(&mut self, list: &mut SharedList<Arc<Message>>) {
        let mut room = Room::default();
        for Pictured { at, whole, shows } in self.0.iter_mut().rev() {
            // No older message shows pictures either.
            if room.is_full() && *shows == 0 {
                break;
            }
            let images = whole.images();
            let kept = images.iter().rev().take_while(|image| room.takes(image)).count();
            if kept != *shows {
                *shows = kept;
                list.set(*at, showing(whole, images, kept));
            }
        }
    }
}

/// Returns the message with this number of its newest pictures, and a note on the others.
fn showing(whole: &Arc<Message>, images: &Images, kept: usize) -> Arc<Message> {
    match images.iter().len() - kept {
        0 => Arc::clone(whole),
        left_out => Arc::new(with(whole, images.newest(kept), &word_on(left_out))),
    }
}

fn word_on(left_out: usize) -> String {
    let pictures = if left_out == 1 { "a picture is".to_owned() } else { format!("{left_out} pictures are") };
    format!("[{pictures} left out here: only the newest are shown]")
}

/// Returns the message with these pictures, and a note after its text.
fn with(message: &Message, images: Images, word: &str) -> Message {
    let text = |text: &str| if text.is_empty() { word.to_owned() } else { format!("{text}\n{word}") };
    match message {
        Message::User(said) => Message::User(UserMessage { text: text(&said.text), images, ..said.clone() }),
        Message::Tool(result) => {
            Message::Tool(ToolResult { content: text(&result.content), images, ..result.clone() })
        }
        Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {
            message.clone()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::words::image::tests::png;
    use crate::words::image::{IMAGE_BYTES_MAX, IMAGES_MAX, Image};

    fn shows(images: impl IntoIterator<Item = Image>) -> Arc<Message> {
        let images = Images::of(images).unwrap();
        Arc::new(Message::User(UserMessage { images, ..UserMessage::new("look") }))
    }

    /// Returns the messages as they are shown. Looks at all of them.
    pub(crate) fn within_bound(messages: &mut [Arc<Message>]) {
        let mut room = Room::default();
        for message in messages.iter_mut().rev() {
            let images = message.images().clone();
            let kept = images.iter().rev().take_while(|image| room.takes(image)).count();
            *message = showing(message, &images, kept);
        }
    }

    fn text_of(message: &Message) -> &str {
        let Message::User(said) = message else { panic!("a word of a user") };
        &said.text
    }

    #[test]
    fn a51_a_model_is_shown_the_newest_pictures_up_to_the_bound_and_told_of_the_others() {
        let whole = || png(IMAGE_BYTES_MAX);
        let before = [
            shows([whole()]),
            shows([png(100), whole(), whole()]),
            Arc::new(Message::User(UserMessage::new("and these"))),
            shows([whole(), whole(), whole()]),
        ];
        let messages = bounded(&before);
        let many: Vec<usize> = messages.iter().map(|message| message.images().iter().len()).collect();
        assert_eq!(many, [0, 2, 0, 3], "once one does not fit, nothing older is shown");
        assert_eq!(text_of(&messages[0]), "look\n[a picture is left out here: only the newest are shown]");
        assert_eq!(text_of(&messages[1]), "look\n[a picture is left out here: only the newest are shown]");
        assert_eq!((&messages[2], &messages[3]), (&before[2], &before[3]));

        // Small pictures are limited by their number.
        let messages = bounded(&[shows(vec![png(100); IMAGES_MAX]), shows([png(100), png(100)])]);
        let many: Vec<usize> = messages.iter().map(|message| message.images().iter().len()).collect();
        assert_eq!(many, [IMAGES_MAX - 2, 2]);
        assert_eq!(text_of(&messages[0]), "look\n[2 pictures are left out here: only the newest are shown]");
    }

    fn bounded(messages: &[Arc<Message>]) -> SharedList<Arc<Message>> {
        let (mut list, mut pictures) = (SharedList::new(), Pictures::default());
        push(messages, &mut list, &mut pictures);
        pictures.bound(&mut list);
        list
    }

    fn push(messages: &[Arc<Message>], list: &mut SharedList<Arc<Message>>, pictures: &mut Pictures) {
        for message in messages {
            pictures.note(list.len(), message);
            list.push(Arc::clone(message));
        }
    }

    static SIZES: LazyLock<[Image; 3]> = LazyLock::new(|| [100, 1 << 18, 3 << 18].map(png));

    proptest! {
        /// Each part has the number of messages that are removed from the end, and the sizes of the pictures of
        /// those that are added.
        #[test]
        fn a51_what_is_bounded_part_by_part_is_what_is_bounded_at_once(
            parts in proptest::collection::vec(
                (0..6_usize, proptest::collection::vec(proptest::collection::vec(0..SIZES.len(), 0..8), 0..5)),
                0..8,
            ),
        ) {
            let (mut list, mut pictures, mut all) = (SharedList::new(), Pictures::default(), Vec::new());
            for (gone, come) in parts {
                let left = all.len().saturating_sub(gone);
                all.truncate(left);
                list.truncate(left);
                pictures.truncate(left);
                let of = |sizes: Vec<usize>| shows(sizes.into_iter().map(|size| SIZES[size].clone()).take(6));
                let come: Vec<_> = come.into_iter().map(of).collect();
                push(&come, &mut list, &mut pictures);
                all.extend(come);
                let before = list.clone();
                pictures.bound(&mut list);
                let mut expected = all.clone();
                within_bound(&mut expected);
                prop_assert!(list.iter().eq(&expected));
                let same = |at: &usize| Arc::ptr_eq(&before[*at], &list[*at]) || before[*at] != list[*at];
                prop_assert!((0..list.len()).all(|at| same(&at)), "nothing is made anew for nothing");
            }
        }
    }
}
