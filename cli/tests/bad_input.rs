//! Bad input of every kind: the error is one line that names the fault, the exit code is right, and nothing
//! changes.
//!
//! Requirements: C18.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::{Fixture, Ran, wait_until};

/// A depth of nesting that no recursive parser can follow.
const DEEP: usize = 100_000;

fn deep_list() -> String {
    "[".repeat(DEEP) + &"]".repeat(DEEP)
}

fn deep_object() -> String {
    "{\"a\":".repeat(DEEP) + "1" + &"}".repeat(DEEP)
}

/// Returns everything that the commands show of the sessions in the store.
fn contents(fixture: &Fixture) -> String {
    let all = fixture.run(&["sessions", "list", "--json"]).ends(0);
    let mut contents = all.out.clone();
    for session in all.lines() {
        let id = session["session"].as_str().expect("an id");
        for what in
            [&["sessions", "show"][..], &["sessions", "messages"], &["sessions", "pending"], &["events"]]
        {
            contents.push_str(&fixture.run(&[what, &["--json", "--", id]].concat()).ends(0).out);
        }
    }
    contents
}

#[test]
fn an_agent_file_that_is_no_agent_begins_nothing() {
    let fixture = Fixture::new();
    let model = "model = 'scripted:script.toml'\n";
    let cases: [(&str, String, &[&str]); 10] = [
        ("broken", format!("{model}tools = [\n"), &["broken.toml: line 2: "]),
        ("unclosed", format!("{model}\nname = \"clerk\n"), &["unclosed.toml: line 3: "]),
        ("unknown", format!("{model}tolls = []\n"), &["unknown.toml: line 2: tolls: "]),
        ("nested", format!("{model}[limits]\n\nmax_step = 1\n"), &["nested.toml: line 4: limits.max_step: "]),
        ("twice", format!("{model}{model}"), &["twice.toml: line 2: ", "duplicate"]),
        ("tool", format!("{model}tools = ['write_fil']\n"), &["tool.toml: line 2: ", "write_fil"]),
        ("kind", format!("{model}tools = 'write_file'\n"), &["kind.toml: line 2: tools: a list is wanted"]),
        ("deep", format!("{model}stop_when = {}\n", deep_list()), &["deep.toml: ", "recur"]),
        ("dotted", format!("{model}{}b = 1\n", "a.".repeat(DEEP)), &["dotted.toml: ", "recur"]),
        ("table", format!("{model}[{}b]\n", "a.".repeat(DEEP)), &["table.toml: ", "recur"]),
    ];
    for (name, text, words) in cases {
        fixture.write(&format!("{name}.toml"), &text);
        fixture.run(&["run", &format!("{name}.toml"), "hello"]).fails(2, words);
    }
    std::fs::write(fixture.path("bytes.toml"), [0xff, 0xfe, 0x00]).expect("a file is written");
    fixture.run(&["run", "bytes.toml", "hello"]).fails(2, &["bytes.toml: ", "UTF-8"]);
    fixture.run(&["run", "files", "hello"]).fails(2, &["files: ", "directory"]);
    fixture.run(&["run", "no/such/agent.toml", "hello"]).fails(2, &["no/such/agent.toml: "]);
    fixture.run(&["run", "/dev/zero", "hello"]).fails(2, &["/dev/zero: more than 1048576 bytes"]);
    fixture.write("endless.toml", &format!("{model}instructions_file = '/dev/zero'\n"));
    let endless = ["endless.toml: line 2: instructions_file: /dev/zero: more than"];
    fixture.run(&["run", "endless.toml", "hello"]).fails(2, &endless);
    fixture.write(
        "script.toml",
        &format!("[[turns]]\ncalls = [{{ tool = 'x', arguments = {{ x = {} }} }}]\n", deep_list()),
    );
    fixture.run(&["run", "agent.toml", "hello"]).fails(2, &["agent.toml: ", "script.toml", "line 2"]);
    assert!(!fixture.has("holdover.db"), "nothing was begun");
}

