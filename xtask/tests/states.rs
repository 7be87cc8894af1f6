//! Checks that code which handles the states of a session names each of them: no arm of a `match`, unless it has a
//! guard, covers states that it does not name. So a new state does not compile until every handler says what becomes of
//! it.
//!
//! Requirements: A01.

use std::collections::BTreeSet;

use xtask::arms::{Match, elements, matches, split};
use xtask::fault::{self, Fault};
use xtask::lexer::{Kind, Token, lex};
use xtask::manifest::ROOT;
use xtask::tree::Tree;

const STATE: &str = "core/src/machine/state.rs";
const DISPATCH: &str = "core/src/machine/states/mod.rs";
/// The function that hands each input to the handler of the state.
const DISPATCHES: &str = "pub(super) fn dispatch(";
/// The types whose variants are the states.
const TYPES: [&str; 2] = ["AgentState", "StateKind"];
/// The short name that the table gives to one of them.
const SHORT: (&str, &str) = ("StateKind as S", "S");
const LINT: &str = "clippy::wildcard_enum_match_arm";
/// The same lint for an arm that covers a single variant. Most code may have such an arm; the dispatch must not.
const SINGLE: &str = "clippy::match_wildcard_for_single_variants";

/// Requirements: A01.
#[test]
fn a01_no_arm_covers_states_that_it_does_not_name() {
    let tree = Tree::here();
    let (found, faults) = faults(&tree);
    assert!(found >= 15, "only {found} matches over states: they are looked for in the wrong way");
    fault::none(faults);
}

/// Requirements: A01.
#[test]
fn a01_the_dispatch_names_every_state() {
    let tree = Tree::here();
    let names = states(&tree);
    assert!(names.len() >= 12, "{names:?}");
    let tokens = lex(tree.read(DISPATCH));
    let all = matches(&tokens).into_iter().any(|one| {
        let named = one.arms.iter().flat_map(|arm| named(&arm.pattern, &["AgentState"], &names));
        named.collect::<BTreeSet<_>>() == names
    });
    assert!(all, "{DISPATCH}: no match has an arm for each of {names:?}");
}

/// The lint finds wildcard arms over any enum of this repository, also where no state is named.
///
/// Requirements: A01.
#[test]
fn a01_clippy_denies_wildcard_arms_where_states_are_dispatched() {
    fault::none(lint_faults(&Tree::here()));
}

fn lint_faults(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let name = LINT.trim_start_matches("clippy::");
    let denied = format!("{name} = \"deny\"");
    if !tree.read(ROOT).lines().any(|line| line == denied) {
        faults.push(Fault::at(ROOT, 1, format!("say {denied} in [workspace.lints.clippy]")));
    }
    let core = "core/Cargo.toml";
    if !tree.read(core).contains("[lints]\nworkspace = true\n") {
        faults.push(Fault::at(core, 1, "take the lints of the workspace".to_owned()));
    }
    // The handlers may have wildcard arms over inputs. The function that chooses the handler may have none.
    let source = tree.read(DISPATCH);
    let before = source.split_once(DISPATCHES).map_or("", |(before, _)| before);
    let above = before.rsplit_once("\n}\n").map_or(before, |(_, above)| above);
    let denied = above.split_once("#[deny(").map_or("", |(_, denied)| denied);
    for lint in [LINT, SINGLE] {
        if !denied.contains(lint) {
            let line = before.lines().count() + 1;
            faults.push(Fault::at(DISPATCH, line, format!("say #[deny({lint})] above {DISPATCHES}…)")));
        }
    }
    // Outside of the handlers, no code of the core may have wildcard arms over enums.
    let exempt = format!("#[allow({LINT}");
    for path in sources(tree).filter(|path| path.starts_with("core/")) {
        let lines: Vec<&str> = tree.read(path).lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.contains(&exempt)) {
            if lines.get(at + 1) != Some(&"mod states;") {
                faults.push(Fault::at(
                    path,
                    at + 1,
                    format!("name what is matched instead of allowing {LINT}"),
                ));
            }
        }
    }
    faults
}

