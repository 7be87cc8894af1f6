//! The answers that a suspended session waits for, and the commands that give them.

use std::collections::BTreeMap;

use holdover_core::ids::{CallId, PendingId, SessionId, SessionKey};
use holdover_core::machine::{Owed, OwedKind, Suspension};
use holdover_core::message::PendingBody;
use holdover_core::store::{PendingCall, PendingKind, PendingQuery, Session, SessionStatus};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Deciders, RuntimeError};

use crate::exit::Failure;
use crate::front::Front;
use crate::pages::each_of;
use crate::source::PROGRAM;
use crate::store::VARIABLE;

/// Returns true if `word` has the form of a pending call's id. Commands that take both do not read such a word as the
/// name of a session, so that a session cannot be confused with a pending call.
pub(crate) fn reads_like_an_asking(word: &str) -> bool {
    PendingId::new(word).is_ok_and(|id| id.parts().is_some())
}

/// Fails for a name that a new session may not have, or that has the form of a pending call's id.
pub(crate) fn check_new_name(session: &SessionId) -> Result<(), Failure> {
    if let Err(why) = session.check_new() {
        return Err(Failure::wrong_use(format!("session {session}: {why}; choose another name")));
    }
    if reads_like_an_asking(session.as_str()) {
        return Err(Failure::wrong_use(format!(
            "session {session}: this reads like the id of a pending call (holdover sessions pending); choose another name"
        )));
    }
    Ok(())
}

/// The source of an awaited answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum By {
    /// A person, a client, a child or another source owes an answer.
    Answer(PendingKind),
    /// A timer must run out.
    Time,
    /// A signal with this name must come.
    Signal(String),
}

impl By {
    fn of(owed: &Owed) -> Self {
        match owed.kind {
            OwedKind::Approval => Self::Answer(PendingKind::Approval),
            OwedKind::ClientTool => Self::Answer(PendingKind::ClientTool),
            OwedKind::Child => Self::Answer(PendingKind::Child),
            OwedKind::Timer => Self::Time,
            OwedKind::Signal => {
                Self::Signal(owed.signal.as_ref().map(ToString::to_string).unwrap_or_default())
            }
        }
    }

    /// Returns the name of the source in JSON output.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Answer(kind) => kind.as_str(),
            Self::Time => "timer",
            Self::Signal(_) => "signal",
        }
    }
}

/// An answer that a session waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Debt {
    pub(crate) session: SessionId,
    /// The call that needs the answer.
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// The source of the answer.
    pub(crate) by: By,
    /// The instant at which the wait ends without an answer, if there is one.
    pub(crate) until: Option<Timestamp>,
    /// The exact arguments with which the call would run, if they can be read.
    pub(crate) arguments: Option<String>,
    /// The reason for asking, or the reason why the call cannot be read.
    pub(crate) prompt: Option<String>,
    /// The people who may decide, if they are named.
    pub(crate) deciders: Option<Deciders>,
    /// The commands that give the answer, each with its name, in the form that users type here.
    pub(crate) commands: Vec<(&'static str, Vec<String>)>,
}

impl Debt {
    /// Returns the command `name` in the form for another program, or `None` if the debt has no such command. It uses
    /// the plain name of this program, and reads the answer from standard input.
    pub(crate) fn in_json(&self, name: &str) -> Option<Vec<String>> {
        let (_, words) = self.commands.iter().find(|(known, _)| *known == name)?;
        let mut words: Vec<String> = words.clone();
        words[0] = PROGRAM.to_owned();
        if let Some(text) = words.iter_mut().find(|word| *word == PLACE_OF_ANSWER) {
            *text = "-".to_owned();
        }
        Some(words)
    }
}

/// The text in place of the tool's name if the call cannot be read.
const UNKNOWN: &str = "?";

/// The placeholder for the answer in a command.
const PLACE_OF_ANSWER: &str = "YOUR ANSWER";

/// The placeholder for the name of the person who decides, if there are several.
const PLACE_OF_NAME: &str = "YOUR NAME";

