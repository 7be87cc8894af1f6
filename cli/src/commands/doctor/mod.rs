//! `doctor`: the promises of a store, its contents, and the sessions that are stuck in it. Changes nothing.

mod engine;
mod promises;
mod stuck;
mod weak;

use std::collections::BTreeMap;

use holdover_core::ids::{QueueLabel, SessionKey};
use holdover_core::payload::{Encoding, Payload};
use holdover_core::phrases;
use holdover_core::store::{Capabilities, SessionQuery, SessionStatus, StoreErrorKind};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{BREAKER_QUEUE, BREAKER_TENANT, RuntimeError, TOKEN_QUEUE};
use serde_json::{Value, json};

use self::engine::Compared;
use self::promises::{effects, in_words};
use self::stuck::{Case, Stuck};
use self::weak::weakened;
use crate::args::{Common, Doctor};
use crate::commands::dead;
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::owed::{all_pending, command};
use crate::pages::each_of;
use crate::print::{Out, counted, inline, shell};
use crate::source::Maker;
use crate::store::{IfMissing, KEYS, file_of};

/// Examines a store, and prints the findings.
pub(crate) async fn doctor(common: &Common, args: &Doctor) -> Result<Exit, Failure> {
    let front = match Front::open(common, None, IfMissing::AsItIs).await {
        Ok(front) => front,
        Err(failure) => {
            tell_of_closed(common, &failure);
            return Err(failure);
        }
    };
    let now = front.runtime.now();
    let mut counts: BTreeMap<SessionStatus, u64> = BTreeMap::new();
    let mut unread: BTreeMap<Encoding, u64> = BTreeMap::new();
    let mut stuck: Vec<StuckSession> = Vec::new();
    let sessions = keys(&front).await?;
    for (key, status, _) in &sessions {
        *counts.entry(*status).or_default() += 1;
        let patient = Timestamp::from_ms(
            now.as_ms().saturating_sub(i64::try_from(args.patience.as_millis()).unwrap_or(i64::MAX)),
        );
        let found = examine(&front, key, now, patient).await?;
        stuck.extend(found.stuck);
        if let Some(why) = found.unread {
            *unread.entry(why).or_default() += 1;
        }
    }
    let unwritable = front.store.unwritable().await?;
    let capabilities = front.store.capabilities();
    let letters = dead::count(&front).await?;
    let engine = engine::compare(&front, &sessions).await?;
    let found = Found { capabilities, unwritable, counts, letters, unread, stuck, engine };
    front.out.object(&as_json(&front, &found));
    print(&front, &found);
    front.close().await;
    Ok(if found.is_healthy() { Exit::Completed } else { Exit::Failed })
}

/// The findings about a store.
struct Found {
    capabilities: Capabilities,
    /// The reason why this user cannot write the store, if any.
    unwritable: Option<String>,
    counts: BTreeMap<SessionStatus, u64>,
    /// The number of open dead letters.
    letters: u64,
    /// The number of sessions that cannot be decoded here, by encoding.
    unread: BTreeMap<Encoding, u64>,
    stuck: Vec<StuckSession>,
    /// The engine beside the store, if one was named.
    engine: Option<Compared>,
}

/// A session that is stuck, and the reason.
struct StuckSession {
    key: SessionKey,
    queue: QueueLabel,
    why: Stuck,
}

/// The findings about a session. They are empty if nothing is wrong with it, or if it was deleted meanwhile.
#[derive(Default)]
struct Examined {
    stuck: Option<StuckSession>,
    /// The encoding that cannot be decoded here, if any. In that case, only the plain parts were examined.
    unread: Option<Encoding>,
}

impl Found {
    fn is_healthy(&self) -> bool {
        let engine = self.engine.as_ref().is_none_or(Compared::is_healthy);
        self.stuck.is_empty() && self.unwritable.is_none() && engine
    }
}

/// Reports a store that cannot be opened.
fn tell_of_closed(common: &Common, failure: &Failure) {
    let out = Out::new(common);
    let file = file_of(&common.store).and_then(|path| std::fs::metadata(path).ok());
    let bytes = file.as_ref().map(std::fs::Metadata::len);
    out.object(&json!({
        "store": common.store, "bytes": bytes, "healthy": false, "error": failure.line,
    }));
    out.line(format!("store     {}", inline(&common.store.to_string())));
    if let Some(bytes) = bytes {
        out.line(format!("file      {bytes} bytes"));
    }
}

/// Returns the key, the status and the alarm of every session of the tenant.
async fn keys(front: &Front) -> Result<Vec<(SessionKey, SessionStatus, Option<Timestamp>)>, Failure> {
    let all = SessionQuery::all(front.common.tenant.clone());
    let ask = async |page| front.store.list_sessions(&SessionQuery { page, ..all.clone() }).await;
    let mut keys = Vec::new();
    each_of(ask, |session| keys.push((session.key, session.status, session.alarm))).await?;
    Ok(keys)
}

