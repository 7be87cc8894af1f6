//! Finds sessions that should continue but do not, with the reason and the commands that help.

use std::fmt::Display;
use std::time::Duration;

use holdover_core::engine::{ATTEMPTS_MAX, RunOutcome, STATE_FORMAT, STATE_FORMAT_LATER};
use holdover_core::machine::{Ending, Owed};
use holdover_core::payload::Encoding;
use holdover_core::store::{PendingCall, Session, SessionStatus};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{machine_of, only_looks, outcome_of};

use crate::print::{instant, one_line};
use crate::source::Maker;

/// The placeholder for the session's id in a command.
pub(super) const SESSION: &str = "SESSION";
/// The placeholder for the session's queue in a command.
pub(super) const QUEUE: &str = "QUEUE";

/// A session that is stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stuck {
    /// The reason as a code, for programs.
    pub(super) reason: &'static str,
    /// The reason as a sentence, for people.
    pub(super) detail: String,
    /// The commands that help.
    pub(super) help: Vec<Help>,
}

/// A session and the known facts about it.
pub(super) struct Case<'a> {
    /// The session as stored.
    pub(super) session: &'a Session,
    /// The pending calls of the session and of its children, if the session is suspended.
    pub(super) pending: &'a [PendingCall],
    /// The program that created the session and has its agent.
    pub(super) maker: &'a Maker,
    /// The current time, by the store's clock.
    pub(super) now: Timestamp,
    /// The instant before which due work counts as overdue.
    pub(super) patient: Timestamp,
}

/// A command that helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Help {
    pub(super) words: &'static [&'static str],
    pub(super) options: &'static [&'static str],
}

impl Help {
    const fn of(words: &'static [&'static str]) -> Self {
        Self { words, options: &[] }
    }

    const fn with(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }
}

const WORK: Help = Help::of(&["work"]);
const WORK_QUEUE: Help = WORK.with(&["--queue", QUEUE]);
const SHOW: Help = Help::of(&["sessions", "show", SESSION]);
const RESUME: Help = Help::of(&["resume", SESSION]);
const RETRY: Help = Help::of(&["retry", SESSION]);
const RETRY_ELSEWHERE: Help = RETRY.with(&["--detach"]);
const INTERRUPT: Help = Help::of(&["interrupt", SESSION]);
const LETTERS: Help = Help::of(&["dead", "list"]);
const FORK: Help = Help::of(&["sessions", "fork", SESSION]);
const DELETE: Help = Help::of(&["sessions", "delete", SESSION]).with(&["--force"]);

/// The longest lease that a run can have.
const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum time until an alarm. A later alarm is a mistake.
const DUE_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

impl Stuck {
    /// Returns the finding for a session whose stored data cannot be read.
    pub(super) fn unreadable(error: &dyn Display) -> Self {
        let detail = format!("it cannot be read: {}", one_line(&error.to_string()));
        Self { reason: "unreadable", detail, help: Vec::new() }
    }
}

/// Returns the reason why a session is stuck; of several reasons, the most immediate one. Returns `None` if it rests,
/// runs, or waits as it should.
pub(super) fn examine(case: &Case<'_>) -> Option<Stuck> {
    let Case { session, .. } = case;
    if let Some(newer) = newer(case) {
        return Some(newer);
    }
    let outcome = match outcome_of(session, case.now) {
        Ok(outcome) => outcome,
        Err(error) => return Some(Stuck { help: aside(session), ..Stuck::unreadable(&error) }),
    };
    late(case).or_else(|| match session.status {
        SessionStatus::Suspended => forgotten(case, &outcome),
        SessionStatus::Failed if is_set_aside(session) => {
            let detail = "a run could not read it and set it aside; it goes on once its letter is replayed";
            Some(Stuck { reason: "set_aside", detail: detail.to_owned(), help: aside(session) })
        }
        SessionStatus::Failed => Some(failed(case.maker, outcome)),
        SessionStatus::Idle | SessionStatus::Active | SessionStatus::Interrupted | SessionStatus::Aborted => {
            None
        }
    })
}

/// Returns true if a session that can be read was set aside, and nobody has replayed its letter.
fn is_set_aside(session: &Session) -> bool {
    let machine = machine_of(session).ok().flatten();
    session.alarm.is_none() && machine.is_some_and(|machine| machine.is_set_aside(session.status))
}

/// Returns the commands that show the letters of sessions that were set aside, if this can be one.
fn aside(session: &Session) -> Vec<Help> {
    if session.status == SessionStatus::Failed { vec![LETTERS] } else { Vec::new() }
}

/// Does the same as [`examine`] for a session whose state cannot be decoded here. Uses only the plain parts. Names no
/// commands, because they could not continue the session here.
pub(super) fn examine_encoded(case: &Case<'_>, encoding: Encoding) -> Option<Stuck> {
    let found = newer(case)
        .or_else(|| poisoned(case))
        .or_else(|| late(case))
        .or_else(|| (case.session.status == SessionStatus::Failed).then(|| failed(case.maker, None)))?;
    Some(Stuck { detail: format!("{} ({encoding})", found.detail), help: Vec::new(), ..found })
}

