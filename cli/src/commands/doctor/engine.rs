//! Compares the sessions of the store with what the engine shows of them.

use holdover_core::ids::SessionKey;
use holdover_core::store::SessionStatus;
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Engine, EngineError, Seen};
use serde_json::{Value, json};

use crate::commands::run::new_id;
use crate::exit::Failure;
use crate::front::Front;
use crate::print::{Out, counted, inline};

/// The maximum number of sessions that are compared: the engine answers one request for each.
const COMPARED_MAX: usize = 1000;

/// The findings about the engine.
pub(super) struct Compared {
    engine: String,
    /// The reason why the engine did not answer, if it did not.
    silent: Option<EngineError>,
    compared: usize,
    /// The number of sessions that were not compared.
    left: usize,
    differences: Vec<(SessionKey, String)>,
}

impl Compared {
    pub(super) fn is_healthy(&self) -> bool {
        self.silent.is_none()
    }
}

/// Compares the sessions that are not at rest, that have an alarm, or that failed or were interrupted. Returns `None` if no
/// engine was named.
pub(super) async fn compare(
    front: &Front,
    sessions: &[(SessionKey, SessionStatus, Option<Timestamp>)],
) -> Result<Option<Compared>, Failure> {
    let Some(scheduler) = &front.engine else { return Ok(None) };
    let engine = scheduler.engine();
    let open: Vec<&SessionKey> = sessions
        .iter()
        .filter(|(_, status, alarm)| {
            alarm.is_some() || !matches!(status, SessionStatus::Idle | SessionStatus::Aborted)
        })
        .map(|(key, _, _)| key)
        .collect();
    let mut found = Compared {
        engine: engine.name(),
        silent: None,
        compared: 0,
        left: open.len().saturating_sub(COMPARED_MAX),
        differences: Vec::new(),
    };
    for key in open.iter().copied().take(COMPARED_MAX) {
        match lasting_difference(front, &*engine, key).await? {
            Ok(difference) => {
                found.compared += 1;
                found.differences.extend(difference.map(|words| (key.clone(), words)));
            }
            Err(error) => {
                found.silent = Some(error);
                break;
            }
        }
    }
    if open.is_empty() {
        // Nothing is compared, but the engine is asked whether it answers.
        let nobody = SessionKey::new(front.common.tenant.clone(), new_id()?);
        found.silent = engine.look(&nobody).await.err();
    }
    Ok(Some(found))
}

/// Returns how the engine's picture of a session differs from the store. A difference must be there at two looks: the
/// store and the engine are not read at the same instant.
async fn lasting_difference(
    front: &Front,
    engine: &dyn Engine,
    key: &SessionKey,
) -> Result<Result<Option<String>, EngineError>, Failure> {
    let mut difference = None;
    for _ in 0..2 {
        let seen = match engine.look(key).await {
            Ok(seen) => seen,
            Err(error) => return Ok(Err(error)),
        };
        let session = front.store.encoded().load_session(key).await?;
        difference = Seen::difference(session.as_ref(), seen.as_ref());
        if difference.is_none() {
            break;
        }
    }
    Ok(Ok(difference))
}

pub(super) fn as_json(found: &Compared) -> Value {
    let differences: Vec<Value> =
        found.differences.iter().map(|(key, words)| json!({ "session": key.id, "detail": words })).collect();
    json!({
        "engine": found.engine,
        "error": found.silent.as_ref().map(ToString::to_string),
        "compared": found.compared,
        "left": found.left,
        "differences": differences,
    })
}

pub(super) fn print(out: &Out, found: &Compared) {
    let row = |name: &str, value: &str| out.line(format!("{name:<9} {}", inline(value)));
    row("engine", &found.engine);
    if let Some(error) = &found.silent {
        row("", &format!("it does not answer: {error}"));
    }
    let left = if found.left > 0 { format!("; {} were left out", found.left) } else { String::new() };
    let differs = match found.differences.len() {
        0 => "no difference from the store".to_owned(),
        1 => "1 difference from the store".to_owned(),
        some => format!("{some} differences from the store"),
    };
    row("", &format!("{} compared: {differs}{left}", counted(found.compared, "open session")));
    for (key, words) in &found.differences {
        out.line(inline(&format!("          session {}: {words}", key.id)));
    }
}