/// Examines a session. Work that was due before `patient` counts as overdue.
async fn examine(
    front: &Front,
    key: &SessionKey,
    now: Timestamp,
    patient: Timestamp,
) -> Result<Examined, Failure> {
    let Some(kept) = front.store.encoded().load_session(key).await? else { return Ok(Examined::default()) };
    // Records of the engine, such as breakers and tokens, are not sessions that a worker runs.
    if key.tenant.as_str() == BREAKER_TENANT && [BREAKER_QUEUE, TOKEN_QUEUE].contains(&kept.queue.as_str()) {
        return Ok(Examined::default());
    }
    let queue = kept.queue.clone();
    let found = |why: Option<Stuck>| why.map(|why| StuckSession { key: key.clone(), queue, why });
    let encodings = [Some(&kept.definition), kept.state.as_ref()].into_iter().flatten();
    let unread = encodings.filter_map(Payload::encoding).find(|how| !front.store.keys().decode(*how));
    let session = match (unread, front.runtime.session(key).await) {
        (Some(_), _) => kept,
        (None, Ok(Some(session))) => session,
        (None, Ok(None)) => return Ok(Examined::default()),
        (None, Err(RuntimeError::Store(error)))
            if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::KeyMissing) =>
        {
            return Ok(Examined { stuck: found(Some(Stuck::unreadable(&error))), unread });
        }
        (None, Err(error)) => return Err(error.into()),
    };
    let pending = match session.status {
        SessionStatus::Suspended => all_pending(front, Some(&key.id)).await?,
        SessionStatus::Idle
        | SessionStatus::Active
        | SessionStatus::Interrupted
        | SessionStatus::Failed
        | SessionStatus::Aborted => Vec::new(),
    };
    let maker = Maker::of(&session);
    let case = Case { session: &session, pending: &pending, maker: &maker, now, patient };
    let why = match unread {
        None => stuck::examine(&case),
        Some(why) => stuck::examine_encoded(&case, why),
    };
    Ok(Examined { stuck: found(why), unread })
}

/// Returns the commands that help, in the form that users type here.
fn commands(front: &Front, stuck: &StuckSession) -> Vec<Vec<String>> {
    let said = |word: &&'static str| match *word {
        stuck::SESSION => stuck.key.id.as_str(),
        stuck::QUEUE => stuck.queue.as_str(),
        word => word,
    };
    let words = |help: &stuck::Help| -> Vec<String> {
        let mut line = command(front, &help.words.iter().map(said).collect::<Vec<&str>>());
        let end = line.iter().position(|word| word == "--").unwrap_or(line.len());
        line.splice(end..end, help.options.iter().map(said).map(str::to_owned));
        line
    };
    stuck.why.help.iter().map(words).collect()
}

fn as_json(front: &Front, found: &Found) -> Value {
    let Found { capabilities, unwritable, counts, letters, unread, stuck, engine } = found;
    let settings: BTreeMap<&str, &str> =
        capabilities.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let sessions: BTreeMap<&str, u64> =
        counts.iter().map(|(status, count)| (status.as_str(), *count)).collect();
    let stuck: Vec<Value> = stuck
        .iter()
        .map(|found| {
            json!({
                "session": found.key.id,
                "reason": found.why.reason,
                "detail": found.why.detail,
                "help": commands(front, found),
            })
        })
        .collect();
    let mut object = json!({
        "store": front.common.store,
        "tenant": front.common.tenant,
        "backend": capabilities.backend,
        "settings": settings,
        "commit_survives": capabilities.commit_survives,
        "weakened": weakened(capabilities),
        "shared_by": capabilities.shared_by,
        "effects": effects(capabilities),
        "sessions": sessions,
        "dead_letters": letters,
        "unread": unread.iter().map(|(why, sessions)| unread_as_json(*why, *sessions)).collect::<Vec<_>>(),
        "writable": unwritable.is_none(),
        "healthy": found.is_healthy(),
        "stuck": stuck,
    });
    if let Some(engine) = engine {
        object["engine"] = engine::as_json(engine);
    }
    object
}

fn unread_as_json(why: Encoding, sessions: u64) -> Value {
    let key = match why {
        Encoding::Encrypted { key } => Some(key),
        Encoding::Compressed => None,
    };
    json!({ "why": why.to_string(), "key": key, "sessions": sessions })
}

fn print(front: &Front, found: &Found) {
    let Found { capabilities, unwritable, counts, letters, unread, stuck, engine } = found;
    let out = &front.out;
    let row = |name: &str, value: &str| out.line(format!("{name:<9} {}", inline(value)));
    row("store", &front.common.store.to_string());
    row("backend", &capabilities.backend);
    for (at, promise) in in_words(capabilities).iter().enumerate() {
        row(if at == 0 { "promises" } else { "" }, promise);
    }
    for (at, why) in weakened(capabilities).iter().enumerate() {
        row(if at == 0 { "weakened" } else { "" }, why);
    }
    let settings: Vec<String> =
        capabilities.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    row("settings", &settings.join(", "));
    if let Some(why) = unwritable {
        row("writable", &format!("no, not by this user: {why}"));
    }
    let all: u64 = counts.values().sum();
    let each: Vec<String> =
        counts.iter().map(|(status, count)| format!("{count} {}", phrases::status(*status))).collect();
    let each = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
    row("sessions", &format!("{all} of tenant {}{each}", front.common.tenant));
    if *letters > 0 {
        let list = shell(&command(front, &["dead", "list"]));
        row("letters", &format!("{}: {list}", counted(*letters, "dead letter")));
    }
    for (at, (why, sessions)) in unread.iter().enumerate() {
        let line = format!("{}: {why} ({KEYS} names a file of keys)", counted(*sessions, "session"));
        row(if at == 0 { "unread" } else { "" }, &line);
    }
    if let Some(engine) = engine {
        engine::print(out, engine);
    }
    if stuck.is_empty() {
        row("stuck", "nothing");
        return;
    }
    row("stuck", &stuck.len().to_string());
    for found in stuck {
        let (id, detail) = (&found.key.id, &found.why.detail);
        out.line("");
        out.line(format!("  {}", out.bold(&inline(&format!("session {id}: {detail}")))));
        for command in commands(front, found) {
            out.line(format!("    {}", shell(&command)));
        }
    }
}
