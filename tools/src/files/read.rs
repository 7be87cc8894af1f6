//! The tool `read_file`.

use std::io::{BufRead, BufReader, Read};
use std::ops::RangeInclusive;

use holdover_core::ids::ToolName;
use holdover_core::image::{IMAGE_BYTES_MAX, Image, ImageType, Images};
use holdover_core::tool::{Access, EffectClass, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::RelativePath;
use super::root::{Root, failed};
use crate::FunctionTool;
use crate::blocking::{Dropped, blocking};

/// The maximum number of bytes of a text file that one call shows.
const READ_BYTES_MAX: usize = 128 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    /// Which file, relative to the root folder.
    path: String,
    /// The first line to show, counted from 1. Left out: from the beginning.
    #[schemars(range(min = 1))]
    from_line: Option<u64>,
    /// The last line to show. Left out: to the end.
    #[schemars(range(min = 1))]
    to_line: Option<u64>,
}

/// Returns a tool that reads a picture, a text file, or some lines of a text file. It shows at most [`READ_BYTES_MAX`]
/// bytes of text; a note says where a longer text was cut. A picture may have at most [`IMAGE_BYTES_MAX`] bytes.
pub(crate) fn read_file(name: ToolName, root: Root) -> FunctionTool<ReadFile> {
    let touched = root.clone();
    FunctionTool::new(
        name,
        "Reads a text file, or the lines from_line to to_line of it. At most 128 KiB are shown at once. A picture (PNG, \
         JPEG, GIF, WebP) of at most 1 MiB is shown.",
        move |asked: ReadFile, _| {
            let root = root.clone();
            blocking(move |dropped| read(&root, &asked, dropped))
        },
    )
    .effect(EffectClass::ReadOnly)
    .resources(move |asked| touched.file(&asked.path, Access::Read))
}

/// Reads the file at `path` with the limits of the tool.
pub(crate) fn read_whole(root: &Root, path: &str, dropped: &Dropped) -> Result<ToolOutput, ToolError> {
    read(root, &ReadFile { path: path.to_owned(), from_line: None, to_line: None }, dropped)
}

fn read(root: &Root, asked: &ReadFile, dropped: &Dropped) -> Result<ToolOutput, ToolError> {
    let path = RelativePath::parse_file(&asked.path)?;
    let from = asked.from_line.unwrap_or(1);
    let to = asked.to_line.unwrap_or(u64::MAX);
    if from == 0 || to < from {
        return Err(ToolError::Failed(format!(
            "lines {from} to {to}: lines count from 1, the first comes first"
        )));
    }
    let (file, _) = root.open_file(&path)?;
    show(BufReader::new(file), &path, from..=to, dropped)
}

/// Shows the bytes of a file that is in memory, with the limits of the tool.
pub(crate) fn show_whole(bytes: &[u8], path: &RelativePath) -> Result<ToolOutput, ToolError> {
    show(bytes, path, 1..=u64::MAX, &Dropped::default())
}

fn show(
    mut reader: impl BufRead,
    path: &RelativePath,
    lines: RangeInclusive<u64>,
    dropped: &Dropped,
) -> Result<ToolOutput, ToolError> {
    let (from, to) = lines.into_inner();
    if let Some(picture) = picture(&mut reader, path)? {
        return Ok(picture);
    }
    for before in 1..from {
        if !skip_line(&mut reader, dropped).map_err(|error| error.told(path))? {
            let lines = before - 1;
            return Err(ToolError::Failed(format!("{path}: has {lines} lines, from_line is {from}")));
        }
    }
    let shown = read_lines(&mut reader, from, to, dropped).map_err(|error| error.told(path))?;
    if shown.bytes.is_empty() {
        return if from > 1 {
            Err(ToolError::Failed(format!("{path}: has {} lines, from_line is {from}", from - 1)))
        } else {
            Ok(ToolOutput::text(format!("[{path} is empty]")))
        };
    }
    let mut text = to_text(path, shown.bytes)?;
    if let Some(cut) = shown.cut {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&match cut {
            Cut::Before(line) => format!("[cut: the file goes on at line {line}]"),
            Cut::Inside(line) => format!("[cut inside line {line}, after {READ_BYTES_MAX} bytes]"),
        });
    }
    Ok(ToolOutput::text(text))
}

