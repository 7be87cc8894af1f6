//! Requirements: A61, A63, A64.

use std::path::Path;

use holdover_core::gate::Verdict;
use holdover_core::payload::Payload;
use holdover_runtime_local::{Agent, Definition};
use serde_json::json;

use super::*;
use crate::agent_file::{Instead, read};
use crate::source::{Blueprint, StoredAgents};

const FILE: &str = r#"
name = "editor"
version = "3"
model = "scripted:play.toml"
models = { plan = { model = "scripted:plan.toml", prices = { input_microusd = 3 } } }
fallback = [{ model = "scripted:spare.toml", prices = { output_microusd = 2 } }]
tools = ["read_file", "write_file", "run_command", "sleep"]
skills = ["skills"]
human_only = ["sleep"]
always_allow = ["run_command"]
durability = "sync"
in_doubt = "ask"
sandbox = {}

[limits]
max_steps = 9
prices = { input_microusd = 1 }

[retries]
tool_waits_ms = []

[breaker]
failures = 3

[[tool]]
name = "charge"
description = "Charges a card"
command = ["/bin/sh", "-c", "true"]

[[tool]]
name = "refund"
description = "Refunds a card"
command = ["/bin/sh", "-c", "true"]

[[approval]]
tool = "charge"
action = "ask"

[[agent]]
name = "clerk"
description = "Does the accounts."
instructions = "You are a clerk."
tools = ["read_file", "sleep", "charge", "read_skill", "run_command"]
permissions = "manual"
fan_out_max = 7
background = true
timeout_seconds = 60
limits = { max_steps = 4 }

[[agent.agent]]
name = "reader"
description = "Reads."
tools = ["charge", "read_file"]

[[agent.agent.agent]]
name = "speller"
description = "Spells."
tools = ["read_file"]

[[agent]]
name = "poet"
description = "Writes verse."
model = "scripted:verse.toml"
limits = { prices = { input_microusd = 8 } }

[[agent.agent]]
name = "rhymer"
description = "Finds rhymes."
takes_over = true
"#;

/// Returns the agent of `text`, in a folder with its models and a skill.
fn blueprint(folder: &Path, text: &str) -> Blueprint {
    for script in ["play.toml", "plan.toml", "spare.toml", "verse.toml", "other.toml"] {
        std::fs::write(folder.join(script), "[[turns]]\nsay = 'yes'\n").unwrap();
    }
    std::fs::create_dir_all(folder.join("skills/ink")).unwrap();
    let skill = "---\nname: ink\ndescription: How to mix ink\n---\nMix it.\n";
    std::fs::write(folder.join("skills/ink/SKILL.md"), skill).unwrap();
    std::fs::write(folder.join("agent.toml"), text).unwrap();
    match read(&folder.join("agent.toml"), &Instead::default()) {
        Ok(blueprint) => blueprint,
        Err(failure) => panic!("{failure:?}"),
    }
}

fn at_path(agent: &Agent, path: &[&str]) -> Option<Payload> {
    let (name, below) = path.split_first()?;
    let child = agent.sub_agent(&ToolName::new(*name).unwrap())?;
    if below.is_empty() { Some(child.definition().clone()) } else { at_path(child, below) }
}

const PATHS: [&[&str]; 5] =
    [&["clerk"], &["clerk", "reader"], &["clerk", "reader", "speller"], &["poet"], &["poet", "rhymer"]];

#[test]
fn a_sub_agent_is_built_again_from_its_own_definition_as_its_parent_built_it() {
    let folder = tempfile::tempdir().unwrap();
    let editor = blueprint(folder.path(), FILE).build().unwrap();
    let again = StoredAgents::default().rebuild(editor.definition()).unwrap();
    assert_eq!(again.definition(), editor.definition());
    for path in PATHS {
        let made = at_path(&editor, path).unwrap();
        let rebuilt = StoredAgents::default().rebuild(&made).unwrap();
        assert_eq!(*rebuilt.definition(), made, "{path:?}");
        assert_eq!(rebuilt.queue().as_str(), crate::source::QUEUE);
        assert_eq!(rebuilt.spec().name, format!("editor>{}", path.join(">")));
        assert_eq!(rebuilt.version(), Some("3"));
        // The sub-agents below it are unchanged.
        for below in PATHS.iter().filter(|below| below.len() > path.len() && below.starts_with(path)) {
            assert_eq!(at_path(&rebuilt, &below[path.len()..]), at_path(&editor, below), "{below:?}");
        }
    }
}