/// Returns the sources that may handle states, without those of tests.
fn sources(tree: &Tree) -> impl Iterator<Item = &str> {
    let crates = ["core/src/", "runtime-local/src/", "elsewhere/src/", "cli/src/"];
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("tests.rs");
    tree.ending(".rs").filter(move |path| crates.iter().any(|one| path.starts_with(one)) && !is_test(path))
}

/// Returns the names of the states: the variants of `AgentState`.
fn states(tree: &Tree) -> BTreeSet<String> {
    let tokens = lex(tree.read(STATE));
    let begin = tokens.windows(2).position(|pair| pair[0].says("enum") && pair[1].says(TYPES[0]));
    let mut names = BTreeSet::new();
    let (mut depth, mut begins) = (0_usize, true);
    for token in &tokens[begin.unwrap_or_else(|| panic!("{STATE}: has no enum {}", TYPES[0])) + 2..] {
        match token.kind {
            Kind::Sign('{' | '(' | '[') => depth += 1,
            Kind::Sign('}' | ')' | ']') => depth -= 1,
            Kind::Sign(',') if depth == 1 => begins = true,
            Kind::Word(name) if depth == 1 && begins => {
                names.insert(name.to_owned());
                begins = false;
            }
            Kind::Word(_) | Kind::Path | Kind::Text(_) | Kind::Sign(_) => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Returns the number of matches over states, and a fault for each arm that covers states without naming them.
fn faults(tree: &Tree) -> (usize, Vec<Fault>) {
    let names = states(tree);
    let (mut count, mut faults) = (0, Vec::new());
    for path in sources(tree) {
        let source = tree.read(path);
        let mut types = TYPES.to_vec();
        if source.contains(SHORT.0) {
            types.push(SHORT.1);
        }
        if TYPES.iter().any(|name| source.contains(&format!("impl {name} "))) {
            types.push("Self");
        }
        for one in matches(&lex(source)) {
            let places = places(&one, &types, &names);
            count += usize::from(!places.is_empty());
            faults.extend(covers(&one, &places).map(|line| {
                Fault::at(path, line, "name the states that this arm covers, or a new state slips through")
            }));
        }
    }
    (count, faults)
}

/// Returns the places at which the patterns of this match hold states: 0 for a match over one value, and otherwise
/// places of a tuple.
fn places(one: &Match<'_>, types: &[&str], names: &BTreeSet<String>) -> BTreeSet<usize> {
    let mut places = BTreeSet::new();
    for arm in &one.arms {
        for pattern in split(&arm.pattern, '|') {
            let held = elements(pattern).into_iter().enumerate();
            places.extend(
                held.filter(|(_, part)| named(part, types, names).next().is_some()).map(|(at, _)| at),
            );
        }
    }
    places
}

/// Returns the states that a pattern names.
fn named<'p>(
    pattern: &'p [Token<'_>],
    types: &'p [&str],
    names: &'p BTreeSet<String>,
) -> impl Iterator<Item = String> + 'p {
    pattern.windows(3).filter_map(|three| match (three[0].kind, three[1].kind, three[2].kind) {
        (Kind::Word(of), Kind::Path, Kind::Word(name)) if types.contains(&of) => names.get(name).cloned(),
        _ => None,
    })
}