#[test]
fn a_wrong_value_in_an_agent_file_is_named_by_its_key_in_plain_words() {
    let fixture = Fixture::new();
    for (text, said) in [
        (
            "[limits]\nmax_steps = 'ten'",
            "line 3: limits.max_steps: a whole number from 0 to 4294967295 is wanted, not the text \"ten\"",
        ),
        ("name = 5", "line 2: name: a text is wanted, not 5"),
        ("early_reads = 'yes'", "line 2: early_reads: true or false is wanted, not the text \"yes\""),
        (
            "[retries]\ntool_waits_ms = [1, -2]",
            "line 3: retries.tool_waits_ms[1]: a whole number that is not",
        ),
        ("[models]\nplam = 'openai:m'", "line 3: models.plam: \"plan\", \"ask\" or \"agent\" is wanted"),
        ("[[mcp]]\ncommand = ['x']", "line 2: mcp[0].name: is missing"),
        ("[[tool]]\nname = 'a'\ndescription = 2", "line 4: tool[0].description: a text is wanted, not 2"),
        ("stop_when = ['tool_done']", "line 2: stop_when[0]: \"tool_done\" alone says too little"),
        ("name = 2024-05-01", "line 2: name: a date is not allowed here"),
        // A list in place of a table, and a table in place of a list.
        ("limits = []", "line 2: limits: a table is wanted, not a list"),
        ("limits = [7]", "line 2: limits: a table is wanted, not a list"),
        ("limits = { prices = [1, 2] }", "line 2: limits.prices: a table is wanted, not a list"),
        ("sandbox = []", "line 2: sandbox: a table is wanted, not a list"),
        ("mcp = [['x']]", "line 2: mcp[0]: a table is wanted, not a list"),
        ("[[limits]]\nmax_steps = 1", "limits: a table is wanted, not a list"),
        ("models = []", "line 2: models: a table is wanted, not a list"),
        ("[tool]\nname = 'a'", "line 2: tool: a list is wanted, not a table"),
        ("[tools]\nread_file = true", "line 2: tools: a list is wanted, not a table"),
        ("name = {}", "line 2: name: a text is wanted, not a table"),
        ("durability = []", "is wanted, not a list"),
        // An element of a list is named by its index.
        ("fallback = ['openai:a', 'gpt-5']", "line 2: fallback[1]: model \"gpt-5\": write PROVIDER:NAME"),
        ("fallback = ['openai:a', 7]", "line 2: fallback[1]: a model (\"PROVIDER:NAME\", a table with"),
        ("fallback = ['openai:a', { provider = 'openai' }]", "line 2: fallback[1].name: is missing"),
        ("fallback = [{ nam = 'a' }]", "line 2: fallback[0].nam: there is no such key; known are provider"),
        ("fallback = [{ model = 'gpt-5' }]", "line 2: fallback[0].model: model \"gpt-5\": write PROVIDER"),
        (
            "fallback = [{ model = 'openai:a', price = {} }]",
            "line 2: fallback[0].price: there is no such key",
        ),
        (
            "fallback = ['openai:a', { model = 'openai:b', prices = { input_microusd = 'x' } }]",
            "line 2: fallback[1].prices.input_microusd: a whole number that is not negative is wanted",
        ),
        ("fallback = 'openai:a'", "line 2: fallback: a list is wanted, not the text \"openai:a\""),
    ] {
        fixture.write("clerk.toml", &format!("model = 'scripted:script.toml'\n{text}\n"));
        let ran = fixture.run(&["run", "clerk.toml", "hello"]).fails(2, &["error: clerk.toml: ", said]);
        assert!(!ran.err.contains('`') && !ran.err.contains("expected"), "no words of a library: {ran:#?}");
    }
    fixture.write("clerk.toml", "");
    fixture.run(&["run", "clerk.toml", "hello"]).fails(2, &["error: clerk.toml: model: none is given"]);
    assert!(!fixture.has("holdover.db"), "nothing was begun");
}

