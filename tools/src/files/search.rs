//! The tool `search_files`.

use std::fmt::Write as _;
use std::io::Read;

use holdover_core::ids::ToolName;
use holdover_core::tool::{Access, EffectClass, ToolError, ToolOutput};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::RelativePath;
use super::root::Root;
use super::walk::{Go, Kind, LEFT_OUT, walk};
use crate::FunctionTool;
use crate::blocking::{Dropped, blocking};

/// The maximum number of matching lines of one search.
const MATCHES_MAX: usize = 200;
/// The approximate limit on the bytes that one search shows.
const SHOWN_BYTES_MAX: usize = 256 * 1024;
/// The maximum number of files that one search reads.
const FILES_MAX: usize = 20_000;
/// The largest file that is searched, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The maximum number of bytes that one search reads.
const TOTAL_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// The maximum number of characters shown of a matching line.
const LINE_CHARS_MAX: usize = 300;
/// The largest compiled expression, in bytes.
const REGEX_BYTES_MAX: usize = 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFiles {
    /// What to look for.
    #[schemars(length(min = 1, max = 1000))]
    text: String,
    /// Whether it is a regular expression, matched line by line. Otherwise it is taken as it stands.
    #[serde(default)]
    regex: bool,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// Which folder or file to search, relative to the root folder. Left out: the root folder.
    #[serde(default)]
    path: String,
    /// Search only files of such names: `*.rs`. `*` stands for any characters, `?` for one.
    #[schemars(length(max = 200))]
    file_name: Option<String>,
}

/// Returns a tool that finds matching lines in one file, or in the files of a folder and of all folders beneath it. The
/// order is fixed, and the work and the result are bounded.
pub(crate) fn search_files(name: ToolName, root: Root) -> FunctionTool<SearchFiles> {
    let touched = root.clone();
    FunctionTool::new(
        name,
        "Finds text or a regular expression in the files of a folder and all folders beneath it. One match a \
         line: path:line: text. `.git`, links and files that are not text are left out.",
        move |asked: SearchFiles, _| {
            let root = root.clone();
            blocking(move |dropped| search(&root, &asked, dropped))
        },
    )
    .effect(EffectClass::ReadOnly)
    .resources(move |asked| touched.tree(&asked.path, Access::Read))
}

fn search(root: &Root, asked: &SearchFiles, dropped: &Dropped) -> Result<ToolOutput, ToolError> {
    let start = RelativePath::parse(&asked.path)?;
    let pattern = compile("text", &asked.text, asked.regex, asked.ignore_case)?;
    let names = asked.file_name.as_deref().map(name_pattern).transpose()?;
    let mut found = Found::default();
    let metadata =
        root.dir().metadata(start.as_path()).map_err(|error| super::root::failed(&start, &error))?;
    if !metadata.is_dir() {
        // Errors of this file are reported. A walk skips files that it cannot open.
        let (file, metadata) = root.open_file(&start)?;
        found.search(&start.to_string(), metadata.len(), file, &pattern);
        return Ok(ToolOutput::text(found.text()));
    }
    let left_out = walk(root, &start, true, dropped, |entry| {
        let Kind::File { bytes } = entry.kind else { return Ok(Go::On) };
        let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
        if names.as_ref().is_some_and(|names| !names.is_match(&name)) {
            return Ok(Go::On);
        }
        let shown = entry.path.to_string_lossy();
        let Ok(path) = RelativePath::parse(&shown) else { return Ok(Go::On) };
        let Ok((file, _)) = root.open_file(&path) else { return Ok(Go::On) };
        Ok(found.search(&shown, bytes, file, &pattern))
    })?;
    if left_out {
        found.cut.get_or_insert(LEFT_OUT);
    }
    Ok(ToolOutput::text(found.text()))
}

/// The matches and counts of a search so far.
#[derive(Default)]
struct Found {
    lines: String,
    matches: usize,
    files: usize,
    bytes: u64,
    too_large: usize,
    cut: Option<&'static str>,
}

