//! A provider that counts its input and refuses more than its model can read: sessions go on all the same.
//!
//! Requirements: B38, A67.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use async_trait::async_trait;
use holdover_core::agent::{Compaction, LoopDetection};
use holdover_core::message::{AssistantPart, Message};
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelRequest, ModelStream, StopReason,
    TokenUsage,
};
use holdover_core::store::OutcomeKind;
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::Agent;

use crate::bench::{finish, runtime, say, store};
use crate::tools::Fake;

/// The size of the model's window in tokens; its agent assumes 200,000.
const WINDOW: u64 = 2_000;

/// Counts of the requests to a provider, and the size of the largest.
#[derive(Default)]
struct Asked {
    refused: AtomicU32,
    summaries: AtomicU32,
    most: AtomicU64,
}

#[derive(Clone, Default)]
struct Small {
    asked: Arc<Asked>,
    /// True if the overloaded service refuses every second request for a summary.
    busy: bool,
}

fn tokens_of(message: &Message) -> u64 {
    let bytes = match message {
        Message::User(said) => said.text.len(),
        Message::Tool(result) => result.content.len(),
        Message::Assistant(said) => said.parts.iter().map(bytes_of).sum(),
        Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {
            unreachable!("no model is shown it")
        }
    };
    bytes.div_ceil(4) as u64
}

fn bytes_of(part: &AssistantPart) -> usize {
    match part {
        AssistantPart::Text { text } | AssistantPart::Reasoning { text, .. } => text.len(),
        AssistantPart::Call(call) => call.tool.len() + call.arguments.len(),
    }
}

#[async_trait]
impl Model for Small {
    fn name(&self) -> &str {
        "test:small"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let shown: u64 = request.messages.iter().map(|message| tokens_of(message)).sum();
        let input = shown + (request.system.len() as u64).div_ceil(4);
        if input > WINDOW {
            self.asked.refused.fetch_add(1, Ordering::SeqCst);
            let detail = format!("{input} tokens are more than {WINDOW}");
            return Err(ModelError::new(ModelErrorKind::ContextLimit, detail));
        }
        self.asked.most.fetch_max(input, Ordering::SeqCst);
        let usage = TokenUsage { input, output: 100, ..TokenUsage::default() };
        if request.tools.is_empty() {
            let before = self.asked.summaries.fetch_add(1, Ordering::SeqCst);
            if self.busy && before.is_multiple_of(2) {
                return Err(ModelError::new(ModelErrorKind::RateLimited, "not now"));
            }
            return Ok(ModelAnswer { usage, ..ModelAnswer::text("so far all went well") }.into_stream());
        }
        let looked = !matches!(request.messages.last().map(|last| &**last), Some(Message::User(_)));
        if looked {
            return Ok(ModelAnswer { usage, ..ModelAnswer::text("y".repeat(600)) }.into_stream());
        }
        let parts = vec![AnswerPart::Call { tool: "look".into(), arguments: "{}".into() }];
        Ok(ModelAnswer { parts, stop: StopReason::ToolUse, usage }.into_stream())
    }
}

/// Returns an agent that looks once in each turn. Each result is larger than the last, until one alone exceeds the
/// window.
fn looking(model: &Small) -> Arc<Agent> {
    let looks = Arc::new(AtomicU32::new(0));
    let look = Fake::new("look", move |_| {
        let bytes = 1_500 * (1 + looks.fetch_add(1, Ordering::SeqCst) as usize);
        async move { Ok(ToolOutput::text("z".repeat(bytes)).into()) }
    });
    let agent = Agent::builder("tester").instructions("Look.").model(model.clone()).tool(look);
    let agent = agent.compaction(Compaction::default());
    Arc::new(agent.loops(LoopDetection::default().stop_at(0)).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn b38_a_session_outgrows_the_window_of_its_model_turn_after_turn_and_goes_on() {
    for busy in [false, true] {
        let model = Small { busy, ..Small::default() };
        let agent = looking(&model);
        let runtime = runtime(&store(), &agent);
        let (key, outcome) = finish(runtime.execute(say(&agent, &"x".repeat(400))).await.unwrap()).await;
        assert_eq!(outcome.kind(), OutcomeKind::Completed);
        for turn in 2..=10 {
            let said = format!("{turn}{}", "x".repeat(400));
            let next = say(&agent, &said).in_session(key.id.clone());
            let (_, outcome) = finish(runtime.execute(next).await.unwrap()).await;
            assert_eq!(outcome.kind(), OutcomeKind::Completed, "turn {turn}, busy: {busy}: {outcome:?}");
        }
        let asked = &model.asked;
        assert!(asked.refused.load(Ordering::SeqCst) >= 4, "its window was too small");
        assert!(asked.summaries.load(Ordering::SeqCst) >= 2 && asked.most.load(Ordering::SeqCst) <= WINDOW);
        assert!(runtime.replay(&key).await.unwrap().agrees());
    }
}
