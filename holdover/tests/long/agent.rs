//! An agent with a long task: two hundred rooms, each with a text, and a model whose window holds only some of them.
//!
//! The model is strict: it uses only what it is shown, counts the tokens of that, and refuses a request that is too
//! long.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use holdover::agent::{Compaction, Limits};
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::Message;
use holdover_core::compaction::{SECTIONS, tokens_of};

/// The number of rooms, one step each.
pub(crate) const ROOMS: u32 = 200;
/// The process dies once in every room whose number this divides.
pub(crate) const DEADLY: u32 = 20;
/// The size of the model's window, in tokens.
const CONTEXT_TOKENS: u64 = 20_000;
/// The size of the text about each room, in bytes.
const ROOM_BYTES: usize = 1_600;
/// The number of sentences that the model says before each call.
const THOUGHTS: usize = 20;
/// A word that no room contains, only the task and summaries of it. The model must say it at the end.
pub(crate) const WORD: &str = "periwinkle";

pub(crate) fn task() -> String {
    format!("Visit the {ROOMS} rooms in order. When you have seen the last one, say {WORD}.")
}

/// The folder in which the world records what happens in it.
#[derive(Debug, Clone)]
pub(crate) struct World(pub(crate) PathBuf);

impl World {
    pub(crate) fn note(&self, name: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.0.join(name))?;
        file.write_all(b"once\n")
    }

    /// Returns the number of times that this happened.
    pub(crate) fn times(&self, name: &str) -> usize {
        std::fs::read_to_string(self.0.join(name)).map_or(0, |text| text.lines().count())
    }
}

/// A model that goes from room to room, according to what it is shown.
struct Visitor(World);

impl Visitor {
    fn answer(request: &ModelRequest) -> Vec<AnswerPart> {
        let shown: String = request.messages.iter().fold(String::new(), |mut text, message| {
            let _ = writeln!(text, "{}", text_of(message));
            text
        });
        let seen = last_room(&shown);
        if request.system.contains(SECTIONS[1]) {
            let word = if shown.contains(WORD) { WORD } else { "nothing that I know of" };
            let parts = [format!("seen room {seen}"), format!("visit the {ROOMS} rooms, then say {word}")];
            let text = SECTIONS.iter().enumerate().fold(String::new(), |mut text, (at, section)| {
                let _ = writeln!(text, "## {section}\n{}", parts.get(at).map_or("none", String::as_str));
                text
            });
            return vec![AnswerPart::Text(text)];
        }
        match (seen, shown.contains(WORD)) {
            (_, false) => vec![AnswerPart::Text("I do not know what I am here for.".into())],
            (ROOMS, true) => vec![AnswerPart::Text(format!("All seen: {WORD}."))],
            (seen, true) => {
                let arguments = format!("{{\"room\": {}}}", seen + 1);
                let aloud = "It was as dusty as the one before. ".repeat(THOUGHTS);
                vec![AnswerPart::Text(aloud), AnswerPart::Call { tool: "visit".into(), arguments }]
            }
        }
    }
}

#[async_trait]
impl Model for Visitor {
    fn name(&self) -> &str {
        "scripted:visitor"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let input: u64 = request.messages.iter().map(|message| tokens_of(message)).sum();
        if input > CONTEXT_TOKENS {
            let noted = self.0.note("refused").map_err(|error| error.to_string());
            let detail = format!("{input} tokens are too many; noted: {noted:?}");
            return Err(ModelError::new(ModelErrorKind::ContextLimit, detail));
        }
        let parts = Self::answer(&request);
        let asks = parts.iter().any(|part| matches!(part, AnswerPart::Call { .. }));
        let stop = if asks { StopReason::ToolUse } else { StopReason::EndTurn };
        let usage = TokenUsage { input, output: 200, ..TokenUsage::default() };
        let answer = ModelAnswer { parts, stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User(said) => said.text.clone(),
        Message::Tool(result) => result.content.clone(),
        Message::Assistant(said) => said.text(),
        Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => String::new(),
    }
}

/// Returns the highest number of a seen room in the text, or 0 if there is none.
fn last_room(text: &str) -> u32 {
    let numbers = text.split("seen room ").skip(1);
    let numbers = numbers.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    numbers.max().unwrap_or(0)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Visit {
    room: u32,
}

/// Visits a room. In every `DEADLY`th room this process is killed, once.
async fn visit(world: &World, room: u32) -> std::io::Result<String> {
    world.note(&format!("room-{room}"))?;
    let death = format!("death-{room}");
    if room.is_multiple_of(DEADLY) && world.times(&death) == 0 {
        world.note(&death)?;
        Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status()?;
        std::future::pending::<()>().await;
    }
    Ok(format!("seen room {room}. {}", "dust ".repeat(ROOM_BYTES / 5)))
}

pub(crate) fn agent(folder: &Path) -> Arc<Agent> {
    let world = World(folder.to_owned());
    let doors = world.clone();
    let visit = FunctionTool::new(
        ToolName::new("visit").unwrap(),
        "Visits a room",
        move |asked: Visit, _: ToolCall| {
            let world = doors.clone();
            async move {
                let seen = visit(&world, asked.room).await;
                seen.map(ToolOutput::text).map_err(|error| ToolError::Failed(error.to_string()))
            }
        },
    );
    let limits = Limits::default().max_steps(ROOMS + 1);
    let compaction = Compaction::default().context_tokens(CONTEXT_TOKENS);
    let agent = Agent::builder("visitor")
        .model(Visitor(world))
        .tool(visit.effect(EffectClass::Idempotent))
        .limits(limits)
        .compaction(compaction);
    Arc::new(agent.build().unwrap())
}