/// Checks whether this program is too old for the session.
fn newer(case: &Case<'_>) -> Option<Stuck> {
    let format = case.session.format;
    let detail =
        format!("its state has format {format}, this program reads up to {STATE_FORMAT}: use a newer one");
    (format > STATE_FORMAT).then(|| Stuck { reason: "newer_format", detail, help: Vec::new() })
}

/// Checks whether the session kills its runs. The next run that can read the session ends its turn.
fn poisoned(case: &Case<'_>) -> Option<Stuck> {
    let attempts = case.session.attempts;
    let detail = format!("it kills its runs: {attempts} died in a row without any progress");
    (attempts >= ATTEMPTS_MAX).then(|| Stuck { reason: "poisoned", detail, help: Vec::new() })
}

/// Checks whether the session is overdue, or due far too late.
fn late(case: &Case<'_>) -> Option<Stuck> {
    interrupt(case).or_else(|| held_too_long(case)).or_else(|| due_too_late(case)).or_else(|| {
        match case.session.status {
            SessionStatus::Active => abandoned(case),
            SessionStatus::Suspended => expired(case).or_else(|| overdue(case)),
            SessionStatus::Failed | SessionStatus::Idle | SessionStatus::Interrupted => overdue(case),
            SessionStatus::Aborted => None,
        }
    })
}

/// Checks for a requested stop that has not happened.
fn interrupt(case: &Case<'_>) -> Option<Stuck> {
    let asked = case.session.interrupt.as_ref().filter(|asked| asked.at <= case.patient)?;
    let (kind, since) = (asked.kind.as_str(), instant(asked.at));
    let detail = match case.session.status {
        SessionStatus::Active => format!("a stop ({kind}) is asked for since {since}, and its run goes on"),
        SessionStatus::Idle
        | SessionStatus::Suspended
        | SessionStatus::Interrupted
        | SessionStatus::Failed
        | SessionStatus::Aborted => {
            format!("a stop ({kind}) is asked for since {since}, and nobody takes it up")
        }
    };
    Some(Stuck { reason: "interrupt_waits", detail, help: vec![INTERRUPT, WORK] })
}

/// Checks for a lease that ends so late that the store's clock was wrong when it was granted. No other run can take the
/// session over before that.
fn held_too_long(case: &Case<'_>) -> Option<Stuck> {
    let lease = case.session.lease.as_ref().filter(|lease| case.now.until(lease.ends) > LEASE_MAX)?;
    let (epoch, worker, ends) = (case.session.epoch, &lease.worker, instant(lease.ends));
    let detail = format!(
        "run {epoch} of {worker} holds it until {ends}: the store's clock was ahead when the run began; if that worker is \
         gone, go on with a fork and delete this session"
    );
    Some(Stuck { reason: "lease_too_long", detail, help: vec![FORK, DELETE] })
}

/// Checks for signs that the store's clock was ahead, if the session waits for an alarm and no run holds it. The signs
/// are a creation or a change in the future, and an alarm that is more than `DUE_MAX` ahead.
fn due_too_late(case: &Case<'_>) -> Option<Stuck> {
    let Case { session, now, .. } = case;
    // While a run holds the session, its alarm is the end of the lease.
    let alarm = session.alarm.filter(|alarm| alarm > now && session.lease.is_none())?;
    let (created, due) = (instant(session.created_at), instant(alarm));
    let soon = now.after(case.patient.until(*now));
    let detail = if session.created_at > soon {
        format!(
            "it was created at {created}, in the future, and is due only at {due}: the store's clock was ahead"
        )
    } else if session.updated_at > soon {
        let updated = instant(session.updated_at);
        format!(
            "it was changed at {updated}, in the future, and is due only at {due}: the store's clock was ahead"
        )
    } else if now.until(alarm) > DUE_MAX && !may_hold_later(session) {
        format!("it is due only at {due}, in more than a year: was the store's clock ahead?")
    } else {
        return None;
    };
    let help = match session.status {
        SessionStatus::Suspended => vec![RESUME, INTERRUPT],
        SessionStatus::Failed | SessionStatus::Interrupted => vec![RETRY],
        SessionStatus::Idle | SessionStatus::Active | SessionStatus::Aborted => vec![RESUME],
    };
    let help = if case.maker.elsewhere().is_some() { vec![SHOW] } else { help };
    Some(Stuck { reason: "due_too_late", detail, help })
}

/// Returns true if the session may hold a message for later, which may be due at any instant.
fn may_hold_later(session: &Session) -> bool {
    session.unread > 0 && session.format >= STATE_FORMAT_LATER
}

