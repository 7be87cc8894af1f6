//! Escapes text before it is printed. After that, no character controls the terminal, is invisible, or changes the
//! direction of writing.
//!
//! All output of commands is escaped here: [`shown`] is for text that [`Out`](super::Out) and notes print, [`json`] for
//! objects, [`log`] for logs.

use holdover_core::text::{is_hidden, is_joiner};

/// The internal form of a style before the text is [`shown`]: a character that never occurs in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Dim,
    Bold,
    End,
}

impl Mark {
    const ALL: [Self; 3] = [Self::Dim, Self::Bold, Self::End];

    /// Returns the noncharacter that stands for the mark.
    pub(super) fn as_char(self) -> char {
        match self {
            Self::Dim => '\u{fdd0}',
            Self::Bold => '\u{fdd1}',
            Self::End => '\u{fdd2}',
        }
    }

    /// Returns the terminal's code for the mark.
    fn code(self) -> &'static str {
        match self {
            Self::Dim => "\x1b[2m",
            Self::Bold => "\x1b[1m",
            Self::End => "\x1b[0m",
        }
    }

    fn of(c: char) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.as_char() == c)
    }
}

/// Returns `text` as it is printed, with its marks as codes of the terminal.
pub(super) fn shown(text: &str) -> String {
    escaped(text, |mark, shown| shown.push_str(mark.code()))
}

/// Returns `text` with everything escaped that must not be printed. Marks in it do not come from this program, and are
/// escaped too.
pub(crate) fn clean(text: &str) -> String {
    escaped(text, |mark, shown| shown.extend(mark.as_char().escape_unicode()))
}

/// Does the same as [`clean`], and also escapes line ends and tabs. Use it for names, and for all other text that must
/// stay on one line.
pub(crate) fn inline(text: &str) -> String {
    clean(text).replace('\n', "\\n").replace('\t', "\\t")
}

fn escaped(text: &str, mut marked: impl FnMut(Mark, &mut String)) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        // A joiner is needed in emoji and many scripts, but would be invisible after an ASCII character.
        let joins_nothing = is_joiner(c) && before.is_some_and(|before: char| before.is_ascii());
        match Mark::of(c) {
            Some(mark) => marked(mark, &mut shown),
            None if c == '\n' || c == '\t' => shown.push(c),
            None if is_hidden(c) || joins_nothing => shown.extend(c.escape_default()),
            None => shown.push(c),
        }
        before = Some(c);
    }
    shown
}

/// Returns a line of JSON with hidden characters escaped. A JSON parser reads the same value as before.
pub(crate) fn json(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for c in line.chars() {
        if is_hidden(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns a text for the log. Colour codes are kept: the log's writer adds them, and escapes those in its input.
pub(super) fn log(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t' | '\x1b') {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        for show in [clean, shown] {
            assert_eq!(show("a\x1b[2Jb\tc\nd\r"), "a\\u{1b}[2Jb\tc\nd\\r");
            assert_eq!(
                show("a\u{202e}b\u{2066}c\u{2028}d é 👩\u{200d}🚀"),
                "a\\u{202e}b\\u{2066}c\\u{2028}d é 👩\u{200d}🚀"
            );
            assert_eq!(show("ad\u{200b}m\u{200d}in\u{feff}"), "ad\\u{200b}m\\u{200d}in\\u{feff}");
        }
        assert_eq!(inline("a\n\tb\r"), "a\\n\\tb\\r");
    }

    #[test]
    fn a_style_is_ours_alone() {
        let text = format!("{}a{}", Mark::Bold.as_char(), Mark::End.as_char());
        assert_eq!(shown(&text), "\x1b[1ma\x1b[0m");
        assert_eq!(clean(&text), "\\u{fdd1}a\\u{fdd2}");
    }

    #[test]
    fn json_says_the_same() {
        let line = serde_json::json!({ "id": "ab\u{202e}\u{7f}\u{e0041}\x1b" }).to_string();
        let safe = json(&line);
        assert!(safe.chars().all(|c| !is_hidden(c)), "{safe}");
        let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        assert_eq!(read(&safe), read(&line));
    }
}
