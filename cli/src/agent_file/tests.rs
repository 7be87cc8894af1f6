//! Tests for the contents of agent files and for the errors of faulty ones.

use std::time::Duration;

use holdover_core::agent::{BreakerRules, Compaction, Limits, OnTrip};
use holdover_core::gate::RuleAction;
use holdover_core::model::ModelErrorKind;
use holdover_core::remote::Remote;
use holdover_core::tool::{Bound, EffectClass};
use holdover_tools::WallsPolicy;

use super::*;

const WHOLE: &str = r#"
name = "keeper"
version = "2"
instructions = "Keep the notes."
tools = ["read_file", "write_file", "run_command"]
permissions = "manual"
human_only = ["run_command"]
tool_fallbacks = { charge = "read_file" }
always_allow = ["read_*"]
on_denial = "end_turn"
stop_when = [{ tool_done = "write_file" }, { text_contains = "DONE" }]
durability = "sync"
early_reads = true
mentions = true
pass_environment = ["CARGO_HOME"]
fallback = ["anthropic:spare", { model = "scripted:play.toml", prices = { output_microusd = 2 } }, { provider = "openai", name = "q" }]
models = { plan = { model = "scripted:plan.toml", prices = { input_microusd = 3 } }, ask = "openai:quick" }

[model]
provider = "openai"
name = "qwen3"
base_url = "http://127.0.0.1:8080/v1"
api_key_env = "KEY"

[[tool]]
name = "charge"
description = "Charges a card"
command = ["/bin/sh", "charge.sh"]
effect = "idempotent"
timeout_seconds = 5
parameters = { type = "object", properties = { cents = { type = "integer" } }, required = ["cents"] }

[[mcp]]
name = "files"
url = "https://files.example/mcp"
bearer_env = "FILES_TOKEN"
trusted = true

[[approval]]
tool = "charge"
action = "ask"

[[approval]]
tool = "write_*"
arguments = { path = "notes/*" }
action = "ask"
reason = "it writes"
terms = { approvers = { names = ["ann", "bob"], needed = 2 }, at_expiry = "approve", expires_after_ms = "none" }

[limits]
max_steps = 7
answer_timeout_ms = "none"
prices = { input_microusd = 1, cached_microusd = 0, cache_written_microusd = 2 }

[gate]
url = "https://gate.example/ask"
bearer_env = "GATE_TOKEN"

[loops]
stop_at = 0
warn_at = 3

[compaction]
context_tokens = 20_000

[retries]
tool_waits_ms = []
on_trip = "observe"

[retries.model_waits_by_kind_ms]
rate_limited = [60_000]

[breaker]
failures = 3
"#;

fn read(text: &str) -> Result<Blueprint, String> {
    parse(text, "stem", Path::new("/agents"), &Instead::default())
}