/// Returns the lines of the arms without a guard that match every state at one of these places.
fn covers(one: &Match<'_>, places: &BTreeSet<usize>) -> impl Iterator<Item = usize> {
    let whole = |pattern: &[Token<'_>]| {
        let parts = elements(pattern);
        match parts.as_slice() {
            [] => false,
            // One name or `_` for a whole tuple covers each of its places.
            [part] => !places.is_empty() && is_wild(part),
            parts => places.iter().any(|at| parts.get(*at).is_some_and(|part| is_wild(part))),
        }
    };
    let arms = one.arms.iter().filter(|arm| !arm.guarded);
    arms.filter(|arm| split(&arm.pattern, '|').into_iter().any(whole))
        .map(|arm| arm.line)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Returns true if the pattern matches anything: `_`, `..`, a name, or a name for one of these.
fn is_wild(pattern: &[Token<'_>]) -> bool {
    let is_name = |word: &str| word == "_" || word.starts_with(|sign: char| sign.is_lowercase());
    pattern.iter().all(|token| match token.kind {
        Kind::Word(word) => is_name(word) && word != "true" && word != "false",
        Kind::Sign(sign) => "&@.".contains(sign),
        Kind::Path | Kind::Text(_) => false,
    })
}

#[test]
fn an_arm_that_covers_states_is_found() {
    let state = "pub enum AgentState {\n    #[default]\n    Idle,\n    /// Works.\n    Thinking { step: (u32, u32), why: Why },\n    Done,\n}\n";
    let found = |source: &str| {
        let tree = Tree::of(&[(STATE, state), ("core/src/a.rs", source)]);
        let (count, faults) = faults(&tree);
        (count, faults.into_iter().map(|fault| fault.line).collect::<Vec<_>>())
    };
    assert_eq!(states(&Tree::of(&[(STATE, state)])), ["Done", "Idle", "Thinking"].map(str::to_owned).into());
    let arms = |arms: &str| found(&format!("fn f() {{\n    match x {{\n{arms}    }}\n}}\n"));
    assert_eq!(
        arms("AgentState::Idle => 1,\nAgentState::Thinking { .. } | AgentState::Done => 2,\n"),
        (1, vec![])
    );
    for wild in ["_", "other", "&other", "AgentState::Done | _", "other @ _"] {
        assert_eq!(arms(&format!("AgentState::Idle => 1,\n{wild} => 2,\n")), (1, vec![4]), "{wild}");
    }
    assert_eq!(
        arms("(StateKind::Idle, Input::A) => 1,\n(_, Input::B) => 2,\n(StateKind::Done, _) => 3,\n"),
        (1, vec![4])
    );
    assert_eq!(arms("(StateKind::Idle, Input::A) => 1,\nnone => 2,\n"), (1, vec![4]));
    // Other enums, guards and inputs are not meant.
    assert_eq!(arms("CallState::Done => 1,\n_ => 2,\n"), (0, vec![]));
    assert_eq!(arms("Self::Done => 1,\n_ => 2,\n"), (0, vec![]));
    assert_eq!(arms("AgentState::Idle => 1,\nother if other.rests() => 2,\n"), (1, vec![]));
    let own = "impl AgentState {\n    fn f(&self) {\n        match self {\n            Self::Done => 1,\n            _ => 2,\n        }\n    }\n}\n";
    assert_eq!(found(own), (1, vec![5]));
    let table =
        "use StateKind as S;\nfn f() {\n    match x {\n        S::Done => 1,\n        _ => 2,\n    }\n}\n";
    assert_eq!(found(table), (1, vec![5]));
}

#[test]
fn a_lint_that_is_only_warned_of_or_allowed_is_found() {
    let dispatch = format!("/// Chooses.\n#[deny({LINT}, {SINGLE}, reason = \"x\")]\n{DISPATCHES}) {{}}\n");
    let told = |root: &str, core: &str, dispatch: &str, other: &str| {
        let files = [
            (ROOT, root),
            ("core/Cargo.toml", core),
            (DISPATCH, dispatch),
            ("core/src/machine/mod.rs", other),
        ];
        lint_faults(&Tree::of(&files)).into_iter().map(|fault| fault.path).collect::<Vec<_>>()
    };
    let (root, core) = ("wildcard_enum_match_arm = \"deny\"\n", "[lints]\nworkspace = true\n");
    let other = format!("#[allow({LINT}, reason = \"x\")]\nmod states;\n");
    assert_eq!(told(root, core, &dispatch, &other), Vec::<String>::new());
    assert_eq!(told("wildcard_enum_match_arm = \"warn\"\n", core, &dispatch, &other), [ROOT]);
    assert_eq!(told(root, "", &dispatch, &other), ["core/Cargo.toml"]);
    assert_eq!(told(root, core, &dispatch.replace("deny", "allow"), &other), [DISPATCH; 3]);
    assert_eq!(told(root, core, &dispatch.replace(SINGLE, "x"), &other), [DISPATCH]);
    assert_eq!(told(root, core, "", &other), [DISPATCH; 2]);
    assert_eq!(told(root, core, &dispatch, &other.replace("states", "table")), ["core/src/machine/mod.rs"]);
}
