//! Computes the lines that are drawn while sessions run, without side effects. [`screen`](super::screen) draws them.

use std::collections::BTreeMap;
use std::time::Duration;

use holdover_core::ids::{CallId, SessionId, StepNumber, ToolName};
use holdover_core::machine::Usage;
use holdover_core::tool::Progress;

use super::{counted, human, inline};

/// The maximum number of lines for calls or sessions. If there are more, another line gives the number of the others.
const LINES_MAX: usize = 8;

/// The current activity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// The run is starting or deciding.
    Working,
    /// The run is calling the model.
    Asking {
        step: StepNumber,
        /// The attempt at the step, counted from 0.
        attempt: u32,
    },
    /// The run is waiting until the model may be called again.
    BackingOff,
    /// The run is waiting for an answer, or for an instant.
    Waiting,
}

/// A session that is followed. All times are relative to the start of following.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Followed {
    /// The current activity of the session's run.
    pub(crate) doing: Doing,
    /// The start of that activity.
    pub(crate) since: Duration,
    /// The running calls, oldest first.
    calls: Vec<Called>,
    pub(crate) usage: Usage,
}

/// A running call.
#[derive(Debug, Clone, PartialEq)]
struct Called {
    call: CallId,
    tool: ToolName,
    since: Duration,
    /// The newest progress that it reported, or an empty text.
    progress: String,
}

impl Called {
    fn line(&self, now: Duration) -> String {
        let (tool, took) = (inline(self.tool.as_str()), took(now.saturating_sub(self.since)));
        let gap = if self.progress.is_empty() { "" } else { "  " };
        format!("{tool} {}  {took}{gap}{}", self.call, self.progress)
    }
}

impl Followed {
    /// Creates a session with this usage.
    pub(crate) fn new(usage: Usage) -> Self {
        Self { doing: Doing::Working, since: Duration::ZERO, calls: Vec::new(), usage }
    }

    /// Sets the current activity.
    pub(crate) fn does(&mut self, doing: Doing, now: Duration) {
        if self.doing != doing {
            (self.doing, self.since) = (doing, now);
        }
    }

    /// Notes that a call has started.
    pub(crate) fn sent(&mut self, call: CallId, tool: ToolName, now: Duration) {
        self.back(&call);
        self.calls.push(Called { call, tool, since: now, progress: String::new() });
    }

    /// Notes that a call has reported progress. Of its text, the last line is shown.
    pub(crate) fn progressed(&mut self, call: &CallId, progress: &Progress) {
        if let Some(called) = self.calls.iter_mut().find(|called| called.call == *call) {
            called.progress = human::progress(progress, progress.message.lines().last().unwrap_or_default());
        }
    }

    /// Notes that a call has returned.
    pub(crate) fn back(&mut self, call: &CallId) {
        self.calls.retain(|called| called.call != *call);
    }

    /// Returns the lines, each at most `columns` wide.
    pub(crate) fn lines(&self, now: Duration, columns: usize) -> Vec<String> {
        let doing = match self.calls.len() {
            0 => format!("{} {}", in_words(self.doing), took(now.saturating_sub(self.since))),
            1 => "1 call is out".to_owned(),
            calls => format!("{calls} calls are out"),
        };
        let mut first = vec![doing];
        let tokens = self.usage.tokens.total();
        if tokens > 0 {
            first.push(in_tokens(tokens));
        }
        if self.usage.cost_microusd > 0 {
            first.push(dollars(self.usage.cost_microusd));
        }
        if !self.since.is_zero() || !self.calls.is_empty() {
            first.push(took(now));
        }
        let calls = self.calls.iter().map(|called| format!("  {}", called.line(now)));
        bounded(format!("◦ {}", first.join(" · ")), calls.collect(), columns)
    }
}

/// The sessions that a worker runs. All times are relative to the start of the worker.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Serving {
    /// The running sessions by id, each with its current activity.
    pub(crate) running: BTreeMap<SessionId, Followed>,
    /// The number of finished runs.
    pub(crate) over: u64,
    /// The number of tokens that the models reported.
    pub(crate) tokens: u64,
}

impl Serving {
    /// Returns the session with this id, and adds it as running if necessary.
    pub(crate) fn session(&mut self, id: &SessionId, now: Duration) -> &mut Followed {
        self.running
            .entry(id.clone())
            .or_insert_with(|| Followed { since: now, ..Followed::new(Usage::default()) })
    }

    /// Returns the lines, each at most `columns` wide.
    pub(crate) fn lines(&self, now: Duration, columns: usize) -> Vec<String> {
        let mut first = vec![match self.running.len() {
            0 => "waits for work".to_owned(),
            1 => "1 session runs".to_owned(),
            sessions => format!("{sessions} sessions run"),
        }];
        if self.over > 0 {
            let verb = if self.over == 1 { "is" } else { "are" };
            first.push(format!("{} {verb} over", counted(self.over, "run")));
        }
        if self.tokens > 0 {
            first.push(in_tokens(self.tokens));
        }
        first.push(took(now));
        let sessions = self.running.iter().flat_map(|(id, session)| {
            let id = inline(id.as_str());
            if session.calls.is_empty() {
                let since = took(now.saturating_sub(session.since));
                return vec![format!("  {id}  {} {since}", in_words(session.doing))];
            }
            session.calls.iter().map(|called| format!("  {id}  {}", called.line(now))).collect()
        });
        bounded(format!("◦ {}", first.join(" · ")), sessions.collect(), columns)
    }
}

