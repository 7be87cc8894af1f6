//! The system prompt that a model gets: mode, identity, skills, instructions, or a caller's prompt.
//!
//! Requirements: A36, A37, B15, C12, C13, C14.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::agent::{Limits, Prices};
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::message::ResultStatus;
use holdover_core::mode::Mode;
use holdover_core::model::ModelRequest;
use holdover_core::provision::Provisioner;
use holdover_core::skill::{SkillEntry, SkillSet};
use holdover_core::store::{EventCursor, OutcomeKind};
use holdover_core::tool::{EffectClass, Tool};
use holdover_runtime_local::{Agent, AgentBuilder, Follow, machine_of};

use crate::bench::{agent, completes, finish, only_result, runtime, say, store};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// A set with one skill, which cannot be read if it is broken.
struct Shelf {
    broken: bool,
}

struct Books(bool);

impl SkillSet for Shelf {
    fn index(&self) -> Vec<SkillEntry> {
        vec![SkillEntry { name: "pdf".into(), description: "Reads PDF".into() }]
    }

    fn tool(&self) -> Arc<dyn Tool> {
        Arc::new(Fake::echo("read_skill").effect(EffectClass::ReadOnly))
    }

    fn provisioner(&self) -> Arc<dyn Provisioner> {
        Arc::new(Books(self.broken))
    }
}

#[async_trait]
impl Provisioner for Books {
    async fn provision(&self, _session: &SessionKey, _turn: TurnNumber) -> Result<(), ErrorInfo> {
        if self.0 { Err(ErrorInfo::new("skills.unreadable", "pdf/SKILL.md: gone")) } else { Ok(()) }
    }

    fn describe(&self) -> Option<String> {
        Some("one skill".into())
    }

    async fn tear_down(&self, _session: &SessionKey, _turn: TurnNumber) -> Result<(), ErrorInfo> {
        Ok(())
    }
}

fn tools(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn acting_and_looking(model: &Script) -> AgentBuilder {
    agent(model)
        .tool(Fake::echo("act").effect(EffectClass::AtMostOnce))
        .tool(Fake::echo("look").effect(EffectClass::ReadOnly))
        .skills(Shelf { broken: false })
}

#[tokio::test(start_paused = true)]
async fn a36_a37_prompt_tools_and_cap_are_the_same_in_every_step_and_turn_of_a_mode() {
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(acting_and_looking(&model).build().unwrap());
    let store = store();
    let first = runtime(&store, &agent);
    let key = completes(first.execute(say(&agent, "one")).await.unwrap()).await;
    // Another process, with the same agent.
    let again = Arc::new(acting_and_looking(&model).build().unwrap());
    let other = runtime(&store, &again);
    completes(other.execute(say(&again, "two").in_session(key.id)).await.unwrap()).await;
    let asked = model.asked();
    assert!(asked.len() >= 3, "{}", asked.len());
    let told = |request: &ModelRequest| (request.system.clone(), request.tools.clone());
    for request in &asked {
        assert_eq!(told(request), told(&asked[0]));
        assert_eq!(request.max_output_tokens, 16_384);
    }
    let system = format!(
        "{}\n\nYou are the agent \"tester\".\n\nYou have skills. When one fits what you are asked, read it with \
         read_skill before you begin:\n- pdf: Reads PDF\n\nTest.",
        Mode::Agent.paragraph()
    );
    assert_eq!(*asked[0].system, *system);
    assert_eq!(tools(&asked[0]), ["act", "look", "read_skill"]);
}

#[tokio::test(start_paused = true)]
async fn b15_each_mode_has_its_words_its_tools_and_its_model() {
    let usual = Script::new(|_| Say::Text("usual"));
    let planner = Script::new(|_| Say::Text("planner"));
    let agent = acting_and_looking(&usual).model_in(Mode::Plan, Arc::new(planner.clone()));
    let agent = Arc::new(agent.identity("You are Ada.").build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "think").in_mode(Mode::Plan)).await.unwrap();
    let key = completes(run).await;
    let asked = planner.asked().remove(0);
    assert!(asked.system.starts_with(&format!("{}\n\nYou are Ada.\n\n", Mode::Plan.paragraph())));
    assert_eq!(tools(&asked), ["look", "read_skill"]);
    assert!(usual.asked().is_empty());

    runtime.set_mode(&key, Mode::Ask).await.unwrap();
    completes(runtime.execute(say(&agent, "why?").in_session(key.id)).await.unwrap()).await;
    let asked = usual.asked().remove(0);
    assert!(asked.system.starts_with(Mode::Ask.paragraph()));
    assert_eq!((tools(&asked), planner.asked().len()), (vec!["look", "read_skill"], 1));
}

