//! The scripted model: answers from a script, without a model.

mod choose;
mod play;
mod script;

use std::path::Path;

use async_trait::async_trait;
use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};

pub use self::script::{Script, ScriptError};

/// A model that plays answers from a script, for tests and demos. No real model is behind it.
///
/// The answer depends only on the script and the request, so the same request gets the same answer in any process. If a
/// process is killed and another one continues its session, the session gets the same answers.
///
/// # The script
///
/// The script is a TOML file, or JSON of the same shape in a file that ends with `.json`. It lists `turns`. The first
/// turn whose `when` fits the conversation is the answer. If none fits, the request fails with an error that describes
/// the conversation. Unknown keys are refused; the error names the line.
///
/// | key of a turn | meaning |
/// |---|---|
/// | `when.user_contains` | the last user message contains this text |
/// | `when.nth` | this is the n-th answer since that message, counted from 1 |
/// | `when.result_of` | since the last answer and the last user message there is a result of this tool |
/// | `when.result_contains` | …and it contains this text |
/// | `when.result_status` | …and its status: `done`, `error`, `denied`, `rejected_by_user`, `cancelled`, `in_doubt` |
/// | `when.system_contains` | the system prompt contains this text |
/// | `think` | reasoning, streamed before the text |
/// | `say` | text |
/// | `calls` | tool calls: `tool`, and `arguments` as values or `raw_arguments` as the text to send |
/// | `stop` | `end_turn`, `tool_use`, `max_tokens`, `refusal`; default `tool_use` with calls, else `end_turn` |
/// | `usage` | token counts: `input`, `output`, `cached`, `cache_written`, `reasoning`; default 0 |
/// | `stream` | `words` (piece by piece, default true), `delay_ms` before each piece (default 0) |
/// | `fail` | attempts that fail: `attempt` (from 0), `kind` (`rate_limited`, `provider`, `incomplete`, …), `retry_after_ms`, `detail`, `after_words` (fails after that many words of the text) |
///
/// All conditions of a `when` must hold. A turn without `when` always fits. Besides `turns`, the file may hold one
/// `stream` for all turns without their own.
///
/// An agent that looks around, edits a file, writes a report and runs a command:
///
/// ```toml
#[doc = include_str!("example.toml")]
/// ```
///
/// ```
/// use holdover_models::{Script, ScriptedModel};
///
/// let model = ScriptedModel::new("greeter", Script::from_toml("turns = [{ say = 'Good day' }]")?);
///
/// let error = Script::from_toml("[[turns]]\nsays = 'hello'\n").unwrap_err();
/// assert!(error.to_string().starts_with("line 2: unknown field `says`"));
/// # Ok::<(), holdover_models::ScriptError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    name: String,
    script: Script,
}

impl ScriptedModel {
    /// Creates a model that plays `script`, named `scripted:NAME`.
    pub fn new(name: impl AsRef<str>, script: Script) -> Self {
        Self { name: format!("scripted:{}", name.as_ref()), script }
    }

