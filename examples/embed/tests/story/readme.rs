//! Every command of the README works, in this order, and shows what the page says.

use std::net::TcpListener;
use std::process::Command;

/// `cargo run` is the program that was just built, and a condition is waited for, not a time.
const BEFORE: &str = r#"
set -euo pipefail
cargo() { shift 3; exec "$PROGRAM" --listen "$ADDRESS" "$@"; }
until_true() {
    for _ in $(seq 600); do
        if bash -c "$1" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    echo "README: waited 60 s until: $1" >&2
    exit 1
}
shows() {
    grep -qF -- "$1" shown.txt && return
    echo "README: does not show: $1" >&2
    cat shown.txt >&2
    exit 1
}
export DESK=http://$ADDRESS
"#;

#[test]
fn every_command_of_the_readme_works() {
    let folder = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (script, blocks, checks) = script(include_str!("../../README.md"), &address);
    assert!(blocks >= 14 && checks >= 14, "{blocks} blocks, {checks} checks");
    let played = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PROGRAM", env!("CARGO_BIN_EXE_holdover-example-embed"))
        .env("ADDRESS", &address)
        .status()
        .unwrap();
    assert!(played.success(), "{script}");
    let ledger = std::fs::read_to_string(folder.path().join("desk/ledger.txt")).unwrap();
    assert_eq!(ledger, "7 1250\n", "refunded once");
    let events = std::fs::read_to_string(folder.path().join("events.txt")).unwrap();
    let seqs: Vec<u64> = events.lines().filter_map(seq).collect();
    let whole: Vec<u64> = (1..=seqs.len() as u64).collect();
    assert!(seqs.len() > 20, "{events}");
    assert_eq!(seqs, whole, "nothing is missing, nothing comes twice");
}

/// The place of a committed event.
fn seq(line: &str) -> Option<u64> {
    let data = serde_json::from_str::<serde_json::Value>(line.strip_prefix("data: ")?).unwrap();
    data["seq"].as_u64()
}

/// The page's blocks and checks as one script, and how many of each there are.
fn script(page: &str, address: &str) -> (String, usize, usize) {
    let (mut script, mut blocks, mut checks) = (BEFORE.to_owned(), 0, 0);
    let mut within = false;
    for line in page.lines() {
        let check = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
        if let Some((word, what)) = check.and_then(|check| check.split_once(": ")) {
            let word = match word {
                "until" => "until_true",
                "shows" => "shows",
                other => panic!("README: {other}: no such check"),
            };
            script += &format!("{word} '{}'\n", what.replace('\'', r"'\''"));
            checks += 1;
        } else if line == "```sh" {
            (within, blocks) = (true, blocks + 1);
            script += "{\n";
        } else if line == "```" && within {
            within = false;
            script += "} >shown.txt\nexport DESK_PID\n";
        } else if within {
            script += &line.replace("127.0.0.1:8080", address);
            script.push('\n');
        }
    }
    // Whatever happens, nothing is left running.
    script = script.replacen("set -euo", "trap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\nset -euo", 1);
    (script, blocks, checks)
}
