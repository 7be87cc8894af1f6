//! Printing. The results of commands are printed through [`Out`].

pub(crate) mod debts;
pub(crate) mod escape;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod screen;
mod summaries;
pub(crate) mod usage;
pub(crate) mod view;

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdover_core::time::Timestamp;
use serde_json::Value;
use tokio::io::Interest;
use tokio::net::unix::pipe;

use self::escape::{Mark, shown};
pub(crate) use self::escape::{clean, inline};
pub(crate) use self::view::took;
use crate::args::Common;

/// The standard output. If its reader goes away (`| head`), the printing ends, but the session continues.
#[derive(Debug, Clone)]
pub(crate) struct Out {
    json: bool,
    quiet: bool,
    terminal: bool,
    dumb: bool,
    colour: bool,
    closed: Arc<AtomicBool>,
    /// The prefix of each line for people.
    before: String,
}

impl Out {
    /// Creates the output for programs or for people, as the command line says.
    pub(crate) fn new(common: &Common) -> Self {
        Self::that(common.json, common.quiet)
    }

    /// Creates the output for people.
    pub(crate) fn for_people() -> Self {
        Self::that(false, false)
    }

    fn that(json: bool, quiet: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let dumb = std::env::var_os("TERM").is_none_or(|value| value == "dumb");
        let plain = dumb || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = terminal && !json && !plain;
        Self { json, quiet, terminal, dumb, colour, closed: Arc::default(), before: String::new() }
    }

    /// Returns the same output with `mark` added to the prefix of its lines for people.
    pub(crate) fn under(&self, mark: &str) -> Self {
        Self { before: format!("{}{mark}", self.before), ..self.clone() }
    }

    /// Returns true if JSON was requested.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Returns true if a person can read the output while it is printed.
    pub(crate) fn live(&self) -> bool {
        self.terminal && !self.json && !self.quiet
    }

    /// Returns true if progress is drawn beneath the output: only on a terminal that supports it.
    pub(crate) fn draws(&self) -> bool {
        self.live() && !self.dumb
    }

    /// Draws `lines` beneath the output, if the terminal supports it.
    pub(crate) fn draw(&self, lines: &[String]) {
        if self.draws() {
            screen::draw(lines.iter().map(|line| shown(&self.dim(line))).collect());
        }
    }

    /// Returns true if `--quiet` was given.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Returns true if the reader is gone, so that further output is lost.
    pub(crate) fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns once the reader of standard output has gone away. Never returns if that cannot be detected (a file).
    pub(crate) async fn reader_left(&self) {
        let left = async {
            // Only the readiness is used: it does not matter whether this is a pipe or blocks.
            let output = std::io::stdout().as_fd().try_clone_to_owned()?;
            pipe::Sender::from_owned_fd_unchecked(output)?.ready(Interest::ERROR).await
        };
        if left.await.is_err() {
            std::future::pending().await
        }
    }

    /// Prints a progress line, unless `--quiet` was given.
    pub(crate) fn passing(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Prints a line for people. Prints nothing with `--json`.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        if !self.json {
            let text = text.as_ref();
            if self.before.is_empty() {
                self.write(&format!("{text}\n"));
            } else {
                let lines = text.split('\n').map(|line| format!("{}{line}\n", self.dim(&self.before)));
                self.write(&lines.collect::<String>());
            }
        }
    }

    /// Prints a part of a line for people.
    pub(crate) fn part(&self, text: &str) {
        if !self.json {
            self.write(text);
        }
    }

    /// Prints an object as a line of JSON. Prints nothing without `--json`.
    pub(crate) fn object(&self, object: &Value) {
        if self.json {
            self.write(&format!("{}\n", escape::json(&object.to_string())));
        }
    }

    /// Prints text both with and without `--json`.
    pub(crate) fn plain(&self, text: &str) {
        self.write(text);
    }

    /// Returns `text` dimmed, if colours are shown.
    pub(crate) fn dim(&self, text: &str) -> String {
        self.style(Mark::Dim, text)
    }

    /// Returns `text` in bold, if colours are shown.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.style(Mark::Bold, text)
    }

    fn style(&self, mark: Mark, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{}{}{}", mark.as_char(), clean(text), Mark::End.as_char())
        } else {
            text.to_owned()
        }
    }

    fn write(&self, text: &str) {
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = screen::write(&shown(text)) {
            self.closed.store(true, Ordering::Relaxed);
            if error.kind() != std::io::ErrorKind::BrokenPipe {
                // The first reason is kept.
                let _ = LOST.set(error.to_string());
            }
        }
    }
}

/// The reason why output was lost although its reader is still there.
static LOST: OnceLock<String> = OnceLock::new();

/// Returns the reason why some standard output was lost, for example a full disk. If the reader went away, nothing
/// counts as lost.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Prints a line on standard error, for messages that are not part of the result.
pub(crate) fn note(line: &str) {
    screen::cleared(|| {
        // This fails if standard error has no reader.
        let _ = writeln!(std::io::stderr(), "{}", shown(line));
    });
}

/// Returns a count with its noun: `1 call`, `2 calls`.
pub(crate) fn counted(count: impl TryInto<u64>, thing: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Returns `text` on one line: each run of whitespace becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first `chars` characters of the first line of `text`, and ` …` if there is more.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    let text = clean(text);
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(chars).collect();
    if short.len() < text.trim().len() {
        short.push_str(" …");
    }
    short
}

/// Returns an instant in seconds: `2024-05-01T12:00:00Z`.
pub(crate) fn instant(at: Timestamp) -> String {
    Timestamp::from_ms(at.as_ms().div_euclid(1000).saturating_mul(1000)).to_string()
}

/// Describes the time until `at`, rounded up to a second.
pub(crate) fn in_time(now: Timestamp, at: Timestamp) -> String {
    let left = Duration::from_secs(now.until(at).as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
    if left.is_zero() { "now".to_owned() } else { format!("in {}", humantime::format_duration(left)) }
}

/// Returns the words as a command line, quoted for a shell.
pub(crate) fn shell(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_words_back() {
        let words = ["a", "b c", "it's", "", "$x"].map(str::to_owned);
        assert_eq!(shell(&words), r"a 'b c' 'it'\''s' '' '$x'");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "call")), ["0 calls", "1 call", "2 calls"]);
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("one\ntwo", 80), "one …");
        assert_eq!(cut("abcdef", 3), "abc …");
        assert_eq!(cut("abc\n", 3), "abc");
    }

    #[test]
    fn instants_are_written_for_people() {
        assert_eq!(instant(Timestamp::from_ms(1_714_564_800_999)), "2024-05-01T12:00:00Z");
        let now = Timestamp::from_ms(1_000);
        assert_eq!(in_time(now, Timestamp::from_ms(62_500)), "in 1m 2s");
        assert_eq!(in_time(now, now), "now");
    }
}