#[test]
fn what_is_not_taken_changes_nothing() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "waits", "write"]).ends(10);
    fixture.run(&["run", "agent.toml", "--session", "asks", "ask"]).ends(10);
    fixture.run(&["run", "agent.toml", "--session", "rests", "hello"]).ends(0);
    fixture.run(&["run", "agent.toml", "--session", "told", "ask"]).ends(10);
    fixture.run(&["answer", "told", "blue"]).ends(0);
    fixture.write("list.json", &deep_list());
    fixture.write("object.json", &deep_object());
    fixture.write("cut.json", "{\"path\": \"note.txt\", \"content\": \"");
    fixture.write("twice.json", r#"{"path": "a", "path": "b", "content": ""}"#);
    let made_up = "0".repeat(300);
    let before = contents(&fixture);
    let cases: [(&[&str], i32, &[&str]); 22] = [
        (&["approve", "waits", "--edit", "@list.json"], 2, &["--edit: ", "nested 100000 deep"]),
        (&["approve", "waits", "--edit", "@object.json"], 2, &["--edit: ", "nested 100000 deep"]),
        (&["approve", "waits", "--edit", "@cut.json"], 2, &["--edit: ", "JSON"]),
        (&["approve", "waits", "--edit", "@twice.json"], 2, &["--edit: ", "path"]),
        (&["approve", "waits", "--edit", "@no-such.json"], 2, &["no-such.json: "]),
        (&["approve", "waits", "--edit", "@files"], 1, &["files: "]),
        (&["approve", "waits", "c9-9"], 1, &["session waits: call c9-9: is not pending"]),
        (&["approve", "waits", "c1-0", "c9-9"], 1, &["session waits: call c9-9: is not pending"]),
        (&["approve", "waits", &made_up], 1, &["session waits: call 0000"]),
        (&["approve", &made_up], 1, &["there is no such session"]),
        (
            &["approve", "asks"],
            1,
            &["session asks: no call waits for approval; call c1-0 waits for an answer"],
        ),
        (
            &["answer", "waits", "blue"],
            1,
            &["session waits: no call waits for an answer; call c1-0 waits for approval"],
        ),
        (&["answer", "waits", "c1-0", "blue"], 1, &["c1-0"]),
        (&["answer", "rests", "blue"], 1, &["session rests: no call waits for an answer"]),
        (
            &["answer", "told", "c1-0", "red"],
            1,
            &["session told: call c1-0: is not pending: it has its result already"],
        ),
        (&["deny", "rests"], 1, &["session rests: no call waits for approval"]),
        (&["resume", "rests"], 1, &["session rests: it is at rest"]),
        (&["retry", "rests"], 1, &["session rests: it is at rest"]),
        (&["send", "rests", ""], 2, &["the message is empty"]),
        (&["events", "rests", "--after", "00"], 2, &["--after"]),
        (&["run", "agent.toml", "--session", "rests", "--root", "no-such", "hello"], 2, &["no-such"]),
        (&["sessions", "delete", "nobody"], 1, &["session nobody: there is no such session"]),
    ];
    for (words, code, said) in cases {
        let ran = fixture.run(words).ends(code);
        assert!(ran.err.starts_with("error: ") && !ran.err.contains("panicked"), "{ran:#?}");
        // The errors of the command line's own parser are followed by the usage.
        assert!(code == 2 && words[0] == "events" || ran.err.lines().count() == 1, "{ran:#?}");
        for word in said {
            assert!(ran.err.contains(word), "{word:?} in {ran:#?}");
        }
    }
    assert_eq!(contents(&fixture), before, "nothing was changed");
}

