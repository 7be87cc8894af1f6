//! Checks that dependencies between modules have one direction: between the floors of the core, inside each layered
//! floor, and inside the runtime.

use xtask::fault::{self, Fault};
use xtask::graph::Graph;
use xtask::modules::{Modules, Named};
use xtask::tree::Tree;

const CORE: &str = "core/src/lib.rs";
/// The floors of the core, the lowest first. Each may use only those before it.
const FLOORS: &[&str] = &["words", "machine", "engine"];
/// The floors whose modules depend on each other in one direction. The engine is not among them: its handlers call
/// each other, for example because a ruling of the gate lets a call run, and the end of a call asks the gate.
const LAYERED: &[&str] = &["words", "machine"];
const RUNTIME: &str = "runtime-local/src/lib.rs";

#[test]
fn a_floor_of_the_core_knows_only_those_below_it() {
    fault::none(upward(&core(&Tree::here())));
}

#[test]
fn the_modules_of_a_floor_of_the_core_know_each_other_in_one_direction() {
    let core = core(&Tree::here());
    fault::none(LAYERED.iter().flat_map(|floor| cycles(&arrows(&core, &[(*floor).to_owned()]))).collect());
}

#[test]
fn the_modules_of_the_runtime_know_each_other_in_one_direction() {
    fault::none(cycles(&arrows(&Modules::read(&Tree::here(), RUNTIME), &[])));
}

/// Reads the modules of the core, and checks that all floors exist.
fn core(tree: &Tree) -> Modules {
    let modules = Modules::read(tree, CORE);
    if let Some(missing) = FLOORS.iter().find(|floor| !modules.has(&[(**floor).to_owned()])) {
        panic!("{CORE}:1: the core has three floors, {}; make the module {missing}", FLOORS.join(", "));
    }
    modules
}

/// Returns a fault for each path to a floor above, in tests too.
fn upward(core: &Modules) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (way, module) in core.iter() {
        let Some(floor) = FLOORS.iter().position(|floor| way.first().is_some_and(|first| first == floor))
        else {
            continue;
        };
        for named in &module.named {
            let passed = core.passed(way, &named.path);
            let above = FLOORS[floor + 1..]
                .iter()
                .find(|above| passed.iter().any(|way| way.first().is_some_and(|first| first == *above)));
            if let Some(above) = above {
                let what = format!(
                    "{} lies in {above}, which stands above {}: move the one down or the other up",
                    named.path.join("::"),
                    FLOORS[floor],
                );
                faults.push(Fault::at(&module.file, named.line, what));
            }
        }
    }
    faults
}

/// A dependency of one module on another, with an example of a path and its place.
struct Arrow {
    file: String,
    named: Named,
}

/// Returns the dependencies between the modules directly below `root`, without those of tests. A deeper module
/// counts as the module that contains it. Code in `root` itself does not count.
fn arrows(modules: &Modules, root: &[String]) -> Graph<Arrow> {
    let top = |way: &[String]| way.starts_with(root).then(|| way.get(root.len()).cloned()).flatten();
    let mut graph = Graph::default();
    for (way, module) in modules.iter().filter(|(_, module)| !module.test) {
        let Some(from) = top(way) else { continue };
        for named in module.named.iter().filter(|named| !named.test) {
            for to in
                modules.passed(way, &named.path).iter().filter_map(|way| top(way)).filter(|to| *to != from)
            {
                graph.add(&from, &to, Arrow { file: module.file.clone(), named: named.clone() });
            }
        }
    }
    graph
}

fn cycles(graph: &Graph<Arrow>) -> Vec<Fault> {
    let cycles = graph.cycles();
    let faults = cycles.iter().filter_map(|cycle| {
        let steps = cycle.windows(2).filter_map(|pair| {
            let Arrow { file, named } = graph.why(&pair[0], &pair[1])?;
            Some(format!(
                "\n    {} -> {}: {} ({file}:{})",
                pair[0],
                pair[1],
                named.path.join("::"),
                named.line
            ))
        });
        let Arrow { file, named } = graph.why(&cycle[0], &cycle[1])?;
        let steps: String = steps.collect();
        Some(Fault::at(
            file,
            named.line,
            format!("modules know each other in a circle: move what one of them names{steps}"),
        ))
    });
    faults.collect()
}

#[test]
fn what_names_a_floor_above_is_found() {
    let core = core(&Tree::of(&[
        (
            CORE,
            "pub mod words; pub mod machine; pub mod engine; pub use machine::state; pub use engine::Run;",
        ),
        ("core/src/words/mod.rs", "//! Not [`crate::machine`].\npub mod a; pub mod b; pub mod c; pub mod d;"),
        ("core/src/words/a.rs", "/// [`crate::machine::M`]\nuse crate::machine::M;"),
        ("core/src/words/b.rs", "// crate::engine\nfn f() {\n    super::super::engine::run();\n}"),
        ("core/src/words/c.rs", "use crate::{words::a,\n    state::S};"),
        (
            "core/src/words/d.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::Run;\n    const T: &str = \"crate::engine::run\";\n}",
        ),
        ("core/src/machine/mod.rs", "pub mod state; pub use crate::words::a; use crate::engine::Run;"),
        ("core/src/machine/state.rs", "pub struct S; use crate::words::b;"),
        ("core/src/engine/mod.rs", "pub struct Run; pub fn run() {} use crate::machine::state;"),
    ]));
    let told: Vec<_> = upward(&core).into_iter().map(|fault| (fault.path, fault.line)).collect();
    let file = |name: &str, line| (format!("core/src/{name}"), line);
    assert_eq!(
        told,
        [
            file("machine/mod.rs", 1),
            file("words/a.rs", 2),
            file("words/b.rs", 3),
            file("words/c.rs", 2),
            file("words/d.rs", 3),
        ]
    );
}

#[test]
fn a_cycle_of_modules_is_found() {
    let lib = "mod a; mod b; mod c; pub use c::Deep;";
    let found = |a: &str| {
        let tree = Tree::of(&[
            ("src/lib.rs", lib),
            ("src/a.rs", a),
            ("src/b.rs", "use crate::Deep;\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
            ("src/c/mod.rs", "mod deep; pub use deep::Deep;"),
            ("src/c/deep.rs", "pub struct Deep;\nfn f() {\n    crate::a::f();\n}"),
        ]);
        let faults = cycles(&arrows(&Modules::read(&tree, "src/lib.rs"), &[]));
        faults.into_iter().map(|fault| (fault.path, fault.line)).collect::<Vec<_>>()
    };
    assert_eq!(found("pub struct A; fn f() {}"), []);
    assert_eq!(found("use super::b;\npub fn f() {}"), [("src/a.rs".to_owned(), 1)]);
}

#[test]
#[should_panic(expected = "the core has three floors")]
fn a_core_without_floors_is_told_so() {
    core(&Tree::of(&[(CORE, "pub mod machine;"), ("core/src/machine.rs", "")]));
}