#[test]
fn a_file_says_all_of_it() {
    let agent = read(WHOLE).unwrap();
    assert_eq!(agent.spec.name, "keeper");
    assert_eq!(agent.recipe.version.as_deref(), Some("2"));
    assert_eq!(agent.recipe.model.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
    assert_eq!((agent.spec.limits.max_steps, agent.spec.limits.answer_timeout_ms), (7, None));
    assert_eq!(agent.spec.limits.tool_timeout_ms, Limits::default().tool_timeout_ms);
    let prices = Prices::default()
        .input_microusd(1)
        .output_microusd(0)
        .cached_microusd(Some(0))
        .cache_written_microusd(Some(2));
    assert_eq!(agent.spec.limits.prices, prices);
    assert_eq!(
        (agent.spec.loops.stop_at, agent.spec.loops.warn_at, agent.spec.loops.withheld_steps),
        (0, 3, 3)
    );
    assert_eq!((agent.spec.compaction.threshold(), agent.spec.compaction.kept_turns), (Some(14_000), 6));
    assert_eq!((agent.spec.durability, agent.spec.early_reads), (Durability::Sync, true));
    let names: Vec<&str> =
        agent.recipe.fallback.iter().map(|fallback| fallback.model.name.as_str()).collect();
    assert_eq!(names, ["spare", "/agents/play.toml", "q"]);
    let prices: Vec<Option<u64>> = agent
        .recipe
        .fallback
        .iter()
        .map(|fallback| fallback.prices.map(|prices| prices.output_microusd))
        .collect();
    assert_eq!(prices, [None, Some(2), None]);
    let models: Vec<(Mode, &str)> =
        agent.recipe.models.iter().map(|(mode, model)| (*mode, model.name.as_str())).collect();
    assert_eq!(models, [(Mode::Plan, "/agents/plan.toml"), (Mode::Ask, "quick")]);
    let prices = Prices::default().input_microusd(3).output_microusd(0);
    assert_eq!(agent.spec.mode_prices, [(Mode::Plan, prices)].into());
    assert_eq!((agent.spec.retries.tool_waits_ms.len(), agent.spec.retries.on_trip), (0, OnTrip::Observe));
    assert_eq!(agent.spec.retries.model_waits_ms, Retries::default().model_waits_ms);
    assert_eq!(agent.spec.retries.model_waits_by_kind_ms[&ModelErrorKind::RateLimited], [60_000]);
    let breaker = agent.spec.breaker.as_ref().unwrap();
    assert_eq!((breaker.failures, breaker.open_ms), (3, BreakerRules::default().open_ms));
    assert_eq!(agent.spec.stop_when.len(), 2);
    assert_eq!(agent.recipe.approval[0].action, RuleAction::Ask);
    assert_eq!(agent.recipe.approval[1].arguments.to_string(), "path=notes/*");
    assert_eq!(agent.recipe.approval[1].terms.approvers.needed, 2);
    assert_eq!(agent.recipe.permissions, PermissionMode::Manual);
    assert_eq!(
        (agent.recipe.always_allow.as_slice(), agent.spec.on_denial),
        (&["read_*".to_owned()][..], OnDenial::EndTurn)
    );
    assert_eq!(agent.recipe.gate.as_ref().unwrap().bearer_env.as_deref(), Some("GATE_TOKEN"));
    assert_eq!(agent.spec.human_only.iter().map(ToolName::as_str).collect::<Vec<_>>(), ["run_command"]);
    assert_eq!(agent.tools, ["read_file", "write_file", "run_command"]);
    let [charge] = agent.recipe.commands.as_slice() else { panic!("{:?}", agent.recipe.commands) };
    assert_eq!((charge.effect, charge.timeout_seconds), (EffectClass::Idempotent, Some(Bound::At(5))));
    assert_eq!(charge.parameters["required"], serde_json::json!(["cents"]));
    let [files] = agent.recipe.mcp.as_slice() else { panic!("{:?}", agent.recipe.mcp) };
    assert_eq!(
        (files.name.as_str(), files.trusted, files.bearer_env.as_deref()),
        ("files", true, Some("FILES_TOKEN"))
    );
    assert!(agent.recipe.root.is_absolute());
}

#[test]
fn the_shortest_file_is_a_model() {
    let agent = read("model = 'scripted:play.toml'").unwrap();
    assert_eq!(agent.spec.name, "stem");
    assert_eq!(agent.recipe.model.name, "/agents/play.toml");
    assert_eq!(agent.spec.limits, Limits::default());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, error) in [
        ("model = 'openai:m'\ntols = []\n", "line 2: tols: there is no such key; known are name, version, "),
        (
            "\n\n[model]\nprovider = 'openai'\nnam = 'm'\n",
            "line 5: model.nam: there is no such key; known are provider, name, ",
        ),
        ("model = 'gpt-5'", "line 1: model: model \"gpt-5\": write PROVIDER:NAME"),
        ("model = 'oracle:m'", "line 1: model: model \"oracle:m\": unknown provider \"oracle\""),
        ("model = 'openai:m'\n[limits]\nmax_step = 1\n", "line 3: limits.max_step: there is no such key"),
        (
            "model = 'openai:m'\ntools = ['read_file']\nhuman_only = ['write_file']\n",
            "line 3: human_only: tool \"write_file\" is none of the agent's tools",
        ),
        (
            "model = 'openai:m'\ntools = ['sleep']\nalways_allow = ['read_*']\n",
            "line 3: always_allow: tool \"read_*\" is none of the agent's tools",
        ),
        (
            "model = 'openai:m'\ntools = ['sleep']\n[[approval]]\ntool = 'sleep'\naction = 'ask'\nterms = { approvers = { names = ['a'], needed = 2 } }\n",
            "line 3: approval: terms: approvers: 2 are needed, 1 are named",
        ),
        (
            "model = 'openai:m'\ntools = ['sleep']\ntool_fallbacks = { sleep = 'wait' }\n",
            "line 3: tool_fallbacks.sleep: tool \"wait\" is none of the agent's tools",
        ),
        ("model = 'openai:m'\n[gate]\nurl = 'gate'\n", "line 2: gate: url: "),
        (
            "model = 'openai:m'\npermissions = 'none'\n",
            "line 2: permissions: \"manual\", \"auto\" or \"full\" is wanted, not the text \"none\"",
        ),
        ("model = 'openai:m'\n[loops]\nstop = 1\n", "line 3: loops.stop: there is no such key"),
        ("model = 'openai:m'\n[retries]\nwaits = 1\n", "line 3: retries.waits: there is no such key"),
        (
            "model = 'openai:m'\nfallback = ['gpt-5']\n",
            "line 2: fallback[0]: model \"gpt-5\": write PROVIDER:NAME",
        ),
        ("model = 'openai:m'\n[compaction]\nkept = 1\n", "line 3: compaction.kept: there is no such key"),
        (
            "model = 'openai:m'\n[limits]\n\nmax_run_ms = -1\n",
            "line 4: limits.max_run_ms: a number that is not negative, or \"none\" is wanted, not -1",
        ),
        (
            "model = 'openai:m'\n[limits]\nprices = { in = 1 }\n",
            "line 3: limits.prices.in: there is no such key",
        ),
        (
            "model = 'openai:m'\ntools = [\n  'read_file',\n  'read_fil',\n]\n",
            "line 4: tools: unknown tool \"read_fil\"; known are list_files",
        ),
        ("model = 'openai:m'\ntools = ['sleep', 'sleep']\n", "line 2: tools: \"sleep\" is listed twice"),
        (
            "model = 'openai:m'\ntools = ['write_file']\n\n[[approval]]\ntool = 'write'\naction = 'ask'\n",
            "line 4: approval: tool \"write\" is none of the agent's tools",
        ),
        (
            "model = 'openai:m'\ntools = ['write_file']\n[[approval]]\ntool = '*'\naction = 'aks'\n",
            "line 5: approval[0].action: \"allow\", \"deny\" or \"ask\" is wanted, not the text \"aks\"",
        ),
        (
            "model = 'openai:m'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = []\n",
            "line 2: tool a: command: is empty",
        ),
        (
            "model = 'openai:m'\n[[tool]]\nname = 'sleep'\ndescription = ''\ncommand = ['true']\n",
            "line 2: tool sleep: a built-in tool has this name",
        ),
        (
            "model = 'openai:m'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = ['./no-such']\n",
            "line 2: tool a: /agents/./no-such: ",
        ),
        (
            "model = 'openai:m'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = ['a']\neffect = 'x'\n",
            "line 6: tool[0].effect: ",
        ),
        (
            "model = 'openai:m'\n[[mcp]]\nname = 'a'\n",
            "line 2: mcp server \"a\": command: give either command or url",
        ),
        (
            "model = 'openai:m'\n[[mcp]]\nname = 'a'\nurl = 'http://me:pw@h'\n",
            "line 2: mcp server \"a\": url: it holds a password",
        ),
        (
            "model = 'openai:m'\n[[mcp]]\nname = 'a'\ncommand = ['./no-such']\n",
            "line 2: mcp server \"a\": /agents/./no-such: ",
        ),
        (
            "model = 'openai:m'\n[[mcp]]\nname = 'a'\ncommand = ['x']\n[[mcp]]\nname = 'a'\ncommand = ['x']\n",
            "line 5: mcp server \"a\": is declared twice",
        ),
        ("instructions = ''\n", "model: none is given"),
        ("model = 'openai:m'\nroot = '/no/such/folder'\n", "line 2: root: /no/such/folder: "),
        (
            "model = 'openai:m'\ninstructions_file = 'no-such.md'\n",
            "line 2: instructions_file: /agents/no-such.md: ",
        ),
        ("model = 'openai:m'\n[[agent]]\nname = 'a'\n", "line 2: agent[0].description: is missing"),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nmax_steps = 1\n",
            "line 5: agent[0].max_steps: there is no such key; known are name, description, ",
        ),
        ("model = 'openai:m'\n[[agent]]\nname = ''\ndescription = ''\n", "line 3: agent[0].name: "),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nlimits = { max_step = 1 }\n",
            "line 5: agent[0].limits.max_step: there is no such key",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nfan_out_max = 1001\n",
            "line 5: agent[0].fan_out_max: is 1001, expected 1 to 1000",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\ntimeout_seconds = 0\n",
            "line 5: agent[0].timeout_seconds: is zero",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\ntools = ['sleep']\n",
            "line 5: agent[0].tools: \"sleep\" is none of the parent's tools",
        ),
        (
            "model = 'openai:m'\ntools = ['sleep']\n[[agent]]\nname = 'a'\ndescription = ''\n[[agent.agent]]\nname = 'b'\ndescription = ''\ntools = ['sleep']\n",
            "line 9: agent[0].agent[0].tools: \"sleep\" is none of the parent's tools",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\n[[agent]]\nname = 'b'\ndescription = ''\ntools = ['a']\n",
            "line 8: agent[1].tools: \"a\" is none of the parent's tools",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\n[[agent]]\nname = 'a'\ndescription = ''\n",
            "line 6: agent[1].name: \"a\": is declared twice",
        ),
        (
            "model = 'openai:m'\ntools = ['sleep']\n[[agent]]\nname = 'sleep'\ndescription = ''\n",
            "line 4: agent[0].name: \"sleep\": a tool has this name",
        ),
        (
            "model = 'openai:m'\ntools = ['sleep']\n[[agent]]\nname = 'a'\ndescription = ''\n[[agent.approval]]\ntool = 'sleep'\naction = 'ask'\n",
            "line 6: agent[0].approval: tool \"sleep\" is none of the agent's tools",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\ninstructions = ''\ninstructions_file = 'x'\n",
            "line 6: agent[0].instructions_file: give either instructions or",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\ntoken_env = 'T'\n",
            "line 5: agent[0].token_env: is for an agent of another program, which has a url",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nurl = 'https://a'\nbackground = true\n",
            "line 5: agent[0].background: is for agents of this program, and url names another",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nurl = 'ftp://a'\n",
            "line 5: agent[0].url: is \"ftp://a\", expected http:// or https://",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nurl = 'https://a'\nlook_every_seconds = 0\n",
            "line 6: agent[0].look_every_seconds: is zero",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nurl = 'https://a'\ntoken_env = 'A=B'\n",
            "line 6: agent[0].token_env: is no name of an environment variable",
        ),
        (
            "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nurl = 'http://a'\ntoken_env = 'T'\n",
            "line 6: agent[0].token_env: the token would be sent unencrypted to a; expected https://",
        ),
        ("model = \n", "line 1: "),
    ] {
        let found = read(text).expect_err(text);
        assert!(found.starts_with(error), "{text:?}\n  found    {found}\n  expected {error}");
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn a_sandbox_is_what_the_file_says_of_it_and_holds_some_tool() {
    let model = "model = \"scripted:a.toml\"\nroot = \"/\"\n";
    let with = |tools: &str, table: &str| read(&format!("{model}tools = [{tools}]\n[sandbox]\n{table}"));
    let sandbox = with("\"run_command\"", "").unwrap().recipe.sandbox.unwrap();
    assert_eq!((sandbox.idle_seconds, sandbox.walls, sandbox.network), (300, WallsPolicy::Preferred, false));
    let said = "root = \"rooms\"\nidle_seconds = 9\nwalls = \"required\"\nnetwork = true\nkeep = true\nimage = \"/usr\"";
    let sandbox = with("\"read_file\", \"sleep\"", said).unwrap().recipe.sandbox.unwrap();
    assert_eq!(sandbox.root.as_deref(), Some(Path::new("/agents/rooms")));
    assert_eq!(sandbox.image.as_deref(), Some(Path::new("/usr")));
    assert_eq!((sandbox.idle_seconds, sandbox.walls), (9, WallsPolicy::Required));
    assert!(sandbox.network && sandbox.keep);
    assert!(read(&format!("{model}tools = [\"run_command\"]")).unwrap().recipe.sandbox.is_none());
    for (tools, table, why) in [
        ("\"sleep\"", "", "line 4: sandbox: no tool works in it; list some of list_files, "),
        ("\"run_command\"", "image = \"/no/such\"", "line 4: sandbox: image: /no/such: No such file"),
        ("\"run_command\"", "walls = \"high\"", "line 5: "),
        ("\"run_command\"", "pass_environment = [\"KEY\"]", "line 5: "),
    ] {
        let refused = with(tools, table).unwrap_err();
        assert!(refused.starts_with(why), "{refused}");
    }
}

#[test]
fn a_model_of_the_command_line_stands_for_sub_agents_too() {
    let text = "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nmodel = 'scripted:own.toml'\n";
    let own = |instead: &Instead| {
        let agent = parse(text, "stem", Path::new("/agents"), instead).unwrap();
        agent.recipe.sub_agents[0].model.as_ref().map(|model| model.name.clone())
    };
    assert_eq!(own(&Instead::default()).as_deref(), Some("/agents/own.toml"));
    assert_eq!(own(&Instead { model: "openai:n".parse().ok(), ..Instead::default() }), None);
}

#[test]
fn a_sub_agent_may_be_one_of_another_program() {
    let agent = "model = 'openai:m'\n[[agent]]\nname = 'a'\ndescription = ''\nurl = 'https://a/tasks'\n";
    let remote = |text: &str| read(text).unwrap().recipe.sub_agents[0].remote.clone().unwrap();
    assert_eq!(remote(agent), Remote::new("https://a/tasks"));
    let whole = format!(
        "{agent}token_env = 'TOKEN'\nlook_every_seconds = 60\nfan_out_max = 2\ntimeout_seconds = 9\n"
    );
    let expected = Remote::new("https://a/tasks").token_env("TOKEN").look_every(Duration::from_secs(60));
    assert_eq!(remote(&whole), expected);
}

#[test]
fn a_rule_may_be_about_a_sub_agent() {
    let agent = "model = 'openai:m'\n[[agent]]\nname = 'clerk'\ndescription = ''\n";
    let rule = "[[approval]]\ntool = 'clerk'\naction = 'ask'\n";
    assert_eq!(read(&format!("{agent}{rule}")).unwrap().recipe.approval.len(), 1);
}

/// Returns the section of the page about one table. For the file itself, returns the whole page.
fn on_page(table: &str) -> &'static str {
    let page = include_str!("../../../docs/agent-file.md");
    let Some((_, rest)) = page.split_once(&format!("\n### {table}\n")) else { return page };
    rest.split_once("\n#").map_or(rest, |(part, _)| part)
}

