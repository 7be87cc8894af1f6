//! Splits Rust source into tokens: words, texts and signs.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A name, a keyword or a number.
    Word(&'a str),
    /// `::`
    Path,
    /// The text between the quotes of a string literal.
    Text(&'a str),
    /// Any other character.
    Sign(char),
}

/// A token and its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The kind of the token.
    pub kind: Kind<'a>,
    /// The line of the token, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Returns true if the token is this sign.
    pub fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    /// Returns true if the token is this word.
    pub fn says(&self, word: &str) -> bool {
        self.kind == Kind::Word(word)
    }
}

/// Returns the tokens of a source. Comments, doc comments and character literals are left out.
pub fn lex(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let (kind, length) = piece(rest, first);
        if let Some(kind) = kind {
            tokens.push(Token { kind, line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

/// Returns the token at the beginning of `rest`, or `None` if it is left out, and its length in bytes.
fn piece(rest: &str, first: char) -> (Option<Kind<'_>>, usize) {
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, block_comment(rest));
    }
    if let Some((text, length)) = raw(rest).or_else(|| quoted(rest)) {
        return (Some(Kind::Text(text)), length);
    }
    if let Some(name) = rest.strip_prefix("r#").filter(|name| name.starts_with(is_name)) {
        let length = name.find(|sign| !is_name(sign)).unwrap_or(name.len());
        return (Some(Kind::Word(&name[..length])), length + 2);
    }
    if is_name(first) {
        let length = rest.find(|sign| !is_name(sign)).unwrap_or(rest.len());
        return (Some(Kind::Word(&rest[..length])), length);
    }
    if rest.starts_with("::") {
        return (Some(Kind::Path), 2);
    }
    if first == '\'' {
        return (None, character(rest));
    }
    ((!first.is_whitespace()).then_some(Kind::Sign(first)), first.len_utf8())
}

fn is_name(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}

/// Returns the length of a block comment in bytes. Block comments may be nested.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(sign) = rest[at..].chars().next() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += sign.len_utf8();
        }
    }
    at
}

/// Reads a raw string such as `r"…"` or `br#"…"#`. Returns the text between the quotes, and the whole length.
fn raw(rest: &str) -> Option<(&str, usize)> {
    let marked = ["br", "cr", "r"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let inner = marked.trim_start_matches('#');
    let end = format!("\"{}", &marked[..marked.len() - inner.len()]);
    let inner = inner.strip_prefix('"')?;
    let length = inner.find(&end)?;
    let begin = rest.len() - inner.len();
    Some((&inner[..length], begin + length + end.len()))
}

/// Reads a string: `"…"`, `b"…"` or `c"…"`. Returns the text between the quotes, and the whole length.
fn quoted(rest: &str) -> Option<(&str, usize)> {
    let inner = ["\"", "b\"", "c\""].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let mut escaped = false;
    let end = inner.find(|sign| {
        let ends = sign == '"' && !escaped;
        escaped = sign == '\\' && !escaped;
        ends
    })?;
    Some((&inner[..end], rest.len() - inner.len() + end + 1))
}

/// Returns the length in bytes of a character such as `'x'`, `'\n'` or `'\u{…}'`. For a lifetime, returns the length of
/// its quote.
fn character(rest: &str) -> usize {
    let mut signs = rest.char_indices().skip(1);
    match signs.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| end + 4),
        Some(_) => match signs.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        let word = |token: &Token<'static>| match token.kind {
            Kind::Word(word) => Some(word),
            Kind::Path | Kind::Text(_) | Kind::Sign(_) => None,
        };
        // The source of a test is leaked, because its tokens must live as long as the test program.
        let source: &'static str = Box::leak(source.to_owned().into_boxed_str());
        lex(source).iter().filter_map(word).collect()
    }

    #[test]
    fn comments_and_literals_hold_no_words() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f /// g\n\"h \\\" i\" j"), ["a", "f", "j"]);
        assert_eq!(words("br#\"a \" b\"# c r\"\\\" d b\"e\" f"), ["c", "d", "f"]);
        assert_eq!(words("'a' b '\\'' c '\\u{41}' d b'x' e"), ["b", "c", "d", "b", "e"]);
    }

    #[test]
    fn a_lifetime_is_no_character() {
        assert_eq!(
            words("fn f<'a>(x: &'a str) -> X<'_> { 'q' }"),
            ["fn", "f", "a", "x", "a", "str", "X", "_"]
        );
    }

    #[test]
    fn lines_are_counted_through_literals() {
        let tokens = lex("a\n\"b\nc\"\nd::e r#type");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 2, 4, 4, 4, 4]);
        assert_eq!(tokens[1].kind, Kind::Text("b\nc"));
        assert_eq!(tokens[5].kind, Kind::Word("type"));
    }
}