fn in_words(doing: Doing) -> String {
    match doing {
        Doing::Working => "works".to_owned(),
        Doing::Asking { step, attempt: 0 } => format!("step {step}: asks the model"),
        Doing::Asking { step, attempt } => format!("step {step}: asks the model, attempt {}", attempt + 1),
        Doing::BackingOff => "waits to ask the model again".to_owned(),
        Doing::Waiting => "waits".to_owned(),
    }
}

/// Returns the first line, at most `LINES_MAX` of the others, and a note on the rest. Each is cut to `columns`
/// characters.
fn bounded(first: String, mut others: Vec<String>, columns: usize) -> Vec<String> {
    let left = others.len().saturating_sub(LINES_MAX);
    others.truncate(LINES_MAX);
    if left > 0 {
        others.push(format!("  and {left} more"));
    }
    std::iter::once(first).chain(others).map(|line| line.chars().take(columns).collect()).collect()
}

/// Describes a length of time: `3 s`, `2 min 5 s`, `1 h 0 min`.
pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn in_tokens(tokens: u64) -> String {
    if tokens == 1 { counted(tokens, "token") } else { format!("{} tokens", short(tokens)) }
}

/// Returns a number in a short form: `999`, `1.2k`, `3.4M`.
fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}.{}k", number / 1_000, number / 100 % 10),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

fn dollars(microusd: u64) -> String {
    format!("${}.{:04}", microusd / 1_000_000, microusd / 100 % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn call(id: &str) -> CallId {
        CallId::new(id).unwrap()
    }

    fn tool(name: &str) -> ToolName {
        ToolName::new(name).unwrap()
    }

    fn used(tokens: u64, cost_microusd: u64) -> Usage {
        let mut usage = Usage { cost_microusd, ..Usage::default() };
        usage.tokens.input = tokens;
        usage
    }

    #[test]
    fn a_session_that_asks_the_model() {
        let mut session = Followed::new(Usage::default());
        insta::assert_snapshot!(session.lines(seconds(0), 80).join("\n"), @"◦ works 0 s");
        session.does(Doing::Asking { step: StepNumber(2), attempt: 0 }, seconds(1));
        session.usage = used(12_345, 4_200);
        insta::assert_snapshot!(session.lines(seconds(65), 80).join("\n"), @"◦ step 2: asks the model 1 min 4 s · 12.3k tokens · $0.0042 · 1 min 5 s");
        session.does(Doing::Asking { step: StepNumber(2), attempt: 2 }, seconds(70));
        insta::assert_snapshot!(session.lines(seconds(71), 40).join("\n"), @"◦ step 2: asks the model, attempt 3 1 s");
    }

    #[test]
    fn a_session_whose_calls_are_out() {
        let mut session = Followed::new(used(900, 0));
        session.sent(call("c1-0"), tool("run_command"), seconds(2));
        session.sent(call("c1-1"), tool("read_file"), seconds(9));
        insta::assert_snapshot!(session.lines(seconds(10), 80).join("\n"), @r"
        ◦ 2 calls are out · 900 tokens · 10 s
          run_command c1-0  8 s
          read_file c1-1  1 s
        ");
        session.progressed(&call("c1-0"), &Progress::text("a\nb").of(2, Some(9)));
        session.progressed(&call("c1-1"), &Progress::text("half"));
        session.progressed(&call("c1-2"), &Progress::text("of another run"));
        insta::assert_snapshot!(session.lines(seconds(10), 80).join("\n"), @r"
        ◦ 2 calls are out · 900 tokens · 10 s
          run_command c1-0  8 s  2 of 9: b
          read_file c1-1  1 s  half
        ");
        session.back(&call("c1-0"));
        insta::assert_snapshot!(session.lines(seconds(10), 16).join("\n"), @r"
        ◦ 1 call is out 
          read_file c1-1
        ");
        session.back(&call("c1-1"));
        session.does(Doing::BackingOff, seconds(3_600));
        insta::assert_snapshot!(session.lines(seconds(7_300), 80).join("\n"), @"◦ waits to ask the model again 1 h 1 min · 900 tokens · 2 h 1 min");
    }

    #[test]
    fn a_worker() {
        let mut serving = Serving::default();
        insta::assert_snapshot!(serving.lines(seconds(3), 80).join("\n"), @"◦ waits for work · 3 s");
        let id = |at: usize| SessionId::new(format!("s{at:02}")).unwrap();
        serving
            .session(&id(0), seconds(4))
            .does(Doing::Asking { step: StepNumber(1), attempt: 0 }, seconds(5));
        serving.session(&id(1), seconds(4)).sent(call("c1-0"), tool("sleep"), seconds(6));
        (serving.over, serving.tokens) = (7, 2_500_000);
        insta::assert_snapshot!(serving.lines(seconds(8), 80).join("\n"), @r"
        ◦ 2 sessions run · 7 runs are over · 2.5M tokens · 8 s
          s00  step 1: asks the model 3 s
          s01  sleep c1-0  2 s
        ");
        for at in 2..16 {
            serving.session(&id(at), seconds(8));
        }
        let lines = serving.lines(seconds(8), 80);
        assert_eq!((lines.len(), lines[9].as_str()), (10, "  and 8 more"));
    }
}
