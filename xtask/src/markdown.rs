//! Markdown pages: their code spans, links, headings and tables.

mod inline;

use std::collections::{BTreeMap, BTreeSet};

use inline::Spans;

/// A piece of a page, and its line, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its text.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// A page, read.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What stands between backticks, code blocks left out.
    pub code: Vec<Piece>,
    /// Where links and pictures lead, as it is written.
    pub links: Vec<Piece>,
    /// What a link may name behind `#`, as GitHub makes it of headings.
    pub anchors: BTreeSet<String>,
}

impl Page {
    /// Reads a page.
    pub fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut times = BTreeMap::new();
        for paragraph in paragraphs(text) {
            if let Some(heading) = heading(&paragraph.text) {
                page.anchors.insert(numbered(anchor(heading), &mut times));
            }
            let spans = Spans::of(&paragraph.text);
            let placed = |(at, text): &(usize, String)| Piece {
                text: text.clone(),
                line: paragraph.line + paragraph.text[..*at].matches('\n').count(),
            };
            page.code.extend(spans.code.iter().map(placed));
            page.links.extend(spans.links.iter().map(placed));
            page.anchors.extend(spans.anchors);
        }
        page
    }
}

/// The cells of a row of a table; none if the line is no row, or the rule below the head.
pub fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let rule = inner.chars().all(|sign| matches!(sign, '-' | ':' | '|' | ' '));
    (!rule).then(|| inner.split('|').map(str::trim).collect())
}

/// The text outside of code blocks, cut where a span must end: at empty lines, headings and rows.
fn paragraphs(text: &str) -> Vec<Piece> {
    let mut paragraphs: Vec<Piece> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut fresh = true;
    for (at, line) in text.lines().enumerate() {
        let begin = line.trim_start().trim_start_matches("> ");
        if let Some(open) = fence {
            if begin.starts_with(open) && begin.trim().trim_matches(['`', '~']).is_empty() {
                fence = None;
            }
            continue;
        }
        if begin.starts_with("```") || begin.starts_with("~~~") {
            let length = begin.len() - begin.trim_start_matches(&begin[..1]).len();
            (fence, fresh) = (Some(&begin[..length]), true);
            continue;
        }
        let alone = heading(line).is_some() || begin.starts_with('|');
        match paragraphs.last_mut().filter(|_| !fresh && !alone) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(line);
            }
            None => paragraphs.push(Piece { text: line.to_owned(), line: at + 1 }),
        }
        fresh = alone || line.trim().is_empty();
    }
    paragraphs
}

/// The words of a heading.
fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    ((1..=6).contains(&level) && words.starts_with(' '))
        .then(|| words.trim().trim_end_matches('#').trim_end())
}

/// The anchor that GitHub gives a heading of these words.
fn anchor(heading: &str) -> String {
    let words = inline::unlinked(heading).to_lowercase();
    let kept = words.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

/// Of headings with the same words the second ends with `-1`, and so on.
fn numbered(anchor: String, times: &mut BTreeMap<String, usize>) -> String {
    let before = times.entry(anchor.clone()).or_default();
    *before += 1;
    if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: &[Piece]) -> Vec<(&str, usize)> {
        pieces.iter().map(|piece| (&*piece.text, piece.line)).collect()
    }

    #[test]
    fn links_and_code_are_found_outside_of_code_blocks() {
        let page = Page::read(
            "See [`a`](b.md#c \"t\"),\n![p](p.png) and `x\ny`.\n\n```sh\n[no](no.md) `no`\n```\n| [r](r(1).md) |\n\n[d]: d.md\n`[no](no.md)`",
        );
        assert_eq!(texts(&page.links), [("b.md#c", 1), ("p.png", 2), ("r(1).md", 8), ("d.md", 10)]);
        assert_eq!(texts(&page.code), [("a", 1), ("x y", 2), ("[no](no.md)", 11)]);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let page = Page::read("# A `b_c`, [d](e)!\n## One\n\n## One\n### Où — là\n<a id=\"own\"></a>\n#no\n");
        let anchors: Vec<_> = page.anchors.iter().map(String::as_str).collect();
        assert_eq!(anchors, ["a-b_c-d", "one", "one-1", "own", "où--là"]);
    }

    #[test]
    fn rows_have_cells() {
        assert_eq!(cells("| `a` | b | |"), Some(vec!["`a`", "b", ""]));
        assert_eq!(cells("|---|:--:|"), None);
        assert_eq!(cells("a | b"), None);
    }
}