/// Returns the pending calls of one session and of its children that have not ended, or of all sessions of the tenant.
/// The soonest deadline comes first.
pub(crate) async fn all_pending(
    front: &Front,
    session: Option<&SessionId>,
) -> Result<Vec<PendingCall>, Failure> {
    if let Some(session) = session {
        return Ok(front.runtime.open_calls(&front.key(session)).await?);
    }
    let all = PendingQuery::all(front.common.tenant.clone());
    let ask = async |page| front.store.list_pending(&PendingQuery { page, ..all.clone() }).await;
    let mut open = Vec::new();
    each_of(ask, |call| open.push(call)).await?;
    Ok(open)
}

/// Returns the debt of a pending call.
pub(crate) async fn debt_of(front: &Front, pending: &PendingCall) -> Result<Debt, Failure> {
    let by = By::Answer(pending.kind.clone());
    let (body, deciders) = match read(front, pending).await {
        Ok(read) => read,
        Err(RuntimeError::Unreadable { detail, .. }) => {
            return Ok(Debt {
                session: pending.key.id.clone(),
                call: pending.call.clone(),
                tool: UNKNOWN.to_owned(),
                by,
                until: pending.deadline,
                arguments: None,
                prompt: Some(detail),
                deciders: None,
                // Only a version that can read the call can answer it.
                commands: Vec::new(),
            });
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Debt {
        session: pending.key.id.clone(),
        call: pending.call.clone(),
        tool: body.tool.to_string(),
        until: pending.deadline,
        arguments: Some(body.arguments),
        prompt: body.prompt,
        commands: commands(front, &by, &pending.id, deciders.as_ref()),
        by,
        deciders,
    })
}

async fn read(front: &Front, pending: &PendingCall) -> Result<(PendingBody, Option<Deciders>), RuntimeError> {
    match pending.body.parse::<PendingBody>() {
        Ok(body) if body.panel.is_none() => Ok((body, None)),
        // The runtime returns who decides, and describes calls that it cannot read.
        body => match (front.runtime.pending_call(&pending.key, &pending.id).await?, body) {
            (Some(entry), _) => Ok((entry.body, entry.deciders)),
            (None, Ok(body)) => Ok((body, None)),
            (None, Err(error)) => Err(RuntimeError::Unreadable {
                key: pending.key.clone(),
                what: format!("pending call {}", pending.id),
                detail: error.to_string(),
            }),
        },
    }
}

/// Returns the calls of a session that ended in doubt and that nobody has settled. No turn waits for them.
pub(crate) async fn doubts(front: &Front, key: &SessionKey) -> Result<Vec<Debt>, Failure> {
    let mut doubts = Vec::new();
    for pending in all_pending(front, Some(&key.id)).await? {
        let is_open = pending.kind == PendingKind::InDoubt && pending.answered < pending.needed;
        if is_open && pending.key == *key {
            doubts.push(debt_of(front, &pending).await?);
        }
    }
    Ok(doubts)
}

/// Returns the dead letters of a session that nobody has answered, without their content, which the prompts sum up. Only a
/// failed session has any.
pub(crate) async fn letters(front: &Front, session: &Session) -> Result<Vec<Debt>, Failure> {
    let mut letters = Vec::new();
    if session.status != SessionStatus::Failed {
        return Ok(letters);
    }
    for pending in all_pending(front, Some(&session.key.id)).await? {
        let is_open = pending.kind == PendingKind::DeadLetter && pending.answered < pending.needed;
        if is_open && pending.key == session.key {
            letters.push(Debt { arguments: None, ..debt_of(front, &pending).await? });
        }
    }
    Ok(letters)
}

/// Returns the debts of `suspension` in call order, then the unanswered ones of the session's children.
pub(crate) async fn debts(
    front: &Front,
    key: &SessionKey,
    suspension: &Suspension,
) -> Result<Vec<Debt>, Failure> {
    let (mut own, mut below) = (BTreeMap::new(), Vec::new());
    for pending in all_pending(front, Some(&key.id)).await? {
        let debt = debt_of(front, &pending).await?;
        if pending.key == *key {
            own.insert(pending.id, debt);
        } else if pending.answered < pending.needed && !pending.kind.keeps_session() {
            below.push(debt);
        }
    }
    let mut debts = Vec::new();
    for owed in &suspension.owed {
        let asked = owed.pending.as_ref().and_then(|pending| own.remove(pending));
        let known = asked.filter(|debt| debt.arguments.is_some());
        debts.push(known.unwrap_or_else(|| {
            let by = By::of(owed);
            let commands = owed.pending.iter().flat_map(|pending| commands(front, &by, pending, None));
            let signal = owed
                .signal
                .as_ref()
                .map(|name| ("signal", command(front, &["signal", key.id.as_str(), name.as_str()])));
            Debt {
                session: key.id.clone(),
                call: owed.call.clone(),
                tool: owed.tool.clone(),
                until: owed.until,
                arguments: None,
                prompt: None,
                deciders: None,
                commands: commands.chain(signal).collect(),
                by,
            }
        }));
    }
    debts.extend(below);
    Ok(debts)
}

/// Returns the commands that answer a debt. They name the pending call by its id, so that they answer exactly the shown
/// call and no later one. They include the name of the person who decides if it matters who decides.
fn commands(
    front: &Front,
    by: &By,
    pending: &PendingId,
    deciders: Option<&Deciders>,
) -> Vec<(&'static str, Vec<String>)> {
    let names: &[&'static str] = match by {
        By::Answer(PendingKind::Approval) => &["approve", "deny"],
        By::Answer(PendingKind::ClientTool) => &["answer"],
        By::Answer(PendingKind::InDoubt) => &["done", "not done"],
        By::Answer(PendingKind::DeadLetter) => &["replay"],
        // A child is answered by its session. An unknown kind is answered by a version that knows it.
        By::Answer(PendingKind::Child | PendingKind::Other(_)) | By::Time | By::Signal(_) => &[],
    };
    let command = |name: &'static str| {
        let (word, last): (&str, &[&str]) = match name {
            "done" => ("settle", &["--done", PLACE_OF_ANSWER]),
            "not done" => ("settle", &["--not-done"]),
            _ => (name, &[]),
        };
        let mut words = vec![word, pending.as_str()];
        if name == "replay" {
            words.insert(0, "dead");
        }
        if name == "answer" {
            words.push(PLACE_OF_ANSWER);
        }
        let mut line = command(front, &words);
        line.extend(last.iter().map(|word| (*word).to_owned()));
        if let Some(deciders) = deciders {
            line.splice(2..2, ["--as".to_owned(), one_of(deciders)]);
        }
        (name, line)
    };
    names.iter().copied().map(command).collect()
}

