//! Turns that must return a value.
//!
//! Requirements: H07, H08.

mod support;

use serde_json::json;
use support::Fixture;

const AGENT: &str = r#"
name = "biller"
model = "scripted:bill.toml"
output_schema = { type = "object", properties = { cents = { type = "integer" } }, required = ["cents"] }
"#;

const BILL: &str = r#"
[[turns]]
when = { result_contains = "does not fit" }
calls = [{ tool = "finish", arguments = { cents = 1250 } }]

[[turns]]
calls = [{ tool = "finish", arguments = { cents = "many" } }]
"#;

#[test]
fn h08_the_value_of_a_turn_is_in_the_last_line_and_alone_where_quiet_was_asked_for() {
    let fixture = Fixture::new();
    fixture.write("biller.toml", AGENT);
    fixture.write("bill.toml", BILL);
    let ran = fixture.run(&["run", "biller.toml", "--session", "s", "--json", "how much?"]).ends(0);
    let outcome = json!({ "kind": "completed", "reason": "tool_stop", "output": { "cents": 1250 } });
    assert_eq!(ran.last()["outcome"], outcome);
    fixture.run(&["run", "biller.toml", "how much?"]).ends(0).says("output: {\"cents\":1250}\n");
    let quiet = fixture.run(&["run", "biller.toml", "--quiet", "how much?"]).ends(0);
    assert_eq!(quiet.out, "{\"cents\":1250}\n");
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0);
    assert_eq!(shown.last()["outcome"], outcome);
    // The stored agent still requires the value in the next turn.
    let ran = fixture.run(&["send", "s", "--json", "and again?"]).ends(0);
    assert_eq!(ran.last()["outcome"], outcome);
}

#[test]
fn h08_the_schema_may_stand_in_a_file_and_is_refused_by_its_line() {
    let fixture = Fixture::new();
    fixture.write("bill.toml", BILL);
    fixture.write("schema.json", r#"{"type":"object","properties":{"cents":{"type":"integer"}}}"#);
    fixture.write("biller.toml", "model = 'scripted:bill.toml'\noutput_schema_file = 'schema.json'\n");
    fixture.run(&["run", "biller.toml", "how much?"]).ends(0).says("output: {\"cents\":1250}\n");

    fixture.write("schema.json", "[1]");
    let why = "line 2: output_schema: does not say type = \"object\"";
    fixture.run(&["run", "biller.toml", "how much?"]).fails(2, &[why]);
    fixture.write("schema.json", "{");
    fixture.run(&["run", "biller.toml", "how much?"]).fails(2, &["line 2: output_schema_file: "]);
}
