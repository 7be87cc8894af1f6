//! Resolves paths through modules and re-exports.

use std::collections::BTreeMap;

use super::{Module, Way};

type All = BTreeMap<Way, Module>;

/// The maximum number of re-exports that are followed. It ends the walk along a cycle.
const HOPS_MAX: usize = 16;

pub(super) fn passed(all: &All, from: &[String], path: &[String]) -> Vec<Way> {
    let mut passed = Vec::new();
    follow(all, from, path, HOPS_MAX, &mut passed);
    passed
}

/// Follows a path from the module in which it is written, and records the modules that it leads through.
fn follow(all: &All, from: &[String], path: &[String], hops: usize, passed: &mut Vec<Way>) {
    let Some((first, rest)) = path.split_first() else { return };
    match first.as_str() {
        "crate" => descend(all, &[], rest, hops, passed),
        "self" => descend(all, from, rest, hops, passed),
        "super" => {
            let mut above = from;
            let mut rest = path;
            while let Some((_, behind)) = rest.split_first().filter(|(first, _)| *first == "super") {
                above = above.split_last().map_or(above, |(_, above)| above);
                rest = behind;
            }
            descend(all, above, rest, hops, passed);
        }
        // The name must be known in this module. Otherwise it is another crate, or a name of the prelude.
        _ if all.get(from).is_some_and(|module| knows(module, first)) => {
            descend(all, from, path, hops, passed);
        }
        _ => {}
    }
}

/// Follows a path downwards from the module `at`.
fn descend(all: &All, at: &[String], path: &[String], hops: usize, passed: &mut Vec<Way>) {
    passed.push(at.to_vec());
    let (Some(module), Some((first, rest))) = (all.get(at), path.split_first()) else { return };
    if module.children.contains(first) {
        let mut below = at.to_vec();
        below.push(first.clone());
        return descend(all, &below, rest, hops, passed);
    }
    let Some(hops) = hops.checked_sub(1) else { return };
    if module.items.contains(first) {
        return;
    }
    if let Some(bound) = module.bound.get(first) {
        // `use x;` binds `x` to itself, so `x` is another crate.
        let whole: Way = bound.iter().chain(rest).cloned().collect();
        if bound.as_slice() != [first.clone()] {
            follow(all, at, &whole, hops, passed);
        }
        return;
    }
    for glob in &module.globs {
        let mut inside = Vec::new();
        follow(all, at, glob, hops, &mut inside);
        let Some(target) = inside.last().and_then(|target| all.get(target)) else { continue };
        if knows(target, first) {
            let whole: Way = glob.iter().chain(path).cloned().collect();
            return follow(all, at, &whole, hops, passed);
        }
    }
}

/// Returns true if a module has or imports something of this name.
fn knows(module: &Module, name: &str) -> bool {
    module.children.contains(name) || module.items.contains(name) || module.bound.contains_key(name)
}

#[cfg(test)]
mod tests {
    use crate::modules::Modules;
    use crate::tree::Tree;

    fn way(path: &str) -> Vec<String> {
        path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn modules() -> Modules {
        Modules::read(
            &Tree::of(&[
                ("src/lib.rs", "mod a; mod b; pub use a::{deep as low, Top}; pub use b::*;"),
                (
                    "src/a.rs",
                    "pub mod deep; pub use self::deep::Thing; pub struct Top; mod inline { fn f() {} }",
                ),
                ("src/a/deep.rs", "pub struct Thing; use super::super::b; fn f() { b::free(); }"),
                (
                    "src/b/mod.rs",
                    "pub fn free() {} #[cfg(test)] mod tests { use super::*; use crate::a::Top; }",
                ),
            ]),
            "src/lib.rs",
        )
    }

    fn last(from: &str, path: &str) -> Option<String> {
        modules().passed(&way(from), &way(path)).last().map(|way| way.join("::"))
    }

    #[test]
    fn modules_are_found_in_files_in_folders_and_inline() {
        let modules = modules();
        let ways: Vec<_> = modules.iter().map(|(way, _)| way.join("::")).collect();
        assert_eq!(ways, ["", "a", "a::deep", "a::inline", "b", "b::tests"]);
        let test: Vec<_> =
            modules.iter().filter(|(_, module)| module.test).map(|(way, _)| way.join("::")).collect();
        assert_eq!(test, ["b::tests"]);
        assert!(modules.iter().flat_map(|(_, module)| &module.named).any(|named| named.test));
    }

    #[test]
    fn paths_lead_up_down_and_through_what_is_exported_again() {
        assert_eq!(last("a::deep", "super::super::b::free").as_deref(), Some("b"));
        assert_eq!(last("a::deep", "b::free").as_deref(), Some("b"));
        assert_eq!(last("b", "crate::a::Thing").as_deref(), Some("a::deep"));
        assert_eq!(last("b", "crate::low::Thing").as_deref(), Some("a::deep"));
        assert_eq!(last("a", "crate::free").as_deref(), Some("b"));
        assert_eq!(last("b", "crate::Top").as_deref(), Some("a"));
        assert_eq!(last("b", "std::mem::take"), None);
        assert_eq!(last("b::tests", "super::free").as_deref(), Some("b"));
    }
}