#[tokio::test(start_paused = true)]
async fn b15_the_model_of_a_mode_costs_what_it_costs_and_is_stored_only_if_it_is_said() {
    let prices = |each| Prices::default().input_microusd(each).output_microusd(each);
    let limits = Limits::default().prices(prices(1_000_000));
    let model = Script::new(|_| Say::Text("fine"));
    let (plain, planner) = (acting_and_looking(&model).limits(limits.clone()), Arc::new(model.clone()));
    let plain = plain.model_in(Mode::Plan, planner.clone()).build().unwrap();
    let stored = |agent: &Agent| String::from_utf8(agent.definition().bytes().to_vec()).unwrap();
    assert!(!stored(&plain).contains("mode_prices"), "{}", stored(&plain));
    let agent =
        acting_and_looking(&model).limits(limits).priced_model_in(Mode::Plan, planner, prices(5_000_000));
    let agent = Arc::new(agent.build().unwrap());
    assert!(stored(&agent).contains("mode_prices"), "{}", stored(&agent));
    let runtime = runtime(&store(), &agent);
    let key = completes(runtime.execute(say(&agent, "think").in_mode(Mode::Plan)).await.unwrap()).await;
    runtime.set_mode(&key, Mode::Agent).await.unwrap();
    let run = runtime.execute(say(&agent, "act").in_session(key.id.clone())).await.unwrap();
    completes(run).await;
    // One token read and one token written, in each of two turns.
    let machine = machine_of(&runtime.session(&key).await.unwrap().unwrap()).unwrap().unwrap();
    assert_eq!(machine.usage.cost_microusd, 10 + 2);
}

#[tokio::test(start_paused = true)]
async fn c14_a_callers_prompt_replaces_the_whole_of_the_agents_and_skills_are_there() {
    let model = Script::calling(vec![("read_skill", "{}")]);
    let agent = Arc::new(acting_and_looking(&model).build().unwrap());
    let store = store();
    let first = runtime(&store, &agent);
    let run = first.execute(say(&agent, "hello").system_prompt("You are a parrot.")).await.unwrap();
    let key = completes(run).await;
    assert_eq!(only_result(&first, &key).await, (ResultStatus::Done, "{}".into()));
    // The prompt stays, even when another process reads the session from the store.
    let other = runtime(&store, &agent);
    completes(other.execute(say(&agent, "again").in_session(key.id.clone())).await.unwrap()).await;
    for request in model.asked() {
        assert_eq!(&*request.system, "You are a parrot.");
        assert_eq!(tools(&request), ["act", "look", "read_skill"]);
    }
    let own = say(&agent, "as usual").in_session(key.id).system_prompt("");
    completes(other.execute(own).await.unwrap()).await;
    assert!(model.asked().pop().unwrap().system.ends_with("Test."));
}

/// Requirements: C12.
#[tokio::test(start_paused = true)]
async fn what_is_made_ready_is_told_and_a_turn_without_it_does_not_begin() {
    for broken in [false, true] {
        let model = Script::new(|_| Say::Text("hello"));
        let agent = Arc::new(agent(&model).skills(Shelf { broken }).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let run = runtime.execute(say(&agent, "hi").system_prompt("Mine.")).await.unwrap();
        let (key, outcome) = finish(run).await;
        let events: Vec<_> = runtime.events(&key, EventCursor::START, Follow::Available).collect().await;
        let ready = events.into_iter().any(
            |entry| matches!(entry.unwrap().event, Event::Provisioned { what } if what == ["one skill"]),
        );
        assert_eq!((ready, model.asked().len()), (!broken, usize::from(!broken)));
        let expected = if broken { OutcomeKind::Failed } else { OutcomeKind::Completed };
        assert_eq!(outcome.kind(), expected);
    }
}