impl Found {
    /// Searches one file, and returns `Go::Stop` if a bound is reached.
    fn search(&mut self, path: &str, bytes: u64, file: impl Read, pattern: &Regex) -> Go {
        if bytes > FILE_BYTES_MAX {
            self.too_large += 1;
            return Go::On;
        }
        if self.files == FILES_MAX || self.bytes + bytes > TOTAL_BYTES_MAX {
            self.cut = Some("[cut: there is more to search; name a folder or file names]");
            return Go::Stop;
        }
        self.files += 1;
        self.bytes += bytes;
        let mut content = Vec::new();
        if file.take(FILE_BYTES_MAX).read_to_end(&mut content).is_err() || content.contains(&0) {
            return Go::On;
        }
        let content = String::from_utf8_lossy(&content);
        for (index, line) in content.lines().enumerate() {
            if !pattern.is_match(line) {
                continue;
            }
            if self.matches == MATCHES_MAX || self.lines.len() > SHOWN_BYTES_MAX {
                self.cut = Some("[cut: there are more matches; look for something narrower]");
                return Go::Stop;
            }
            self.matches += 1;
            let shown: String = line.chars().take(LINE_CHARS_MAX).collect();
            let more = if shown.len() < line.len() { "…" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(self.lines, "{path}:{}: {shown}{more}", index + 1);
        }
        Go::On
    }

    fn text(mut self) -> String {
        if self.matches == 0 {
            let _ = writeln!(self.lines, "no matches in {} files", self.files);
        }
        if self.too_large > 0 {
            let _ = writeln!(
                self.lines,
                "[{} files larger than {FILE_BYTES_MAX} bytes were not searched]",
                self.too_large
            );
        }
        self.lines.push_str(self.cut.unwrap_or_default());
        self.lines.truncate(self.lines.trim_end().len());
        self.lines
    }
}

fn compile(field: &str, text: &str, is_regex: bool, ignore_case: bool) -> Result<Regex, ToolError> {
    if text.is_empty() {
        return Err(ToolError::Failed(format!("{field} is empty")));
    }
    let source = if is_regex { text.to_owned() } else { regex::escape(text) };
    RegexBuilder::new(&source).case_insensitive(ignore_case).size_limit(REGEX_BYTES_MAX).build().map_err(
        |error| {
            // The last line of the error says what is wrong. The lines before it draw the position.
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            ToolError::Failed(format!("{field} {text:?} is not a regular expression: {why}"))
        },
    )
}

fn name_pattern(glob: &str) -> Result<Regex, ToolError> {
    let source: String = glob
        .chars()
        .map(|c| match c {
            '*' => ".*".to_owned(),
            '?' => ".".to_owned(),
            other => regex::escape(other.encode_utf8(&mut [0; 4])),
        })
        .collect();
    compile("file_name", &format!("(?s)^{source}$"), true, false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    #[tokio::test]
    async fn text_and_expressions_are_found_in_order() {
        let fixture = Fixture::new(&[
            ("b.rs", "fn main() {}\n"),
            ("a/x.rs", "// a.c\nfn Other() {}\n"),
            ("a/y.txt", "abc fn\n"),
            ("bin", "fn\0"),
            (".git/z", "fn"),
        ]);
        for (arguments, found) in [
            (json!({ "text": "fn" }), "a/x.rs:2: fn Other() {}\na/y.txt:1: abc fn\nb.rs:1: fn main() {}"),
            (json!({ "text": "a.c" }), "a/x.rs:1: // a.c"),
            (json!({ "text": "a.c", "regex": true }), "a/x.rs:1: // a.c\na/y.txt:1: abc fn"),
            (json!({ "text": "^fn \\w+", "regex": true, "path": "a" }), "a/x.rs:2: fn Other() {}"),
            (json!({ "text": "other", "ignore_case": true }), "a/x.rs:2: fn Other() {}"),
            (json!({ "text": "fn", "file_name": "*.txt" }), "a/y.txt:1: abc fn"),
            (json!({ "text": "fn", "path": "b.rs" }), "b.rs:1: fn main() {}"),
            (json!({ "text": "nowhere", "file_name": "?.rs" }), "no matches in 2 files"),
        ] {
            assert_eq!(fixture.run("search_files", arguments.clone()).await.unwrap(), found, "{arguments}");
        }
    }

    #[tokio::test]
    async fn a_search_is_bounded_and_says_so() {
        let wide = "needle".repeat(100);
        let fixture = Fixture::new(&[
            ("a", &"needle\n".repeat(MATCHES_MAX)),
            ("b", &wide),
            ("large/l", &"needle\n".repeat(FILE_BYTES_MAX as usize / 7 + 1)),
        ]);
        let text = fixture.run("search_files", json!({ "text": "needle" })).await.unwrap();
        assert_eq!(text.lines().count(), MATCHES_MAX + 1);
        assert!(text.ends_with("[cut: there are more matches; look for something narrower]"));
        let text = fixture.run("search_files", json!({ "text": "needle", "path": "b" })).await.unwrap();
        assert_eq!(text.chars().count(), "b:1: ".len() + LINE_CHARS_MAX + 1);
        let text = fixture.run("search_files", json!({ "text": "needle", "path": "large" })).await.unwrap();
        assert_eq!(
            text,
            format!("no matches in 0 files\n[1 files larger than {FILE_BYTES_MAX} bytes were not searched]")
        );
    }

    #[tokio::test]
    async fn a_bad_expression_fails_with_one_line() {
        let fixture = Fixture::new(&[("a", "a")]);
        for text in ["(", "a{1000000}", "x{500}{500}"] {
            let line = fixture.run("search_files", json!({ "text": text, "regex": true })).await.unwrap_err();
            assert!(line.contains("is not a regular expression: ") && !line.contains('\n'), "{line}");
        }
        let line = fixture.run("search_files", json!({ "text": "a", "path": "zz" })).await.unwrap_err();
        assert_eq!(line, "zz: does not exist");
    }
}
