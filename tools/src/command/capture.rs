//! The bounded output of a command: its beginning and its end.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The number of bytes that are usually kept of a stream: one half from its beginning, the other from its end.
pub(super) const OUTPUT_BYTES: usize = 64 * 1024;
const CHUNK_BYTES: usize = 8 * 1024;

/// The beginning and the end of a stream. The middle of a long stream is left out.
pub(super) struct Capture {
    /// The number of bytes kept from the beginning, and the number kept from the end.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
    lines: Lines,
}

/// The bytes of a stream since its last line break.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Adds bytes. Returns the lines that are whole now, without empty ones, or `None` if there are none. A line longer
    /// than a chunk is returned in pieces. A carriage return ends a line, too: programs use it to repaint their progress.
    fn add(&mut self, bytes: &[u8]) -> Option<String> {
        self.0.extend_from_slice(bytes);
        let is_break = |byte: &u8| matches!(*byte, b'\n' | b'\r');
        let whole = match self.0.iter().rposition(is_break) {
            Some(last) => last + 1,
            None if self.0.len() > CHUNK_BYTES => self.0.len(),
            None => return None,
        };
        let text = self.0.drain(..whole).collect::<Vec<_>>();
        let lines = text.split(is_break).filter(|line| !line.is_empty());
        let lines = lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect::<Vec<_>>();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Default for Capture {
    fn default() -> Self {
        Self::keeping(OUTPUT_BYTES)
    }
}

impl Capture {
    /// Returns an empty capture that keeps this many bytes.
    pub(super) fn keeping(bytes: usize) -> Self {
        Self {
            half: bytes / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            lines: Lines::default(),
        }
    }

    /// Reads until the stream ends or fails. The future can be dropped at any point: the bytes read so far are kept.
    ///
    /// Calls `show` with the lines of the stream, once each, as they become whole.
    pub(super) async fn fill(&mut self, mut stream: impl AsyncRead + Unpin, show: impl Fn(String)) {
        let mut chunk = [0; CHUNK_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut chunk).await {
            self.push(&chunk[..count]);
            if let Some(lines) = self.lines.add(&chunk[..count]) {
                show(lines);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.left_out += over;
    }

    /// Returns the output, or the number of its bytes if some of them are left out.
    pub(super) fn whole(&self) -> Result<Vec<u8>, usize> {
        let (first, second) = self.tail.as_slices();
        match self.left_out {
            0 => Ok([self.head.as_slice(), first, second].concat()),
            left_out => Err(self.head.len() + self.tail.len() + left_out),
        }
    }

    /// Returns the output as text. If bytes are left out, a note between the two parts says how many.
    pub(super) fn text(&self) -> String {
        if let Ok(whole) = self.whole() {
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let (first, second) = self.tail.as_slices();
        let tail = [first, second].concat();
        format!(
            "{}\n[{} bytes left out]\n{}",
            String::from_utf8_lossy(&self.head),
            self.left_out,
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_BYTES: usize = OUTPUT_BYTES / 2;

    #[tokio::test]
    async fn beginning_and_end_are_kept() {
        for extra in [0, 1, CHUNK_BYTES, 10 * HALF_BYTES + 7] {
            let mut bytes = vec![b'a'; HALF_BYTES];
            bytes.extend(vec![b'-'; extra]);
            bytes.extend(vec![b'z'; HALF_BYTES]);
            let mut capture = Capture::default();
            capture.fill(bytes.as_slice(), drop).await;
            let middle = if extra == 0 { String::new() } else { format!("\n[{extra} bytes left out]\n") };
            let text = format!("{}{middle}{}", "a".repeat(HALF_BYTES), "z".repeat(HALF_BYTES));
            assert!(capture.text() == text, "{extra} extra bytes");
        }
    }

    #[tokio::test]
    async fn a_character_on_the_seam_stays_whole() {
        let text = format!("{}ü", "a".repeat(HALF_BYTES - 1));
        let mut capture = Capture::default();
        capture.fill(text.as_bytes(), drop).await;
        assert_eq!(capture.text(), text);
    }

    #[test]
    fn whole_lines_are_shown_once() {
        let mut lines = Lines::default();
        assert_eq!(lines.add(b"a"), None);
        assert_eq!(lines.add(b"b\nc").as_deref(), Some("ab"));
        assert_eq!(lines.add(b"d\r\n\n10%\r20%\re").as_deref(), Some("cd\n10%\n20%"));
        assert_eq!(lines.add(b"\n").as_deref(), Some("e"));
        assert_eq!(lines.add(b"\n"), None);
        assert_eq!(lines.add(&[b'x'; CHUNK_BYTES]), None);
        assert_eq!(lines.add(b"y").map(|piece| piece.len()), Some(CHUNK_BYTES + 1));
    }
}