#[test]
fn a_sub_agent_has_what_the_file_says_and_its_parents_rest() {
    let folder = tempfile::tempdir().unwrap();
    let editor = blueprint(folder.path(), FILE).build().unwrap();
    let of = |path: &[&str]| Definition::read(&at_path(&editor, path).unwrap()).unwrap().spec;
    let clerk = of(&["clerk"]);
    let names = |spec: &AgentSpec| spec.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&clerk), ["read_file", "sleep", "charge", "read_skill", "run_command", "reader"]);
    assert_eq!((clerk.limits.max_steps, clerk.limits.max_output_tokens), (4, 8_000));
    assert_eq!((clerk.limits.prices.input_microusd, clerk.fallback.len()), (1, 1));
    assert_eq!(clerk.human_only.iter().map(ToolName::as_str).collect::<Vec<_>>(), ["sleep"]);
    assert_eq!(names(&of(&["clerk", "reader"])), ["charge", "read_file", "speller"]);
    let poet = of(&["poet"]);
    assert_eq!((poet.limits.max_steps, poet.limits.prices.input_microusd), (10, 8));
    assert_eq!((poet.fallback.len(), poet.breaker.as_ref()), (0, None));
    assert_eq!(of(&["poet", "rhymer"]).limits.prices.input_microusd, 8);
    let clerks = editor.spec().tools.iter().find(|tool| tool.name.as_str() == "clerk").unwrap();
    assert_eq!(clerks.timeout_ms, Some(Bound::At(60_000)));
    assert_eq!(clerks.parameters["properties"]["tasks"]["maxItems"], json!(7));
    // Returns the model of each agent, as it is shown to people.
    let model =
        |path: &[&str]| Blueprint::stored(&at_path(&editor, path).unwrap()).unwrap().model().to_string();
    assert!(model(&["clerk", "reader"]).ends_with("play.toml"));
    assert!(model(&["poet", "rhymer"]).ends_with("verse.toml"));
}

#[test]
fn what_a_sub_agent_does_not_use_need_not_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut with_server = blueprint(folder.path(), FILE);
    let server =
        json!({ "name": "far", "url": "https://far.example/mcp", "bearer_env": "HOLDOVER_NO_SUCH_TOKEN" });
    let editor = with_server.build().unwrap();
    with_server.recipe.mcp.push(serde_json::from_value(server).unwrap());
    let made = at_path(&editor, &["poet"]).unwrap();
    let Definition { spec, .. } = Definition::read(&made).unwrap();
    let parent = serde_json::to_value(&with_server.recipe).unwrap();
    let source = Some(json!({ "parent": parent, "sub_agent": "poet" }));
    let stored = Payload::json(&Definition { spec, source }).unwrap();
    assert_eq!(*StoredAgents::default().rebuild(&stored).unwrap().definition(), stored);
}

#[test]
fn a_tool_of_a_server_is_built_again_as_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut editor = blueprint(folder.path(), FILE);
    let server = |name: &str| json!({ "name": name, "command": ["true"] });
    editor.recipe.mcp.push(serde_json::from_value(server("near")).unwrap());
    editor.recipe.mcp.push(serde_json::from_value(server("far")).unwrap());
    let look = json!({
        "name": "mcp__near__look", "description": "Looks.", "parameters": { "type": "object" },
        "effect": "at_most_once", "dangerous": true, "runs_on": "server",
    });
    editor.mcp_tools.push(serde_json::from_value(look).unwrap());
    let name = ToolName::new("mcp__near__look").unwrap();
    editor.recipe.sub_agents[0].tools.push(name.clone());
    editor.recipe.sub_agents[0].sub_agents[0].tools.push(name);
    let built = editor.build().unwrap();
    for path in PATHS {
        let made = at_path(&built, path).unwrap();
        assert_eq!(*StoredAgents::default().rebuild(&made).unwrap().definition(), made, "{path:?}");
        let stored = Blueprint::stored(&made).unwrap();
        assert_eq!(stored.mcp_tools.len(), usize::from(["clerk", "reader"].contains(path.last().unwrap())));
    }
}