#[test]
fn the_page_of_the_agent_file_has_every_key() {
    let tables = ["model", "sandbox", "gate", "limits", "loops", "compaction", "retries", "breaker", "state"];
    let lists = ["tool", "mcp", "approval", "agent"];
    let heads = std::iter::once((String::new(), ""))
        .chain(tables.map(|table| (format!("[{table}]\n"), table)))
        .chain(lists.map(|table| (format!("[[{table}]]\n"), table)));
    for (head, table) in heads {
        let error = read(&format!("{head}nothing_is_called_so = 1\n")).unwrap_err();
        // The error lists the known keys.
        let known: Vec<&str> = error.rsplit("known are ").next().unwrap().split(", ").collect();
        assert!(known.len() >= 2, "{error}");
        for key in known {
            let part = on_page(table);
            let is_there = part.contains(&format!("`{key}`")) || part.contains(&format!("\n### {key}\n"));
            assert!(is_there, "docs/agent-file.md: {head}{key}");
        }
    }
}

/// Returns the code block of the page that begins with these words.
fn in_guide(page: &'static str, beginning: &str) -> &'static str {
    let (_, rest) = page.split_once(&format!("```toml\n{beginning}\n")).expect(beginning);
    rest.split_once("```").map_or(rest, |(block, _)| block)
}

#[test]
fn what_the_guides_say_of_what_is_left_out_is_so() {
    let limits = include_str!("../../../docs/how-to/limits.md");
    let failures = include_str!("../../../docs/how-to/failures.md");
    let model = "model = 'scripted:play.toml'\n";
    let example = in_guide(include_str!("../../../docs/agent-file.md"), "[[agent]]");
    let chief = read(&format!("{model}tools = ['read_file']\n[[agent]]\n{example}")).unwrap();
    let [researcher] = chief.recipe.sub_agents.as_slice() else { panic!("{:?}", chief.recipe.sub_agents) };
    let least = researcher.limits.clone().unwrap();
    assert_eq!((least.max_steps, least.max_output_tokens), (6, 8_000));
    let long = read(&format!("{model}[loops]\n{}", in_guide(limits, "[loops]"))).unwrap();
    assert_eq!((long.spec.loops, long.spec.compaction), (LoopDetection::default(), Compaction::default()));
    let (retries, rest) =
        in_guide(failures, "[retries]").split_once("[retries.model_waits_by_kind_ms]").unwrap();
    let failing = read(&format!("{model}[retries]\n{retries}")).unwrap();
    assert_eq!(failing.spec.retries, Retries::default());
    let (_, breaker) = rest.split_once("[breaker]").unwrap();
    let failing = read(&format!("{model}[breaker]{breaker}")).unwrap();
    assert_eq!(failing.spec.breaker, Some(BreakerRules::default()));
}

#[test]
fn what_the_page_says_of_numbers_that_are_left_out_is_so() {
    let usual = |rules: serde_json::Result<Value>| rules.unwrap();
    let (limits, compaction) = (Limits::default(), Compaction::default());
    // Default values of these two keys are not stored.
    let corrections = ("corrections_max", Value::from(limits.corrections_max));
    let summarise = ("summarise_results", Value::from(compaction.summarise_results));
    for (table, mut usual, left_out, least) in [
        ("limits", usual(serde_json::to_value(limits)), Some(corrections), 10),
        ("loops", usual(serde_json::to_value(LoopDetection::default())), None, 5),
        ("compaction", usual(serde_json::to_value(compaction)), Some(summarise), 9),
        ("breaker", usual(serde_json::to_value(BreakerRules::default())), None, 4),
    ] {
        if let Some((key, value)) = left_out {
            assert!(usual.get(key).is_none(), "{table}.{key} is stored");
            usual[key] = value;
        }
        let mut held = 0;
        for row in on_page(table).lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let (key, said) = (cells[1], cells[2].replace(' ', ""));
            let is_number = |value: &Value, number| match value.as_object() {
                Some(prices) => prices.values().all(|price| price.as_u64() == Some(number)),
                None => value.as_u64() == Some(number),
            };
            let Some(value) = usual.get(key) else { panic!("docs/agent-file.md: there is no {table}.{key}") };
            let is_so = match (said.parse::<u64>(), said.parse::<bool>()) {
                (Ok(number), _) => is_number(value, number),
                (_, Ok(is)) => value.as_bool() == Some(is),
                _ if said == "\"none\"" => value.is_null(),
                _ => panic!("docs/agent-file.md: {table}.{key}: {said}"),
            };
            assert!(is_so, "docs/agent-file.md: {table}.{key} is {value}, not {said}");
            held += 1;
        }
        assert!(held >= least, "{table}: {held}");
    }
}
