//! Reads the modules of a crate.

use std::collections::BTreeMap;

use super::{Module, Named, Way};
use crate::lexer::{Kind, Token, lex};
use crate::tree::{Tree, folder_of};

type All = BTreeMap<Way, Module>;

/// The keywords that are followed by the name of an item.
const ITEMS: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"];

/// The file that contains a module, and the folder of its submodules.
struct Place<'t> {
    tree: &'t Tree,
    file: &'t str,
    /// The folder in which the files of submodules lie.
    folder: String,
}

/// Reads the module in this file, and its submodules.
pub(super) fn file(all: &mut All, tree: &Tree, path: &str, way: Way, test: bool) {
    let folder = folder_of(path);
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    let of_folder = way.is_empty() || name == "mod";
    let folder = if of_folder { folder.to_owned() } else { format!("{folder}/{name}") };
    all.insert(way.clone(), Module { file: path.to_owned(), test, ..Module::default() });
    body(all, &Place { tree, file: path, folder }, &lex(tree.read(path)), &way, test, true);
}

/// Reads the tokens of a module. `items` is true if items here belong to the module, and false inside braces, such as
/// those of a function.
fn body(all: &mut All, place: &Place<'_>, tokens: &[Token<'_>], way: &Way, test: bool, items: bool) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        at += match token.kind {
            Kind::Sign('#') => attributed(all, place, rest, way, test, items),
            Kind::Sign('{') => {
                let inner = closed(rest);
                body(all, place, &rest[1..inner.max(2) - 1], way, test, false);
                inner
            }
            Kind::Word("use") => {
                let length = until(rest, ';');
                let module = all.entry(way.clone()).or_default();
                used(module, &rest[1..length], &[], test);
                length
            }
            Kind::Word("mod") if items => child(all, place, rest, way, test),
            Kind::Word(word) if items && ITEMS.contains(&word) => {
                let named = match rest.get(1 + usize::from(rest.get(1).is_some_and(|next| next.is('!')))) {
                    Some(Token { kind: Kind::Word(name), .. }) if !ITEMS.contains(name) => Some(*name),
                    _ => None,
                };
                all.entry(way.clone()).or_default().items.extend(named.map(str::to_owned));
                1
            }
            // The restriction in `pub(…)` says nothing about the names that are used.
            Kind::Word("pub") if rest.get(1).is_some_and(|next| next.is('(')) => 1 + closed(&rest[1..]),
            Kind::Word(_) => path(all.entry(way.clone()).or_default(), rest, test),
            Kind::Path | Kind::Text(_) | Kind::Sign(_) => 1,
        };
    }
}

/// Reads an attribute, and the item after it if that is built for tests only. Returns the number of tokens.
fn attributed(
    all: &mut All,
    place: &Place<'_>,
    tokens: &[Token<'_>],
    way: &Way,
    test: bool,
    items: bool,
) -> usize {
    let open = 1 + usize::from(tokens.get(1).is_some_and(|token| token.is('!')));
    if !tokens.get(open).is_some_and(|token| token.is('[')) {
        return 1;
    }
    let end = open + closed(&tokens[open..]);
    let inner = &tokens[open + 1..end - 1];
    let module = all.entry(way.clone()).or_default();
    for token in inner {
        // The attributes of derive macros may name paths in strings.
        if let Kind::Text(text) = token.kind {
            let lexed: Vec<_> =
                lex(text).into_iter().map(|piece| Token { line: token.line, ..piece }).collect();
            paths(module, &lexed, test);
        }
    }
    paths(module, inner, test);
    let words = [Kind::Word("cfg"), Kind::Sign('('), Kind::Word("test"), Kind::Sign(')')];
    if open == 2 || !inner.iter().map(|token| token.kind).eq(words) {
        return end;
    }
    let length = item(&tokens[end..]);
    body(all, place, &tokens[end..end + length], way, true, items);
    end + length
}

/// Reads `mod name;` or `mod name { … }`. Returns the number of tokens.
fn child(all: &mut All, place: &Place<'_>, tokens: &[Token<'_>], way: &Way, test: bool) -> usize {
    let Some(Kind::Word(name)) = tokens.get(1).map(|token| token.kind) else { return 1 };
    let mut inner = way.clone();
    inner.push(name.to_owned());
    all.entry(way.clone()).or_default().children.insert(name.to_owned());
    if tokens.get(2).is_some_and(|token| token.is('{')) {
        let length = closed(&tokens[2..]);
        all.insert(inner.clone(), Module { file: place.file.to_owned(), test, ..Module::default() });
        let place = Place { folder: format!("{}/{name}", place.folder), ..*place };
        body(all, &place, &tokens[3..length + 1], &inner, test, true);
        return length + 2;
    }
    let paths = [format!("{}/{name}.rs", place.folder), format!("{}/{name}/mod.rs", place.folder)];
    let Some(found) = paths.iter().find(|path| place.tree.is_file(path)) else {
        panic!("{}:{}: there is neither {} nor {}", place.file, tokens[0].line, paths[0], paths[1]);
    };
    file(all, place.tree, found, inner, test);
    2
}