#[test]
fn what_a_model_or_a_client_writes_may_be_as_deep_and_as_long_as_it_likes() {
    let fixture = Fixture::new();
    let script = fixture.read("script.toml");
    let call = format!("{{ tool = 'write_file', raw_arguments = '{}' }}", deep_list());
    fixture.write(
        "deep.toml",
        &format!("[[turns]]\nwhen = {{ nth = 1 }}\ncalls = [{call}]\n[[turns]]\nsay = 'Well.'\n"),
    );
    let ran = fixture.run(&["run", "agent.toml", "--model", "scripted:deep.toml", "--session", "d", "x"]);
    ran.ends(0).says("nested 100000 deep, at most 64 are allowed").says("Well.");

    fixture.write("script.toml", &format!("{script}\n[[turns]]\nsay = 'Well.'\n"));
    fixture.run(&["run", "agent.toml", "--session", "a", "ask"]).ends(10);
    fixture.run_with(&["answer", "a", "-"], &deep_list()).ends(0).says("Well.");
    let told = fixture.run(&["sessions", "messages", "a", "--json"]).ends(0).lines();
    assert!(told.iter().any(|line| line["message"]["content"] == deep_list().as_str()), "as it was written");

    fixture.run_with(&["send", "a", "-"], &"x".repeat(10_000_000)).ends(0).says("Well.");
}

#[test]
fn an_answer_that_is_too_long_is_not_taken_and_its_call_waits_as_before() {
    let fixture = Fixture::new();
    let long = "x".repeat(10_000_000);
    fixture.run(&["run", "agent.toml", "--session", "b", "ask"]).ends(10);
    fixture.run(&["run", "agent.toml", "--session", "c", "write"]).ends(10);
    let agent = fixture.read("agent.toml");
    fixture.write("agent.toml", &format!("{agent}\n[limits]\nresult_bytes_max = 4\n"));
    fixture.run(&["run", "agent.toml", "--session", "d", "ask"]).ends(10);
    fixture.write("long.json", &format!(r#"{{"path": "note.txt", "content": "{long}"}}"#));
    let before = contents(&fixture);
    let ran = fixture.run_with(&["answer", "b", "-"], &long);
    ran.fails(2, &["session b: call c1-0: result: 10000000 bytes, at most 1048576 are allowed"]);
    let ran = fixture.run(&["approve", "c", "--edit", "@long.json"]);
    ran.fails(2, &["session c: call c1-0: arguments: 100000", "bytes, at most 8388608 are allowed"]);
    let ran = fixture.run(&["answer", "d", "a long story"]);
    ran.fails(2, &["session d: call c1-0: result: 12 bytes, at most 4 are allowed"]);
    assert_eq!(contents(&fixture), before, "nothing was changed");
    fixture.run(&["answer", "b", "blue"]).ends(0).says("Blue it is.");
    fixture.run(&["answer", "d", "blue"]).ends(0).says("Blue it is.");
    fixture.run(&["approve", "c"]).ends(0).says("Written.");
}

#[test]
fn a_file_that_is_no_store_of_ours_is_left_as_it_is() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    fixture.set_schema("holdover.db", 99);
    fixture.write("text.db", &"this is no database\n".repeat(100));
    std::fs::write(fixture.path("short.db"), b"SQLite format 3\0").expect("a file is written");
    for (name, why) in [
        ("holdover.db", "has schema 99, this program knows up to"),
        ("text.db", "not a database"),
        ("short.db", "not a database"),
    ] {
        let store = format!("sqlite:{name}");
        let before = std::fs::read(fixture.path(name)).expect("a file");
        for words in [
            &["run", "agent.toml", "hello"][..],
            &["sessions", "list"],
            &["approve", "s"],
            &["work", "--until-idle"],
            &["doctor"],
        ] {
            fixture.run(&[words, &["--store", &store]].concat()).fails(1, &[&store, why]);
        }
        assert_eq!(std::fs::read(fixture.path(name)).expect("a file"), before, "{name}");
    }
    for words in [&["run", "agent.toml", "hello"][..], &["sessions", "list"], &["doctor"]] {
        let ran = fixture.run(&[words, &["--store", "sqlite:no/such/x.db"]].concat());
        ran.fails(1, &["store sqlite:no/such/x.db: "]);
    }
}

/// Requirements: C18.
#[test]
fn a_provider_that_is_not_there_is_named_and_loses_nothing() {
    let fixture = Fixture::new();
    let port = holdover_launcher::free_port().expect("a port");
    let url = format!("http://127.0.0.1:{port}/v1");
    let running = fixture.start(&[
        "run",
        "agent.toml",
        "--session",
        "s",
        "--model",
        "openai:m",
        "--base-url",
        &url,
        "hello",
    ]);
    wait_until("it backs off", || running.text_so_far().contains("model.network: "));
    running.signal(rustix::process::Signal::TERM);
    running.end().fails(143, &["session s: left where it is; holdover resume takes it up again"]);
    fixture.run(&["sessions", "show", "s"]).ends(0).says("model.network: ");
    // The message is there, and another model answers it once the back-off is over.
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("> hello");
    fixture.run(&["resume", "s", "--model", "scripted:script.toml"]).ends(0).says("Good day.");
}

#[test]
fn a_reader_without_room_is_said_so() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let output = fixture.command(&["sessions", "messages", "s"]).stdout(full()).output().expect("it starts");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: standard output: ") && said.lines().count() == 1, "{said}");
    // The exit code still tells the outcome of the turn; a line on standard error reports the failed print.
    let output = fixture.command(&["run", "agent.toml", "--session", "w", "ask"]).stdout(full()).output();
    let output = output.expect("it starts");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(said.starts_with("error: standard output: ") && said.lines().count() == 1, "{said}");
    fixture.run(&["answer", "w", "blue"]).ends(0);
    // The message was stored and answered although printing failed.
    let output = fixture.command(&["send", "s", "hello again"]).stdout(full()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("> hello again\nGood day.");
}

/// Runs a script in a mount namespace of its own, in which the folder `full` is a disk of 512 KiB. Prints a
/// reason and returns `None` if the machine does not allow such a mount.
fn on_a_small_disk(fixture: &Fixture, script: &str) -> Option<Ran> {
    std::fs::create_dir(fixture.path("full")).expect("a folder");
    fixture.write("disk.sh", script);
    let mounted = "mount -t tmpfs -o size=512k tmpfs full";
    for how in ["unshare --mount", "unshare --map-root-user --mount"] {
        if fixture.shell(&format!("{how} sh -c '{mounted}'")).code == Some(0) {
            return Some(fixture.shell(&format!("{how} sh -euc '{mounted} && . ./disk.sh'")));
        }
    }
    // A test can report the reason only by printing.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    {
        eprintln!("skipped: this machine lets nobody mount a tmpfs in a namespace of its own");
    }
    None
}