/// Returns the person who decides if there is only one, otherwise the placeholder for the name.
fn one_of(deciders: &Deciders) -> String {
    let mut may = deciders.may.iter().filter(|name| !deciders.approved.contains(name));
    match (may.next(), may.next()) {
        (Some(name), None) => name.clone(),
        (None | Some(_), _) => PLACE_OF_NAME.to_owned(),
    }
}

/// Returns the command line for `words` on the same store and tenant, in the form that users type here.
pub(crate) fn command(front: &Front, words: &[&str]) -> Vec<String> {
    let common = &front.common;
    let mut options = Vec::new();
    // A password is not printed: if the environment names the store, the command finds it there.
    let in_environment = || std::env::var(VARIABLE).is_ok_and(|url| url == common.store.secret());
    let unsaid = common.store.is_default() || common.store.holds_password() && in_environment();
    if !unsaid {
        options.extend(["--store".to_owned(), common.store.to_string()]);
    }
    match common.tenant.as_str() {
        "default" => {}
        tenant if tenant.starts_with('-') => options.push(format!("--tenant={tenant}")),
        tenant => options.extend(["--tenant".to_owned(), tenant.to_owned()]),
    }
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut line = vec![program()];
    if words.iter().any(|word| word.starts_with('-')) {
        // The id looks like an option.
        line.push(words.remove(0));
        line.extend(options);
        line.push("--".to_owned());
        line.extend(words);
    } else {
        line.extend(words);
        line.extend(options);
    }
    line
}

/// Returns this program as it was called: by its name if the shell found it in `PATH`, otherwise by its path.
fn program() -> String {
    std::env::args().next().filter(|program| program.contains('/')).unwrap_or_else(|| PROGRAM.to_owned())
}