    /// Creates a model that plays the script in a file. Errors are of kind `Configuration`. They name the file, and the
    /// line or the turn if known.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let refuse = |why: String| {
            ModelError::new(ModelErrorKind::Configuration, format!("script {}: {why}", path.display()))
        };
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        let script = if path.extension().is_some_and(|extension| extension == "json") {
            Script::from_json(&text)
        } else {
            Script::from_toml(&text)
        };
        Ok(Self::new(path.to_string_lossy(), script.map_err(|error| refuse(error.to_string()))?))
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let turn = choose::choose(&self.script, &request).ok_or_else(|| {
            ModelError::new(
                ModelErrorKind::Configuration,
                format!("{}: no turn fits: {}", self.name, choose::Scene::of(&request)),
            )
        })?;
        play::play(turn, self.script.streaming(turn), request.attempt)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use holdover_core::ids::{CallId, PendingId};
    use holdover_core::message::{Decision, DecisionRecord, Message, Notice, ResultStatus};
    use holdover_core::model::{AnswerPart, ModelAnswer, ModelEvent, StopReason, TokenUsage};
    use holdover_core::payload::Digest;
    use holdover_core::time::Timestamp;

    use super::*;
    use crate::testing::{self, ask, assistant, request, result, user};

    fn model(script: &str) -> ScriptedModel {
        ScriptedModel::new("test", Script::from_toml(script).unwrap())
    }

    /// Returns the text of the answer, or the error.
    async fn said(model: &ScriptedModel, transcript: Vec<Message>) -> Result<String, ModelError> {
        let last = ask(model, request(transcript)).await.pop().unwrap()?;
        let ModelEvent::Finished(answer) = last else { panic!("finished last: {last:?}") };
        let [AnswerPart::Text(text)] = answer.parts.as_slice() else { panic!("one text: {answer:?}") };
        Ok(text.clone())
    }

    #[tokio::test]
    async fn the_first_turn_that_fits_answers() {
        let model = model(
            r#"
            turns = [
                { when = { user_contains = "tidy", nth = 1 }, say = "first" },
                { when = { result_of = "read", result_contains = "secret" }, say = "secret" },
                { when = { result_of = "read", result_status = "error" }, say = "unreadable" },
                { when = { result_of = "read" }, say = "read" },
                { when = { nth = 3 }, say = "third" },
                { when = { system_contains = "brief", user_contains = "bye" }, say = "bye" },
            ]
            "#,
        );
        let read = || assistant("", &[("c1", "read", "{}"), ("c2", "list", "{}")]);
        let failed = |message: Message| {
            let Message::Tool(mut result) = message else { panic!("a result") };
            result.status = ResultStatus::Error;
            Message::Tool(result)
        };
        let notice = Message::Notice(Notice::new("read secret"));
        for (transcript, text) in [
            (vec![user("please tidy up")], "first"),
            (vec![user("go"), assistant("hm", &[]), user("tidy")], "first"),
            (vec![user("tidy"), read(), result("c1", "read", "x"), result("c2", "list", "secret")], "read"),
            (vec![user("tidy"), read(), result("c1", "read", "a secret"), notice], "secret"),
            (vec![user("tidy"), read(), failed(result("c1", "read", "x"))], "unreadable"),
            (
                vec![user("tidy"), read(), result("c1", "read", "x"), read(), result("c2", "list", "x")],
                "third",
            ),
            (vec![user("bye")], "bye"),
        ] {
            assert_eq!(said(&model, transcript.clone()).await, Ok(text.to_owned()), "{transcript:?}");
        }
    }

    /// Plays the documented example to its end. `read` is the result of reading the file.
    async fn play_example(read: Message) -> Vec<String> {
        let model = model(include_str!("example.toml"));
        let mut request = request(vec![user("Write the release notes, please.")]);
        let mut said = Vec::new();
        loop {
            let last = ask(&model, request.clone()).await.pop().unwrap();
            let answer = match last {
                Ok(ModelEvent::Finished(answer)) => answer,
                Ok(event) => panic!("finished last: {event:?}"),
                Err(error) if error.kind == ModelErrorKind::RateLimited => {
                    said.push(format!("wait {:?}", error.retry_after.unwrap()));
                    request.attempt += 1;
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            request.attempt = 0;
            let mut calls = Vec::new();
            for part in &answer.parts {
                match part {
                    AnswerPart::Text(text) => said.push(text.clone()),
                    AnswerPart::Call { tool, arguments } => calls.push((tool.as_str(), arguments.as_str())),
                    AnswerPart::Reasoning { .. } => {}
                }
            }
            if calls.is_empty() {
                return said;
            }
            said.extend(calls.iter().map(|(tool, _)| (*tool).to_owned()));
            let asked: Vec<_> = calls.iter().map(|(tool, arguments)| (*tool, *tool, *arguments)).collect();
            let results = calls.iter().map(|(tool, _)| match *tool {
                "read_file" => read.clone(),
                other => result(other, other, "fine"),
            });
            let messages = std::iter::once(assistant("", &asked)).chain(results);
            request.messages.extend(messages.map(std::sync::Arc::new));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_documented_example_plays_to_its_end() {
        assert_eq!(
            play_example(result("read_file", "read_file", "next")).await,
            [
                "I look at what is there.",
                "list_files",
                "read_file",
                "wait 1.5s",
                "edit_file",
                "write_file",
                "run_command",
                "Done: the notes are written, and the report is in report.md.",
            ]
        );
        let Message::Tool(mut unreadable) = result("read_file", "read_file", "does not exist") else {
            panic!("a result")
        };
        unreadable.status = ResultStatus::Error;
        let said = play_example(Message::Tool(unreadable)).await;
        assert_eq!(said.last().unwrap(), "I cannot read the file.");
    }

    #[tokio::test]
    async fn without_a_fitting_turn_the_error_tells_the_scene() {
        let model = model("turns = [{ when = { nth = 9 }, say = 'x' }]");
        let transcript =
            vec![user("tidy\nup"), assistant("", &[("c1", "read", "{}")]), result("c1", "read", "con\ntent")];
        let error = said(&model, transcript).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Configuration);
        assert_eq!(
            error.detail,
            "scripted:test: no turn fits: user \"tidy\\nup\", answer 2 since then, results: read (Done) \
             \"con\\ntent\""
        );
    }

    #[tokio::test]
    async fn an_answer_is_streamed_word_by_word_and_then_whole() {
        let model = model(
            r#"
            [[turns]]
            think = "Hm."
            say = "Good  day\nto you"
            calls = [
                { tool = "read", arguments = { path = "a", lines = [1, 2], deep = { x = true } } },
                { tool = "list" },
                { tool = "bad", raw_arguments = "{broken" },
            ]
            usage = { input = 10, output = 4 }
            "#,
        );
        let mut events = ask(&model, request(vec![user("hello")])).await;
        let call = |tool: &str, arguments: &str| AnswerPart::Call {
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
        };
        assert_eq!(
            events.pop().unwrap(),
            Ok(ModelEvent::Finished(ModelAnswer {
                parts: vec![
                    AnswerPart::Reasoning { text: "Hm.".to_owned(), signature: None },
                    AnswerPart::Text("Good  day\nto you".to_owned()),
                    call("read", r#"{"deep":{"x":true},"lines":[1,2],"path":"a"}"#),
                    call("list", "{}"),
                    call("bad", "{broken"),
                ],
                stop: StopReason::ToolUse,
                usage: TokenUsage { input: 10, output: 4, ..TokenUsage::default() },
            }))
        );
        let text = |text: &str| Ok(ModelEvent::Text(text.to_owned()));
        let started = |index, tool: &str| Ok(ModelEvent::CallStarted { index, tool: tool.to_owned() });
        let written = |index, tool: &str, arguments: &str| Ok(testing::written(index, tool, arguments));
        assert_eq!(
            events,
            [
                Ok(ModelEvent::Reasoning("Hm.".to_owned())),
                text("Good "),
                text(" "),
                text("day\n"),
                text("to "),
                text("you"),
                started(0, "read"),
                written(0, "read", r#"{"deep":{"x":true},"lines":[1,2],"path":"a"}"#),
                started(1, "list"),
                written(1, "list", "{}"),
                started(2, "bad"),
                written(2, "bad", "{broken"),
            ]
        );
    }

    #[tokio::test]
    async fn a40_the_last_call_of_an_answer_that_is_cut_off_is_not_told_of_as_written() {
        let model = model("turns = [{ calls = [{ tool = 'a' }, { tool = 'b' }], stop = 'max_tokens' }]");
        let events = ask(&model, request(vec![user("hello")])).await;
        let started = |index, tool: &str| Ok(ModelEvent::CallStarted { index, tool: tool.to_owned() });
        assert_eq!(events[..3], [started(0, "a"), Ok(testing::written(0, "a", "{}")), started(1, "b")]);
        assert_eq!(events.len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_come_with_their_delay() {
        let model = model(
            "stream = { delay_ms = 100 }\nturns = [
                { when = { nth = 1 }, say = 'one two three' },
                { say = 'one two three', stream = { words = false } },
            ]",
        );
        let begin = tokio::time::Instant::now();
        let events = ask(&model, request(vec![user("hello")])).await;
        assert_eq!((events.len(), begin.elapsed()), (4, Duration::from_millis(300)));
        let begin = tokio::time::Instant::now();
        let events = ask(&model, request(vec![user("hello"), assistant("x", &[])])).await;
        assert_eq!((events.len(), begin.elapsed()), (2, Duration::ZERO));
    }

    #[tokio::test]
    async fn an_attempt_fails_as_written_and_the_next_one_answers() {
        let model = model(
            r#"
            [[turns]]
            say = "one two three"
            fail = [
                { attempt = 0, kind = "rate_limited", retry_after_ms = 1500 },
                { attempt = 1, kind = "incomplete", detail = "cut", after_words = 2 },
            ]
            "#,
        );
        let attempt = async |attempt| {
            let mut request = request(vec![user("hello")]);
            request.attempt = attempt;
            ask(&model, request).await
        };
        let mut limited = ModelError::new(ModelErrorKind::RateLimited, "as the script says");
        limited.retry_after = Some(Duration::from_millis(1500));
        assert_eq!(attempt(0).await, [Err(limited)]);
        let text = |text: &str| Ok(ModelEvent::Text(text.to_owned()));
        let cut = ModelError::new(ModelErrorKind::Incomplete, "cut");
        assert_eq!(attempt(1).await, [text("one "), text("two "), Err(cut)]);
        assert_eq!(attempt(2).await.len(), 4);
    }

    #[tokio::test]
    async fn a_file_is_toml_or_json_and_errors_name_place_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            ScriptedModel::open(path)
        };
        let toml = open("a.toml", "turns = [{ say = 'hello' }]").unwrap();
        let json = open("a.json", r#"{ "turns": [{ "say": "hello" }] }"#).unwrap();
        for model in [toml, json] {
            assert_eq!(said(&model, vec![user("?")]).await, Ok("hello".to_owned()));
            assert!(model.name().starts_with("scripted:/"));
        }
        for (name, text, why) in [
            ("b.toml", "[[turns]]\nsay = 'x'\nwhen = { nht = 1 }\n", "b.toml: line 3: unknown field `nht`"),
            ("b.toml", "turns = [\n", "b.toml: line "),
            ("b.toml", "turns = []\n", "b.toml: no turns"),
            ("b.toml", "[[turns]]\nsay = 'x'\n[[turns]]\n", "b.toml: turn 2 says nothing"),
            ("b.toml", "[[turns]]\nsay = 'x'\nwhen = {}\n", "b.toml: turn 1: an empty `when`"),
            ("b.toml", "[[turns]]\nsay = 'x'\nwhen = { nth = 0 }\n", "b.toml: turn 1: `nth` counts from 1"),
            ("b.toml", "[[turns]]\ncalls = [{ tool = '' }]\n", "b.toml: turn 1: a call names no tool"),
            (
                "b.toml",
                "[[turns]]\ncalls = [{ tool = 'a', arguments = {}, raw_arguments = '' }]\n",
                "b.toml: turn 1: a call of a has both",
            ),
            ("b.json", "{ \"turns\": [\n{ \"sya\": \"x\" }] }", "b.json: line 2: unknown field `sya`"),
        ] {
            let error = open(name, text).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Configuration);
            assert!(error.detail.contains(why) && !error.detail.contains('\n'), "{error}");
        }
    }

    #[test]
    fn decisions_are_not_part_of_the_scene() {
        let decision = Message::Decision(DecisionRecord {
            call: CallId::new("c1").unwrap(),
            pending: PendingId::new("p1").unwrap(),
            decision: Decision::new(true, Digest::of(b"{}")),
            at: Timestamp::EPOCH,
            note: None,
        });
        let with = choose::Scene::of(&request(vec![user("a"), decision])).to_string();
        assert_eq!(with, choose::Scene::of(&request(vec![user("a")])).to_string());
    }
}
