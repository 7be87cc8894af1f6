use crate::machine::procedure::faults;
use crate::words::ids::ToolName;
use crate::words::procedure::{Procedure, ProcedureNature, ProcedureState, Source};

fn tool(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

fn state(nature: ProcedureNature, rows: &[(&str, &str)]) -> ProcedureState {
    rows.iter().fold(ProcedureState::new(nature), |state, (on, to)| state.on(on, to).unwrap())
}

/// A sound procedure: a bill is sent, and somebody pays it or does not.
fn bill() -> Procedure {
    use ProcedureNature::{Parked, Rest, Working};
    let due = state(Parked, &[("paid", "done"), ("late", "draft")]).after_ms(1_000);
    Procedure::new("draft")
        .and_then(|bill| bill.input("billed", Source::Done(tool("bill"))))
        .and_then(|bill| bill.input("paid", Source::Outside))
        .and_then(|bill| bill.input("late", Source::Deadline))
        .and_then(|bill| bill.state("draft", state(Working, &[("billed", "due")]).tool(tool("bill"))))
        .and_then(|bill| bill.state("due", due))
        .and_then(|bill| bill.state("done", state(Rest, &[])))
        .unwrap()
}

/// Checks that `change` makes exactly these faults.
fn check(change: impl FnOnce(Procedure) -> Procedure, expect: &[&str]) {
    let found = faults(&change(bill()), |tool| tool.as_str() == "bill");
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
}

fn with(name: &'static str, rules: ProcedureState) -> impl FnOnce(Procedure) -> Procedure {
    move |bill| bill.state(name, rules).unwrap()
}

/// Requirements: D04, D20, D21.
#[test]
fn d20_a_procedure_is_checked_by_the_code_that_checks_the_machine_and_each_fault_names_its_key() {
    use ProcedureNature::{Parked, Rest, Working};
    check(|bill| bill, &[]);
    let draft = || state(Working, &[("billed", "due")]).tool(tool("bill"));
    let due = |rows| state(Parked, rows).after_ms(1_000);
    // The checks of every table.
    check(
        with("due", due(&[("paid", "nowhere"), ("late", "draft")])),
        &[
            "procedure.states.due.on.paid: due on paid has no known target",
            "procedure.states.draft: no way from draft to rest without an error",
            "procedure.states.due: no way from due to rest without an error",
            "procedure.states.done: nothing leads to done",
        ],
    );
    check(with("lost", state(Rest, &[])), &["procedure.states.lost: nothing leads to lost"]);
    check(
        with("due", due(&[("paid", "due"), ("late", "done")])),
        &["procedure.states.due: nothing wakes due", "procedure.states.due: no way to answer due"],
    );
    check(
        |bill| Procedure { first: "start".parse().unwrap(), ..bill },
        &[
            "procedure.first: there is no state start to begin in",
            "procedure.states.done: nothing leads to done",
            "procedure.states.draft: nothing leads to draft",
            "procedure.states.due: nothing leads to due",
        ],
    );
    // Deadlines alone do not bound a cycle.
    let round = |bill: Procedure| {
        let bill = bill.state("due", due(&[("paid", "done"), ("late", "later")])).unwrap();
        bill.state("later", due(&[("paid", "done"), ("late", "due")])).unwrap()
    };
    check(round, &["procedure.states.due: nothing bounds the cycle through due, later"]);
    // The checks of sources and tools.
    check(
        with("draft", state(Working, &[("billed", "due")])),
        &["procedure.states.draft.on.billed: the state does not admit bill, whose call would bring it"],
    );
    check(
        with("draft", draft().tool(tool("spade"))),
        &["procedure.states.draft.tools: spade is none of the agent's tools"],
    );
    check(
        |bill| bill.input("dug", Source::Failed(tool("spade"))).unwrap(),
        &[
            "procedure.inputs.dug: no state has a row for it",
            "procedure.inputs.dug: tool spade is none of the agent's tools",
        ],
    );
    check(
        with("due", state(Parked, &[("paid", "done")]).after_ms(1_000)),
        &[
            "procedure.inputs.late: no state has a row for it",
            "procedure.states.due.after_ms: no row says where the deadline leads",
        ],
    );
    check(
        with("due", state(Parked, &[("paid", "done"), ("late", "draft")])),
        &["procedure.states.due.on.late: the state has no deadline: it wants after_ms"],
    );
    check(
        with("draft", draft().on("paid", "done").unwrap()),
        &["procedure.states.draft.on.paid: nobody outside is asked, because the state is not parked"],
    );
    check(
        with("due", due(&[("paid", "done"), ("late", "draft")]).tool(tool("bill"))),
        &["procedure.states.due.tools: nothing runs while the work is parked"],
    );
    check(
        with("done", state(Rest, &[("unknown", "draft")])),
        &["procedure.states.done.on.unknown: the procedure has no such input"],
    );
    check(
        |bill| {
            let bill = bill.input("billed2", Source::Done(tool("bill"))).unwrap();
            bill.state("draft", draft().on("billed2", "done").unwrap()).unwrap()
        },
        &["procedure.states.draft.on: billed and billed2 have the same source"],
    );
    check(
        |bill| {
            let bill = bill.input("said", Source::Message).unwrap();
            bill.state("draft", state(Working, &[("said", "due")]).tool(tool("bill"))).unwrap()
        },
        &[
            "procedure.inputs.billed: no state has a row for it",
            "procedure.states.draft: no call leads on from it",
        ],
    );
}

#[test]
fn d01_a_procedure_is_drawn_by_the_code_that_draws_the_machine() {
    let drawn = bill().with_table(|table| table.mermaid());
    assert_eq!(
        drawn,
        "stateDiagram-v2\n    [*] --> draft\n    draft --> due: billed\n    due --> done: paid\n    \
         due --> draft: late\n    note right of due: parked, woken by late, paid\n    \
         note right of done: at rest\n"
    );
    let text = bill().with_table(|table| table.text());
    let rows: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(rows, ["draft billed -> due", "due late -> draft", "due paid -> done"]);
    let json = bill().with_table(|table| table.json());
    assert_eq!(json[0], serde_json::json!({ "from": "draft", "on": "billed", "to": ["due"] }));
    let paths = bill()
        .with_table(|table| table.paths("draft", 2).iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(paths, ["draft -billed-> due -late-> draft …", "draft -billed-> due -paid-> done"]);
}
