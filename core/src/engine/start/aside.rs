//! Sessions that a run cannot read. Such a session is set aside: it fails with a dead letter, and everything else of it
//! stays as it was (requirement C03).

use crate::engine::{STATE_FORMAT_ASKING, StartError};
use crate::machine::Facts;
use crate::store::{
    Claim, Commit, ItemKind, NewState, OutcomeKind, PendingCall, PendingKind, Release, RunEnd, SessionStatus,
    StoredItem,
};
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::StateKind;
use crate::words::ids::{InboxSeq, MessageSeq, OperationId, PendingId, TurnNumber};
use crate::words::letter::{self, Letter, LetterCause};
use crate::words::payload::Payload;

/// The part that a [`StartError`] names if the state of the session cannot be read.
pub(super) const STATE: &str = "state";

/// The part that a [`StartError`] names if a staged result cannot be read.
pub(super) const STAGED: &str = "staged result";

/// The most characters of the name of a state that an error shows.
const NAME_CHARS_MAX: usize = 64;

/// Returns the commit that sets a session aside because its run could not begin with this error. The session becomes
/// failed and is no longer due. Nothing is lost: the bytes of the state, staged results, start marks, pending calls and
/// items in the inbox stay. A run that can read the session later goes on with the turn where it was.
///
/// A dead letter with the cause [`Unreadable`](LetterCause::Unreadable) says what cannot be read. If a letter is open that
/// nobody has answered, it stays, and no other is opened. An answered letter is closed and its answer consumed, so that the
/// new letter can be answered. If it was about a turn that was given up, the new letter has the same content.
///
/// The state is marked as readable only by versions that know letters. If calls have start marks, it is not, because a
/// store drops them with a new state.
///
/// Returns `None` if the session must be given back instead:
/// - The error is about something else than the state or a staged result. The state format may be that of a newer
///   version, or the table of this version may be faulty.
/// - The state, a staged result or the definition is encoded: another process may have the key.
/// - An interrupt waits: it would make the session due again at once.
///
/// If the store does not take the commit, nothing was changed, and the claim can be given back.
pub fn set_aside(claim: &Claim, error: &StartError, facts: &Facts) -> Option<Commit> {
    let session = &claim.session;
    let encoded = [Some(&session.definition), session.state.as_ref()]
        .into_iter()
        .flatten()
        .chain(session.staged.results.iter().map(|staged| &staged.payload))
        .any(|payload| payload.encoding().is_some());
    if !matches!(error.what, STATE | STAGED) || encoded || claim.interrupt().is_some() {
        return None;
    }
    let read = Lenient::of(session.state.as_ref());
    let run = claim.fence.epoch;
    let why = ErrorInfo::new("engine.unreadable", read.words(error));
    let letters = || claim.pending.iter().filter(|pending| pending.kind == PendingKind::DeadLetter);
    let is_answered = |letter: &PendingCall| letter.answered >= letter.needed;
    let mut commit = Commit::new(OperationId::new(format!("a{run}.1")).ok()?);
    if letters().all(is_answered) {
        commit.close = letters().map(|letter| letter.id.clone()).collect();
        commit.consumed = answers(&claim.inbox, &commit.close);
        let now = facts.now.max(claim.now);
        let turn = (read.turn, read.began);
        let old: Vec<_> = letters().filter_map(|letter| Letter::of(letter).ok()).collect();
        // A turn that was given up before keeps what its letter says.
        let given_up = old.iter().find(|letter| letter.cause != LetterCause::Unreadable).cloned();
        let letter = given_up.unwrap_or_else(|| Letter {
            parked: claim.found == SessionStatus::Suspended || old.iter().any(|letter| letter.parked),
            ..Letter::new(LetterCause::Unreadable, why.clone(), 1, (run, run), turn, now)
        });
        let names = letter::names_aside(claim.fence.incarnation, read.turn, run).ok()?;
        commit.open.push(letter::opened(&letter, names).ok()?);
    }
    let marked = !session.staged.starts.is_empty();
    let raised = session.state.as_ref().filter(|_| session.format < STATE_FORMAT_ASKING && !marked);
    commit.state = raised.map(|state| NewState { format: STATE_FORMAT_ASKING, payload: state.clone() });
    let started = Event::RunStarted { run, found: claim.found, kind: None };
    commit.events.push(Payload::json(&started).ok()?);
    commit.expected_version = Some(session.version);
    commit.inbox_seen = Some(session.last_item);
    commit.run = Some(RunEnd { outcome: OutcomeKind::Failed, detail: Payload::json(&why).ok()? });
    commit.release = Some(Release::To { status: SessionStatus::Failed, deadline: None, wake_on: 0 });
    Some(commit)
}

/// Returns the places of the items that answer one of these letters.
fn answers(inbox: &[StoredItem], letters: &[PendingId]) -> Vec<InboxSeq> {
    let answers = |item: &&StoredItem| matches!(&item.kind, ItemKind::Answer { pending, .. } if letters.contains(pending));
    inbox.iter().filter(answers).map(|item| item.seq).collect()
}

/// The parts of a state that can be read although the whole cannot.
#[derive(Default)]
struct Lenient {
    /// The name of the state, if no handler of this version knows it.
    unknown: Option<String>,
    turn: TurnNumber,
    began: MessageSeq,
}

impl Lenient {
    fn of(state: Option<&Payload>) -> Self {
        let Some(Ok(read)) = state.map(Payload::parse::<serde_json::Value>) else { return Self::default() };
        let number = |name: &str| read["turn"][name].as_u64().unwrap_or_default();
        let name = read["state"]["state"].as_str();
        let unknown = name.filter(|name| StateKind::ALL.into_iter().all(|kind| kind.as_str() != *name));
        Self {
            unknown: unknown.map(|name| name.escape_debug().take(NAME_CHARS_MAX).collect()),
            turn: TurnNumber(number("number")),
            began: MessageSeq(number("began")),
        }
    }

    /// Says in one line what cannot be read.
    fn words(&self, error: &StartError) -> String {
        match &self.unknown {
            Some(name) => format!("no handler for state `{name}`"),
            None => format!("cannot read {}: {}", error.what, error.detail),
        }
    }
}

#[cfg(test)]
mod tests;