/// Returns the picture in a file, or `None` if the file does not begin like a picture.
fn picture(reader: &mut impl BufRead, path: &RelativePath) -> Result<Option<ToolOutput>, ToolError> {
    let begins = reader.fill_buf().map_err(|error| failed(path, &error))?;
    if ImageType::of(begins).is_none() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    reader.take(IMAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
    if bytes.len() > IMAGE_BYTES_MAX {
        return Err(ToolError::Failed(format!("{path}: is a picture of more than {IMAGE_BYTES_MAX} bytes")));
    }
    let image = Image::new(&bytes).map_err(|why| ToolError::Failed(format!("{path}: {why}")))?;
    let told = format!("[{path}: {image}]");
    let images = Images::of([image]).map_err(|why| ToolError::Failed(format!("{path}: {why}")))?;
    Ok(Some(ToolOutput::text(told).showing(images)))
}

struct Shown {
    bytes: Vec<u8>,
    cut: Option<Cut>,
}

enum Cut {
    Before(u64),
    Inside(u64),
}

enum LinesError {
    Tool(ToolError),
    Io(std::io::Error),
}

impl LinesError {
    fn told(self, path: &RelativePath) -> ToolError {
        match self {
            Self::Tool(error) => error,
            Self::Io(error) => failed(path, &error),
        }
    }
}

/// Skips a line of any length. Returns false if there is no line.
fn skip_line(reader: &mut impl BufRead, dropped: &Dropped) -> Result<bool, LinesError> {
    let mut any = false;
    loop {
        dropped.check().map_err(LinesError::Tool)?;
        let bytes = reader.fill_buf().map_err(LinesError::Io)?;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        if taken == 0 {
            return Ok(any);
        }
        reader.consume(taken);
        any = true;
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Reads the lines `from..=to`. The reader must stand at line `from`. Returns only whole lines, unless the first line
/// alone is too long.
fn read_lines(reader: &mut impl BufRead, from: u64, to: u64, dropped: &Dropped) -> Result<Shown, LinesError> {
    let mut bytes = Vec::new();
    let mut line = from;
    while line <= to {
        dropped.check().map_err(LinesError::Tool)?;
        let start = bytes.len();
        let room = READ_BYTES_MAX - start;
        let taken =
            reader.by_ref().take(room as u64 + 1).read_until(b'\n', &mut bytes).map_err(LinesError::Io)?;
        if taken == 0 {
            break;
        }
        if taken > room {
            return Ok(if start > 0 {
                bytes.truncate(start);
                Shown { bytes, cut: Some(Cut::Before(line)) }
            } else {
                bytes.truncate(whole_characters(&bytes, READ_BYTES_MAX));
                Shown { bytes, cut: Some(Cut::Inside(line)) }
            });
        }
        line = line.saturating_add(1);
    }
    Ok(Shown { bytes, cut: None })
}

/// Returns the greatest length up to `at` that splits no UTF-8 character.
fn whole_characters(bytes: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at).rev().find(|&at| bytes.get(at).is_none_or(|b| b & 0xc0 != 0x80)).unwrap_or(at)
}

/// Returns the bytes as text. Fails if they are not UTF-8 or contain a NUL.
pub(super) fn to_text(path: &RelativePath, bytes: Vec<u8>) -> Result<String, ToolError> {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(ToolError::Failed(format!("{path}: is not a UTF-8 text file"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    #[tokio::test]
    async fn a51_a_picture_is_shown_if_it_is_not_too_large() {
        let fixture = Fixture::new(&[("a.txt", "GIF is a word")]);
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(fixture.folder.path().join(name), bytes).unwrap();
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        write("small.png", &png);
        png.resize(IMAGE_BYTES_MAX + 1, 0);
        write("large.png", &png);
        let tool = fixture.tool("read_file");
        let read = |path: &str| tool.call(crate::testing::call(json!({ "path": path })));
        let shown = Images::of([Image::new(b"\x89PNG\r\n\x1a\n").unwrap()]).unwrap();
        let told = ToolOutput::text("[small.png: image/png, 8 bytes]").showing(shown);
        assert_eq!(read("small.png").await, Ok(told.into()));
        let refused = read("large.png").await.unwrap_err();
        assert_eq!(refused.to_string(), "large.png: is a picture of more than 1048576 bytes");
        assert_eq!(read("a.txt").await, Ok(ToolOutput::text("GIF is a word").into()));
    }

    #[tokio::test]
    async fn a_file_or_some_of_its_lines_is_read() {
        let fixture = Fixture::new(&[("a.txt", "one\ntwo\nthree\n"), ("empty", ""), ("one", "x")]);
        for (arguments, shown) in [
            (json!({ "path": "a.txt" }), "one\ntwo\nthree\n"),
            (json!({ "path": "a.txt", "from_line": 2 }), "two\nthree\n"),
            (json!({ "path": "a.txt", "from_line": 2, "to_line": 2 }), "two\n"),
            (json!({ "path": "a.txt", "to_line": 99 }), "one\ntwo\nthree\n"),
            (json!({ "path": "empty" }), "[empty is empty]"),
            (json!({ "path": "one" }), "x"),
        ] {
            assert_eq!(fixture.run("read_file", arguments).await.unwrap(), shown);
        }
        for (arguments, why) in [
            (json!({ "path": "a.txt", "from_line": 4 }), "a.txt: has 3 lines, from_line is 4"),
            (json!({ "path": "a.txt", "from_line": 40 }), "a.txt: has 3 lines, from_line is 40"),
            (json!({ "path": "a.txt", "from_line": 3, "to_line": 2 }), "lines 3 to 2"),
            (json!({ "path": "b.txt" }), "b.txt: does not exist"),
            (json!({ "path": "." }), "names a folder"),
        ] {
            let line = fixture.run("read_file", arguments).await.unwrap_err();
            assert!(line.contains(why), "{line}");
        }
    }

    #[tokio::test]
    async fn a_large_file_is_cut_between_lines_and_says_where_it_goes_on() {
        let line = format!("{}\n", "ü".repeat(500));
        let fixture = Fixture::new(&[("long", &line.repeat(1000)), ("wide", &"ü".repeat(READ_BYTES_MAX))]);
        let text = fixture.run("read_file", json!({ "path": "long" })).await.unwrap();
        let whole = READ_BYTES_MAX / line.len();
        assert!(text.ends_with(&format!("{line}[cut: the file goes on at line {}]", whole + 1)));
        assert_eq!(text.lines().count(), whole + 1);
        let text = fixture.run("read_file", json!({ "path": "wide" })).await.unwrap();
        assert!(text.ends_with(&format!("ü\n[cut inside line 1, after {READ_BYTES_MAX} bytes]")));
    }

    #[test]
    fn a_line_without_an_end_is_left_once_the_call_was_dropped() {
        let mut endless = BufReader::new(std::io::repeat(b'x'));
        assert!(matches!(skip_line(&mut endless, &Dropped::already()), Err(LinesError::Tool(_))));
    }

    #[tokio::test]
    async fn what_is_not_text_is_refused() {
        let fixture = Fixture::new(&[("nul", "a\0b")]);
        std::fs::write(fixture.folder.path().join("latin"), b"caf\xe9").unwrap();
        for path in ["nul", "latin"] {
            let line = fixture.run("read_file", json!({ "path": path })).await.unwrap_err();
            assert_eq!(line, format!("{path}: is not a UTF-8 text file"));
        }
    }
}
