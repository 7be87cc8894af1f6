//! Finds the `match` expressions of a source, with the patterns of their arms.

use crate::lexer::Token;

/// A `match` expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match<'a> {
    /// The line of the word `match`.
    pub line: usize,
    /// The arms, in order.
    pub arms: Vec<Arm<'a>>,
}

/// An arm of a `match` expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm<'a> {
    /// The line on which the arm begins.
    pub line: usize,
    /// The tokens of the pattern, without the guard.
    pub pattern: Vec<Token<'a>>,
    /// True if the arm has a guard.
    pub guarded: bool,
}

/// Returns all `match` expressions, in the order in which they begin. Those inside of arms are among them. The source
/// must be formatted: an arm whose body is no block ends with a comma.
pub fn matches<'a>(tokens: &[Token<'a>]) -> Vec<Match<'a>> {
    let begins = tokens.iter().enumerate().filter(|(_, token)| token.says("match"));
    begins.filter_map(|(at, token)| Some(Match { line: token.line, arms: arms(tokens, at)? })).collect()
}

/// Returns the arms of the `match` at this place, or `None` if it has no braces.
fn arms<'a>(tokens: &[Token<'a>], at: usize) -> Option<Vec<Arm<'a>>> {
    let mut at = end(tokens, at + 1, |rest| rest[0].is('{'))? + 1;
    let mut arms = Vec::new();
    loop {
        while tokens.get(at)?.is(',') {
            at += 1;
        }
        while tokens[at].is('#') {
            at = end(tokens, at + 1, |rest| rest[0].is('['))?;
            at = closing(tokens, at)? + 1;
        }
        if tokens[at].is('}') {
            return Some(arms);
        }
        let arrow = end(tokens, at, is_arrow)?;
        let guard = end(&tokens[..arrow], at, |rest| rest[0].says("if"));
        let pattern = tokens[at..guard.unwrap_or(arrow)].to_vec();
        arms.push(Arm { line: tokens[at].line, pattern, guarded: guard.is_some() });
        at = arrow + 2;
        at = match tokens.get(at)?.is('{') {
            true => closing(tokens, at)? + 1,
            false => end(tokens, at, |rest| rest[0].is(',') || rest[0].is('}'))?,
        };
    }
}

fn is_arrow(rest: &[Token<'_>]) -> bool {
    rest[0].is('=') && rest.get(1).is_some_and(|next| next.is('>'))
}

/// Returns the first place from `at` on where the rest of the tokens fits. The contents of brackets that open on the
/// way are skipped.
fn end(tokens: &[Token<'_>], mut at: usize, fits: impl Fn(&[Token<'_>]) -> bool) -> Option<usize> {
    while !fits(tokens.get(at..).filter(|rest| !rest.is_empty())?) {
        at = if opens(&tokens[at]) { closing(tokens, at)? + 1 } else { at + 1 };
    }
    Some(at)
}

/// Returns the place of the bracket that closes the one at `at`.
fn closing(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        if opens(token) {
            depth += 1;
        } else if [')', ']', '}'].into_iter().any(|sign| token.is(sign)) {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(place);
            }
        }
    }
    None
}

fn opens(token: &Token<'_>) -> bool {
    ['(', '[', '{'].into_iter().any(|sign| token.is(sign))
}

/// Splits tokens at each of these signs that stands outside of all brackets. Empty parts are left out.
pub fn split<'s, 'a>(tokens: &'s [Token<'a>], sign: char) -> Vec<&'s [Token<'a>]> {
    let (mut parts, mut rest) = (Vec::new(), tokens);
    while let Some(at) = end(rest, 0, |rest| rest[0].is(sign)) {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the elements if the pattern is a tuple, else the pattern itself as the only element.
pub fn elements<'s, 'a>(pattern: &'s [Token<'a>]) -> Vec<&'s [Token<'a>]> {
    let inner = match pattern {
        [first, ..] if first.is('(') && closing(pattern, 0) == Some(pattern.len() - 1) => {
            &pattern[1..pattern.len() - 1]
        }
        _ => return vec![pattern],
    };
    split(inner, ',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{Kind, lex};

    fn shown(tokens: &[Token<'_>]) -> String {
        let shown = tokens.iter().map(|token| match token.kind {
            Kind::Word(word) => word.to_owned(),
            Kind::Path => "::".to_owned(),
            Kind::Text(text) => format!("{text:?}"),
            Kind::Sign(sign) => sign.to_string(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_match_and_every_arm_is_found() {
        let source = "
fn f() {
    match x.map(|y| { y }) {
        // A comment with => in it.
        A::B { c, .. } | A::D(_) if c >= 3 => g(|a, b| a => b),
        #[cfg(test)]
        (E, _) => {
            match z {
                1..=2 => \"=>\".into(),
                _ => {}
            }
        }
        other => other,
    }
}";
        let tokens = lex(source);
        let found: Vec<_> = matches(&tokens)
            .iter()
            .map(|one| {
                let arm = |arm: &Arm<'_>| {
                    format!("{}{}", shown(&arm.pattern), if arm.guarded { " if" } else { "" })
                };
                (one.line, one.arms.iter().map(arm).collect::<Vec<_>>())
            })
            .collect();
        let outer =
            ["A :: B { c , . . } | A :: D ( _ ) if", "( E , _ )", "other"].map(str::to_owned).to_vec();
        let inner = ["1 . . = 2", "_"].map(str::to_owned).to_vec();
        assert_eq!(found, [(3, outer), (8, inner)]);
    }

    #[test]
    fn a_pattern_is_split_outside_of_its_brackets() {
        let split_at = |source: &'static str, sign| {
            split(&lex(source), sign).iter().map(|part| shown(part)).collect::<Vec<_>>()
        };
        assert_eq!(split_at("| A(b | c) | D", '|'), ["A ( b | c )", "D"]);
        let parts =
            |source: &'static str| elements(&lex(source)).iter().map(|part| shown(part)).collect::<Vec<_>>();
        assert_eq!(parts("(A { b, c }, _)"), ["A { b , c }", "_"]);
        assert_eq!(parts("A(b, c)"), ["A ( b , c )"]);
        assert_eq!(parts("(A | B)(c)"), ["( A | B ) ( c )"]);
    }
}
