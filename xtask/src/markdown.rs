//! Markdown pages: their code spans, links, anchors and tables.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// A piece of a page, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text of the piece.
    pub text: String,
    /// The line of the piece, from 1.
    pub line: usize,
}

/// The parsed parts of a page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The texts of code spans. Code blocks are left out.
    pub code: Vec<Piece>,
    /// The targets of inline links, of pictures and of link definitions, as they are written.
    pub links: Vec<Piece>,
    /// The anchors that a link may name after `#`: those that GitHub derives from headings, and those of HTML tags.
    pub anchors: BTreeSet<String>,
}

impl Page {
    /// Reads a page.
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "the kinds of events are the parser's, and few of them count"
    )]
    pub fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut times = BTreeMap::new();
        let piece = |words: &str, at: usize| Piece {
            text: words.trim().to_owned(),
            line: text[..at].matches('\n').count() + 1,
        };
        let mut heading: Option<String> = None;
        let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
        let defined = parser.reference_definitions().iter().map(|(_, at)| piece(&at.dest, at.span.start));
        let defined: Vec<_> = defined.collect();
        for (event, place) in parser.into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|words| numbered(anchor(&words), &mut times)));
                }
                Event::Start(
                    Tag::Link { link_type: LinkType::Inline, dest_url, .. }
                    | Tag::Image { link_type: LinkType::Inline, dest_url, .. },
                ) => page.links.push(piece(&dest_url, place.start)),
                Event::Text(words) => heading.iter_mut().for_each(|heading| heading.push_str(&words)),
                Event::Code(words) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&words));
                    page.code.push(piece(&words, place.start));
                }
                Event::Html(tags) | Event::InlineHtml(tags) => page.anchors.extend(named(&tags)),
                _ => {}
            }
        }
        page.links.extend(defined);
        page
    }
}

/// Returns the anchors that HTML tags name.
fn named(tags: &str) -> impl Iterator<Item = String> {
    tags.split(['<', ' ', '>'])
        .filter_map(|part| part.strip_prefix("id=\"").or_else(|| part.strip_prefix("name=\"")))
        .filter_map(|value| Some(value.split_once('"')?.0.to_owned()))
}

/// Returns the cells of a table row. Returns `None` if the line is not a row, or separates the head from the rows.
pub fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let rule = inner.chars().all(|sign| matches!(sign, '-' | ':' | '|' | ' '));
    (!rule).then(|| inner.split('|').map(str::trim).collect())
}

/// Returns the anchor that GitHub gives a heading with this text.
fn anchor(heading: &str) -> String {
    let words = heading.to_lowercase();
    let kept = words.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

/// Returns an anchor that is unique on the page: the second heading with the same text gets `-1`, and so on.
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
