//! What stands within a paragraph.

/// The spans of a paragraph, each with the place at which it begins.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) code: Vec<(usize, String)>,
    pub(super) links: Vec<(usize, String)>,
    /// Anchors that are written as HTML.
    pub(super) anchors: Vec<String>,
}

impl Spans {
    pub(super) fn of(text: &str) -> Self {
        let mut spans = Self::default();
        let bare = spans.take_code(text);
        spans.take_links(&bare);
        spans.take_definition(&bare);
        for quoted in bare.split('<').skip(1).filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag) {
            let value = |name: &str| {
                quoted.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(id, _)| id.to_owned())
            };
            spans.anchors.extend(["id", "name"].into_iter().filter_map(value));
        }
        spans
    }

    /// Takes out code, and leaves blanks of the same length.
    fn take_code(&mut self, text: &str) -> String {
        let mut bare = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(begin) = text[at..].find('`').map(|found| at + found) {
            bare.push_str(&text[at..begin]);
            let inner = text[begin..].trim_start_matches('`');
            let inner_at = text.len() - inner.len();
            let ticks = inner_at - begin;
            let Some(length) = end_of_code(inner, ticks) else {
                bare.push_str(&text[begin..inner_at]);
                at = inner_at;
                continue;
            };
            self.code.push((begin, inner[..length].replace('\n', " ").trim().to_owned()));
            at = inner_at + length + ticks;
            bare.extend(std::iter::repeat_n(' ', at - begin));
        }
        bare.push_str(&text[at..]);
        bare
    }

    /// Takes the targets of `[…](target)`.
    fn take_links(&mut self, bare: &str) {
        for (at, _) in bare.match_indices("](") {
            let inner = &bare[at + 2..];
            let mut depth = 0_usize;
            let end = inner.find(|sign| match sign {
                '(' => {
                    depth += 1;
                    false
                }
                ')' if depth > 0 => {
                    depth -= 1;
                    false
                }
                _ => sign == ')' || sign.is_whitespace(),
            });
            let target = inner[..end.unwrap_or(inner.len())].trim_matches(['<', '>']);
            if !target.is_empty() {
                self.links.push((at, target.to_owned()));
            }
        }
    }

    /// Takes the targets of `[name]: target`, a line each.
    fn take_definition(&mut self, bare: &str) {
        let mut at = 0;
        for line in bare.split_inclusive('\n') {
            let definition = line.trim_start().strip_prefix('[').and_then(|line| line.split_once("]: "));
            let target = definition
                .filter(|(name, _)| !name.contains(']'))
                .and_then(|(_, rest)| rest.split_whitespace().next());
            self.links.extend(target.map(|target| (at, target.to_owned())));
            at += line.len();
        }
    }
}

/// Where as many backticks stand as code began with, and no more.
fn end_of_code(inner: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = inner[at..].find('`').map(|found| at + found) {
        let run = inner[found..].len() - inner[found..].trim_start_matches('`').len();
        if run == ticks {
            return Some(found);
        }
        at = found + run;
    }
    None
}

/// A text in which links are their words alone.
pub(super) fn unlinked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        plain.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