#[test]
fn a_model_of_this_process_is_asked_by_all_and_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let editor = blueprint(folder.path(), FILE).build().unwrap();
    let other = folder.path().join("other.toml");
    let model: ModelRef = format!("scripted:{}", other.display()).parse().unwrap();
    let here = StoredAgents { model: Some(model), ..StoredAgents::default() };
    std::fs::remove_file(folder.path().join("verse.toml")).unwrap();
    let rebuilt = here.rebuild(&at_path(&editor, &["poet"]).unwrap()).unwrap();
    let source = |definition: &Payload| Definition::read(definition).unwrap().source;
    assert_eq!(source(rebuilt.definition()), source(&at_path(&editor, &["poet"]).unwrap()));
}

#[test]
fn an_agent_without_sub_agents_stores_nothing_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let (alone, _) = FILE.split_once("\n[[agent]]").unwrap();
    let alone = blueprint(folder.path(), alone);
    let stored = serde_json::to_value(&alone.recipe).unwrap();
    assert!(stored.get("sub_agents").is_none(), "{stored}");
    let with = serde_json::to_value(&blueprint(folder.path(), FILE).recipe).unwrap();
    let rhymer = json!({ "name": "rhymer", "description": "Finds rhymes.", "takes_over": true });
    assert_eq!(with["sub_agents"][1]["sub_agents"], json!([rhymer]));
}

#[test]
fn a_source_that_fits_no_recipe_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = serde_json::to_value(&blueprint(folder.path(), FILE).recipe).unwrap();
    let child = |parent: Value, name: &str| json!({ "parent": parent, "sub_agent": name });
    let deep = ["a", "b", "c", "d"].into_iter().fold(recipe.clone(), child);
    for (source, why) in [
        (child(recipe.clone(), "cook"), "source: there is no sub_agent cook"),
        (json!({ "sub_agent": "clerk" }), "source: sub_agent: missing field `parent`"),
        (json!({ "parent": recipe, "sub_agent": "clerk", "x": 1 }), "source: sub_agent: unknown field `x`"),
        (child(json!({ "model": 1 }), "clerk"), "source: "),
        (deep, "source: sub_agent: lies deeper than 3"),
    ] {
        let found = Origin::read(source).unwrap_err();
        assert!(found.starts_with(why) && !found.contains('\n'), "{found}");
    }
}

#[test]
fn sub_agents_that_lie_too_deep_are_refused_by_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let deep = FILE.replace(
        "\n[[agent]]\nname = \"poet\"",
        "\n[[agent.agent.agent.agent]]\nname = \"dot\"\ndescription = \"\"\n\n[[agent]]\nname = \"poet\"",
    );
    let why = blueprint(folder.path(), &deep).build().unwrap_err();
    assert_eq!(why, "agent \"editor>clerk>reader>speller\": sub_agent dot: lies deeper than 3");
}

#[test]
fn its_own_rules_leave_the_rest_to_the_gate_of_the_parent() {
    let recipe = |more: Value| -> SubAgentRecipe {
        let mut all = json!({ "name": "a", "description": "" });
        for (key, value) in more.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    };
    assert_eq!(recipe(json!({})).gate(), None);
    let rules = recipe(json!({ "approval": [{ "tool": "pay", "action": "ask" }] })).gate().unwrap();
    assert!(matches!(rules.decide("pay", "{}", false), Verdict::NeedsApproval { .. }));
    assert_eq!(rules.decide("wipe", "{}", true), Verdict::Allow);
    let manual = recipe(json!({ "permissions": "manual" })).gate().unwrap();
    assert!(matches!(manual.decide("look", "{}", false), Verdict::NeedsApproval { .. }));
}