#[test]
fn a_full_disk_is_said_so_and_nothing_that_was_accepted_is_lost() {
    let fixture = Fixture::new();
    fixture.write("long.txt", &"x".repeat(600_000));
    let holdover = support::HOLDOVER;
    let script = format!(
        r#"
        H() {{ code=0; {holdover} "$@" --store sqlite:full/x.db || code=$?; echo "code $code" >> codes; }}
        H run agent.toml --session s hello
        H sessions messages s --json > before
        H send s --detach - < long.txt 2> send.err
        H sessions messages s --json > after
        H doctor 2> /dev/null
        dd if=/dev/zero of=full/filler bs=1k 2> /dev/null || true
        H send s hello 2> open.err
        rm full/filler
        H send s "hello again"
        H sessions messages s
        dd if=/dev/zero of=full/filler bs=1k 2> /dev/null || true
        H sessions list 2> shared.err
        "#
    );
    let Some(ran) = on_a_small_disk(&fixture, &script) else { return };
    let ran = ran.ends(0);
    let codes: Vec<String> = fixture.read("codes").lines().map(str::to_owned).collect();
    assert_eq!(
        codes,
        ["code 0", "code 0", "code 1", "code 0", "code 0", "code 1", "code 0", "code 0", "code 1"],
        "{ran:#?}"
    );
    assert_eq!(fixture.read("before"), fixture.read("after"), "nothing of it was taken");
    for name in ["send.err", "open.err", "shared.err"] {
        let said = fixture.read(name);
        assert!(
            said.starts_with("error: store sqlite:full/x.db: ") && said.contains(": full: "),
            "{name}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{name}: {said}");
    }
    ran.says("message 1\n> hello\nGood day.\nmessage 3\n> hello again\nGood day.");
}