/// Records the names that a `use` tree imports below `before`, including those in braces.
fn used(module: &mut Module, tokens: &[Token<'_>], before: &[String], test: bool) {
    let mut way = before.to_vec();
    let mut at = 0;
    let line = tokens.first().map_or(0, |token| token.line);
    let mut bound = None;
    let mut glob = false;
    while let Some(token) = tokens.get(at) {
        match token.kind {
            Kind::Word("as") => {
                bound = tokens.get(at + 1).and_then(|token| match token.kind {
                    Kind::Word(name) => Some(name.to_owned()),
                    Kind::Path | Kind::Text(_) | Kind::Sign(_) => None,
                });
                at += 1;
            }
            Kind::Word("self") if !way.is_empty() => {}
            Kind::Word(word) => way.push(word.to_owned()),
            Kind::Sign('*') => glob = true,
            Kind::Sign('{') => {
                let inner = &tokens[at + 1..tokens.len().min(at + closed(&tokens[at..])) - 1];
                return split(inner).into_iter().for_each(|one| used(module, one, &way, test));
            }
            Kind::Path | Kind::Text(_) | Kind::Sign(_) => {}
        }
        at += 1;
    }
    let Some(last) = way.last() else { return };
    if glob {
        module.globs.push(way.clone());
    } else {
        module.bound.insert(bound.unwrap_or_else(|| last.clone()), way.clone());
    }
    module.named.push(Named { path: way, line, test, glob });
}

/// Splits a list at the commas that are not inside braces.
fn split<'s, 'a>(tokens: &'s [Token<'a>]) -> Vec<&'s [Token<'a>]> {
    let mut depth = 0_usize;
    let parts = tokens.split(|token| {
        depth += usize::from(token.is('{'));
        depth -= usize::from(token.is('}'));
        depth == 0 && token.is(',')
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Records all paths in tokens that contain no items.
fn paths(module: &mut Module, tokens: &[Token<'_>], test: bool) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += if matches!(token.kind, Kind::Word(_)) { path(module, &tokens[at..], test) } else { 1 };
    }
}

/// Records a path of at least two names that begins here. Returns the number of tokens.
fn path(module: &mut Module, tokens: &[Token<'_>], test: bool) -> usize {
    let mut way = Way::new();
    let mut at = 0;
    while let Some(Token { kind: Kind::Word(word), .. }) = tokens.get(at) {
        way.push((*word).to_owned());
        at += 1;
        if tokens.get(at).map(|token| token.kind) != Some(Kind::Path) {
            break;
        }
        at += 1;
    }
    if way.len() > 1 {
        module.named.push(Named { path: way, line: tokens[0].line, test, glob: false });
    }
    at.max(1)
}

/// Returns the number of tokens of a bracketed group that begins here, including its brackets.
fn closed(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign('{' | '(' | '[') => depth += 1,
            Kind::Sign('}' | ')' | ']') => depth = depth.saturating_sub(1),
            Kind::Word(_) | Kind::Path | Kind::Text(_) | Kind::Sign(_) => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the number of tokens up to and including this sign.
fn until(tokens: &[Token<'_>], sign: char) -> usize {
    tokens.iter().position(|token| token.is(sign)).map_or(tokens.len(), |at| at + 1)
}

/// Returns the number of tokens of an item: its attributes, and everything up to its `;` or its closing brace.
fn item(tokens: &[Token<'_>]) -> usize {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += match token.kind {
            Kind::Word("use") => return at + until(&tokens[at..], ';'),
            Kind::Sign(';') => return at + 1,
            Kind::Sign('{') => return at + closed(&tokens[at..]),
            Kind::Sign('(' | '[') => closed(&tokens[at..]),
            Kind::Word(_) | Kind::Path | Kind::Text(_) | Kind::Sign(_) => 1,
        };
    }
    at
}
