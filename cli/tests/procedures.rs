//! An agent with a procedure: the page about procedures is played, and faults of a procedure are refused.
//!
//! Requirements: D01, D04, D20.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const PAGE: &str = include_str!("../../docs/how-to/procedures.md");

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "begins in draft", nth = 1 }
calls = [{ tool = "ship", arguments = {} }]

[[turns]]
when = { user_contains = "begins in draft", nth = 2 }
say = "Is that all?"

[[turns]]
when = { user_contains = "cannot end there", nth = 1 }
calls = [{ tool = "place_order", arguments = {} }]

[[turns]]
when = { user_contains = "payment -> shipping", nth = 1 }
calls = [{ tool = "ship", arguments = {} }]

[[turns]]
say = "It is on its way."
"#;

/// Returns the agent file of the page, with a scripted model.
fn file() -> String {
    let (_, rest) = PAGE.split_once("```toml\n").expect("an agent file");
    let (file, _) = rest.split_once("```").expect("its end");
    file.replace("openai:gpt-5-mini", "scripted:play.toml")
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("play.toml", SCRIPT);
    fixture.write("orders.toml", &file());
    fixture
}

#[test]
fn d01_an_order_waits_for_its_payment_as_the_page_shows() {
    let fixture = fixture();
    fixture.run(&["run", "orders.toml", "--session", "order-7", "Two chairs"]).ends(10);
    fixture.run(&["sessions", "pending"]).ends(0).says("answer with one of: paid, refused");
    fixture.run(&["sessions", "show", "order-7"]).ends(0).says("procedure");
    let shown = fixture.run(&["sessions", "show", "order-7", "--json"]).ends(0).last();
    assert_eq!(shown["procedure"], "payment");
    let refused = fixture.run(&["answer", "order-7", "sent"]).ends(2);
    assert!(
        refused.err.contains("the state payment does not wait for sent; it waits for paid, refused"),
        "{refused:#?}"
    );
    let refused = fixture.run(&["answer", "order-7", "--error", "paid"]).ends(2);
    assert!(refused.err.contains("an error is no input of the procedure"), "{refused:#?}");
    let paid = r#"{"input": "paid", "words": "by card"}"#;
    fixture.run(&["answer", "order-7", paid]).ends(0).says("It is on its way.");
    let said = fixture.run(&["sessions", "messages", "order-7"]).ends(0);
    for told in [
        "there is no tool \"ship\" now in the state draft of the procedure; there are: place_order",
        "The work stands in the state draft and cannot end there: place_order leads to payment.",
        "payment -> shipping on paid. The answer says: by card",
        "The order is paid. Ship it.",
        "shipping -> done on sent",
    ] {
        assert!(said.out.contains(told), "{told}: {}", said.out);
    }
    let history = fixture.run(&["sessions", "history", "order-7"]).ends(0);
    for moved in
        ["by a message; procedure: draft", "procedure: payment", "the procedure waits: ", "procedure: done"]
    {
        assert!(history.out.contains(moved), "{moved}: {}", history.out);
    }
    fixture.run(&["sessions", "replay", "order-7"]).ends(0);
    let shown = fixture.run(&["sessions", "show", "order-7", "--json"]).ends(0).last();
    assert_eq!(shown["procedure"], "done");
    fixture.run(&["sessions", "check", "orders.toml"]).ends(0);
    let renamed =
        file().replace("states.done]", "states.over]").replace("sent = \"done\"", "sent = \"over\"");
    fixture.write("orders.toml", &renamed);
    let checked = fixture.run(&["sessions", "check", "orders.toml"]).ends(1);
    assert!(checked.out.contains("its agent's procedure has no state done here"), "{checked:#?}");
}

#[test]
fn d01_a_fork_has_the_state_of_its_checkpoint() {
    let fixture = fixture();
    fixture.run(&["run", "orders.toml", "--session", "o", "Two chairs"]).ends(10);
    fixture.run(&["sessions", "fork", "o", "--to", "f"]).ends(0);
    let shown = fixture.run(&["sessions", "show", "f", "--json"]).ends(0).last();
    assert_eq!(shown["procedure"], "payment");
    fixture.run(&["resume", "f"]).ends(10);
    fixture.run(&["answer", "f", "refused"]).ends(0);
    let shown = fixture.run(&["sessions", "show", "f", "--json"]).ends(0).last();
    assert_eq!(shown["procedure"], "cancelled");
    fixture.run(&["sessions", "replay", "f"]).ends(0);
}

#[test]
fn d20_the_procedure_is_drawn_and_one_that_is_not_sound_is_refused_by_its_key() {
    let fixture = fixture();
    let drawn = fixture.run(&["machine", "orders.toml", "--mermaid"]).ends(0);
    assert!(
        drawn.out.contains("    [*] --> draft\n") && drawn.out.contains("draft --> payment: ordered"),
        "{drawn:#?}"
    );
    fixture.run(&["machine", "orders.toml"]).ends(0).says("ordered");
    let rows = fixture.run(&["machine", "orders.toml", "--json"]).ends(0).lines();
    assert_eq!(rows.len(), 7);
    let paths = fixture.run(&["machine", "orders.toml", "--paths", "3"]).ends(0);
    assert!(paths.out.contains("draft -ordered-> payment -paid-> shipping -sent-> done\n"), "{paths:#?}");
    for (was, is, why) in [
        (
            "paid = \"shipping\"",
            "paid = \"shop\"",
            "procedure.states.payment.on.paid: payment on paid has no known target",
        ),
        (
            "tools = [\"ship\"]",
            "tools = [\"send\"]",
            "procedure.states.shipping.tools: send is none of the agent's tools",
        ),
        (
            "after_ms = 259_200_000\n",
            "",
            "procedure.states.payment.on.unpaid: the state has no deadline: it wants after_ms",
        ),
        ("is = \"parked\"", "is = \"asleep\"", "procedure.states.payment.is: "),
    ] {
        assert!(file().contains(was));
        fixture.write("broken.toml", &file().replace(was, is));
        for words in [&["machine", "broken.toml"][..], &["run", "broken.toml", "hello"]] {
            let refused = fixture.run(words).ends(2);
            assert!(
                refused.err.contains(why) && refused.err.contains("broken.toml: line "),
                "{why}: {refused:#?}"
            );
        }
    }
    fixture.write("plain.toml", "model = 'scripted:play.toml'\n");
    fixture.run(&["machine", "plain.toml"]).fails(2, &["plain.toml: procedure: the agent has none"]);
}