/// Checks for a run that died, if no other run has taken the session over.
fn abandoned(case: &Case<'_>) -> Option<Stuck> {
    let lease = case.session.lease.as_ref().filter(|lease| lease.ends <= case.patient)?;
    let (epoch, worker, ended) = (case.session.epoch, &lease.worker, instant(lease.ends));
    let detail = format!(
        "run {epoch} of {worker} died: its lease ended at {ended} and nobody took it over; {}",
        is_running(case.maker)
    );
    Some(Stuck { reason: "lease_ended", detail, help: taken_up(case.maker) })
}

/// Checks for an unanswered call whose deadline has passed and that has not been ended.
fn expired(case: &Case<'_>) -> Option<Stuck> {
    let late = |pending: &&PendingCall| {
        pending.answered < pending.needed && pending.deadline.is_some_and(|at| at <= case.patient)
    };
    let pending = case.pending.iter().find(late)?;
    let at = pending.deadline.map(instant).unwrap_or_default();
    let detail = format!(
        "nobody answered call {} until {at}, and nobody ended it; {}",
        pending.call,
        is_running(case.maker)
    );
    Some(Stuck { reason: "deadline_passed", detail, help: taken_up(case.maker) })
}

/// Checks for a session that is due, but that no worker takes.
fn overdue(case: &Case<'_>) -> Option<Stuck> {
    // An alarm only for a look does not count: the sessions at which it looks are examined themselves.
    let alarm = case.session.alarm.filter(|alarm| *alarm <= case.patient && !only_looks(case.session))?;
    let at = instant(alarm);
    let detail = format!("it is due since {at} and nobody takes it; {}", is_running(case.maker));
    let mut help = taken_up(case.maker);
    if case.session.status != SessionStatus::Suspended {
        help.retain(|words| *words != RESUME);
    }
    Some(Stuck { reason: "due", detail, help })
}

/// Returns the question for the operator of the program that has the agent, about a session that no worker takes.
fn is_running(maker: &Maker) -> String {
    match maker {
        Maker::Own => "is a worker running?".to_owned(),
        Maker::Older(queue) => format!(
            "an older version of this program left it in queue {queue}, which a worker serves that is told to"
        ),
        Maker::Other(Some(program)) => format!("its agent lives in another program: is {program} running?"),
        Maker::Other(None) => "its agent lives in another program: is that running?".to_owned(),
    }
}

/// Returns the commands for a session that no worker takes. They let the session continue. A session of another program
/// cannot be continued here, so the command only shows it.
fn taken_up(maker: &Maker) -> Vec<Help> {
    match maker {
        Maker::Own => vec![WORK, RESUME],
        Maker::Older(_) => vec![WORK_QUEUE, RESUME],
        Maker::Other(_) => vec![SHOW],
    }
}

/// Checks for a suspended session without an alarm and without a pending call: nothing will wake it.
fn forgotten(case: &Case<'_>, outcome: &Option<RunOutcome>) -> Option<Stuck> {
    // No turn waits for a call in doubt to be settled.
    let waits = case.pending.iter().any(|pending| !pending.kind.keeps_session());
    let for_signal = |owed: &Owed| owed.signal.is_some();
    let waits_for_signal =
        matches!(outcome, Some(RunOutcome::Suspended(suspension)) if suspension.owed.iter().any(for_signal));
    if case.session.alarm.is_some() || waits || waits_for_signal {
        return None;
    }
    let waits = matches!(outcome, Some(RunOutcome::Suspended(_)));
    let detail = if waits {
        "it waits for an answer that nobody is asked for".to_owned()
    } else {
        "it is suspended and waits for nothing".to_owned()
    };
    let (detail, help) = match case.maker.elsewhere() {
        None => (detail, vec![RESUME]),
        Some(place) => (format!("{detail}; its agent lives {place}, which can resume it"), vec![SHOW]),
    };
    Some(Stuck { reason: "nothing_wakes_it", detail, help })
}

fn failed(maker: &Maker, outcome: Option<RunOutcome>) -> Stuck {
    let retry = if maker.elsewhere().is_some() { RETRY_ELSEWHERE } else { RETRY };
    let error = match outcome {
        Some(RunOutcome::Ended(Ending { error: Some(error), .. })) => Some(error),
        Some(
            RunOutcome::Ended(_)
            | RunOutcome::Suspended(_)
            | RunOutcome::BackingOff { .. }
            | RunOutcome::Released
            | RunOutcome::Lost,
        )
        | None => None,
    };
    match error {
        Some(error) if error.code == "engine.poisoned" => {
            let detail = format!("it kills its runs: {error}");
            Stuck { reason: "poisoned", detail, help: vec![SHOW, retry] }
        }
        Some(error) => {
            Stuck { reason: "failed", detail: format!("it failed: {error}"), help: vec![retry, SHOW] }
        }
        None => Stuck { reason: "failed", detail: "it failed".to_owned(), help: vec![retry, SHOW] },
    }
}

#[cfg(test)]
mod tests;
