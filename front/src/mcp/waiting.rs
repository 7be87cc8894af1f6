//! Waits for a session, and tells the client meanwhile what happens.

use std::time::Duration;

use futures::StreamExt;
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::ids::SessionKey;
use holdover_core::store::{PendingKind, SessionStatus};
use holdover_runtime_local::{Follow, PendingEntry, Shown, Standing, TreeCursor, TreeShown, is_due};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, interval_at, sleep};

use super::host::Host;
use crate::access::May;
use crate::problem::Problem;

/// The interval at which the token of a caller who waits is looked up again.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// The most bytes of text in one note of progress.
const NOTE_BYTES_MAX: usize = 2_048;

/// The reason why the waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    /// The turn is over.
    Over,
    /// The turn goes on only once the calls in `pending` have their answers.
    Waits,
    /// The time is over. The session goes on; wait again.
    TimeIsOver,
    /// This process stops. The session goes on; wait again, at another process if there is one.
    Stopping,
    /// The client cancelled the request.
    Cancelled,
}

/// Waits until the turn of a session is over or needs an answer, for at most `time`. The session and its children are
/// watched; workers run them.
pub(super) async fn until_over(
    host: &Host,
    context: &RequestContext<RoleServer>,
    key: &SessionKey,
    time: Duration,
) -> Result<(Ended, Option<PendingEntry>), Problem> {
    let mut watch = Watch::begin(host, context, key).await?;
    let stop = host.desk.stop.clone();
    let left = async |ended| Ok((ended, None));
    tokio::select! {
        biased;
        over = watch.until_over() => over,
        () = sleep(time) => left(Ended::TimeIsOver).await,
        () = context.ct.cancelled() => left(Ended::Cancelled).await,
        () = stop.cancelled() => left(Ended::Stopping).await,
        problem = no_longer_allowed(host) => Err(problem),
    }
}

/// Returns once the caller may no longer read.
async fn no_longer_allowed(host: &Host) -> Problem {
    let mut checks = interval_at(Instant::now() + CHECK_EVERY, CHECK_EVERY);
    loop {
        checks.tick().await;
        if !host.still_allows(May::Read).await {
            return Problem::unauthorized();
        }
    }
}

struct Watch<'a> {
    host: &'a Host,
    key: &'a SessionKey,
    cursor: TreeCursor,
    progress: Progress<'a>,
}

impl<'a> Watch<'a> {
    /// Begins after the newest event: what happened before is in the transcript.
    async fn begin(
        host: &'a Host,
        context: &'a RequestContext<RoleServer>,
        key: &'a SessionKey,
    ) -> Result<Self, Problem> {
        let runtime = &host.desk.runtime;
        let root = runtime.standing(key).await?.session;
        let cursor = runtime.tree_cursor(&root).await?;
        let progress = Progress { context, token: context.meta.get_progress_token(), told: 0.0 };
        Ok(Self { host, key, cursor, progress })
    }

    async fn until_over(&mut self) -> Result<(Ended, Option<PendingEntry>), Problem> {
        loop {
            while self.follow(Follow::UntilParked).await? {}
            let standing = self.host.desk.runtime.snapshot(self.key, 0).await?.standing;
            let session = &standing.session;
            if session.status == SessionStatus::Active || is_due(session, self.host.desk.runtime.now()) {
                continue;
            }
            let owed = standing.pending.iter().any(is_owed);
            match standing.outcome.as_ref() {
                // It goes on by itself, after a while.
                Some(outcome) if outcome.goes_on_at().is_some() => {}
                // Others work for it: programs elsewhere, or children of whom there are too many to follow.
                Some(outcome) if outcome.waits_for_children() && !owed => {}
                _ if standing.session.status.at_rest() => return Ok((Ended::Over, None)),
                _ => return Ok((Ended::Waits, self.approval(standing))),
            }
            self.follow(Follow::Forever).await?;
        }
    }

    /// Returns the first approval on which this caller may decide now.
    fn approval(&self, standing: Standing) -> Option<PendingEntry> {
        let caller = &self.host.caller;
        let decides = |entry: &PendingEntry| match (&entry.deciders, caller.name()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(deciders), Some(name)) => {
                let is_among = |names: &[String]| names.iter().any(|named| named == name);
                !is_among(&deciders.approved) && (deciders.may.is_empty() || is_among(&deciders.may))
            }
        };
        let is_approval = |entry: &PendingEntry| entry.call.kind == PendingKind::Approval;
        if !caller.may(May::Decide) {
            return None;
        }
        standing.pending.into_iter().find(|entry| is_approval(entry) && is_owed(entry) && decides(entry))
    }

    /// Shows what happens next. Returns false at the end of what is followed.
    async fn follow(&mut self, follow: Follow) -> Result<bool, Problem> {
        let mut shown = self.host.desk.runtime.follow_tree(self.key, self.cursor.clone(), follow);
        loop {
            let Some(item) = shown.next().await.transpose()? else { return Ok(false) };
            self.cursor = item.cursor.clone();
            self.progress.tell(&item).await;
            if follow == Follow::Forever {
                return Ok(true);
            }
        }
    }
}

/// Returns true if a person or a client owes the call an answer.
fn is_owed(entry: &PendingEntry) -> bool {
    entry.answered.is_none() && matches!(entry.call.kind, PendingKind::Approval | PendingKind::ClientTool)
}

/// Tells a client that asked for it what happens.
struct Progress<'a> {
    context: &'a RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    told: f64,
}

impl Progress<'_> {
    async fn tell(&mut self, item: &TreeShown) {
        let Some(token) = &self.token else { return };
        let Some(note) = note(&item.shown) else { return };
        let note = match &item.member.tool {
            Some(tool) => format!("{tool}: {note}"),
            None => note,
        };
        self.told += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), self.told).with_message(cut(note));
        if let Err(error) = self.context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "a client was not told of progress");
        }
    }
}

/// Returns what a client is told of an item, if it is told of it at all.
fn note(shown: &Shown) -> Option<String> {
    if let Shown::Delta(entry) = shown {
        return of_delta(&entry.delta);
    }
    if let Shown::Event(entry) = shown {
        return of_event(&entry.event);
    }
    None
}

fn of_delta(delta: &Delta) -> Option<String> {
    if let Delta::Text { text } = delta {
        return Some(text.clone());
    }
    if let Delta::CallRunning { tool, .. } | Delta::CallProgress { tool, .. } = delta {
        return Some(format!("{tool} is running"));
    }
    None
}

fn of_event(event: &Event) -> Option<String> {
    if let Event::StepStarted { step } = event {
        return Some(format!("step {step} begins"));
    }
    if let Event::Call { tool, is, .. } = event {
        return Some(format!("{tool}: {is}"));
    }
    if let Event::Asked { tool, .. } = event {
        return Some(format!("{tool} waits for an answer"));
    }
    None
}

/// Bounds a text.
fn cut(mut text: String) -> String {
    if text.len() > NOTE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(NOTE_BYTES_MAX));
        text.push_str(" …");
    }
    text
}
