//! `holdover mcp`: sessions over MCP on standard input and output.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::{Value, json};
use support::{Fixture, Ran};

/// Returns the lines that a client sends: the handshake, and then these calls of tools, from id 2 on.
fn lines(calls: &[(&str, Value)]) -> String {
    let info = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    lines.extend(calls.iter().zip(2..).map(|((tool, arguments), id)| {
        let call = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call })
    }));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the result of the call with this id.
fn result(ran: &Ran, id: u64) -> Value {
    let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("only the protocol"));
    let found = lines.into_iter().find(|line| line["id"] == id);
    found.unwrap_or_else(|| panic!("no answer {id}: {ran:#?}"))["result"].clone()
}

#[test]
fn standard_output_belongs_to_the_protocol_and_the_end_of_input_ends_it() {
    let fixture = Fixture::new();
    for words in [&["mcp", "agent.toml", "--as", "Ada"][..], &["mcp", "agent.toml", "--no-work"]] {
        let ran = fixture.run_with(words, &lines(&[("list_agents", json!({}))])).ends(0);
        assert_eq!(result(&ran, 1)["serverInfo"]["name"], "holdover");
        assert_eq!(result(&ran, 2)["structuredContent"]["items"][0]["name"], "tester");
        assert!(ran.err.contains("MCP is spoken on standard input and output"), "{ran:#?}");
        let nothing = fixture.run_with(words, "").ends(0);
        assert_eq!(nothing.out, "");
    }
}

#[test]
fn a_client_without_a_permission_is_told_so() {
    let fixture = Fixture::new();
    let start = json!({ "agent": "tester", "message": "hello" });
    let words = ["mcp", "agent.toml", "--may", "read"];
    let ran = fixture.run_with(&words, &lines(&[("start_session", start)])).ends(0);
    let said = result(&ran, 2);
    assert_eq!(said["content"][0]["text"], "forbidden: the token does not give the permission to send");
    fixture.run(&["mcp", "--may", "everything"]).ends(2);
    fixture.run(&["mcp", "--json"]).ends(2);
}
