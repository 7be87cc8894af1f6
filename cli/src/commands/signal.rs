//! `signal`: sends a named signal to a session.

use holdover_runtime_local::{RuntimeError, SignalError, machine_of};
use serde_json::json;

use crate::args::{Common, Signal};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::input::text_or_file;
use crate::store::IfMissing;

/// Sends the signal, and says whether a call waits for it.
pub(crate) async fn signal(common: &Common, args: &Signal) -> Result<Exit, Failure> {
    let Signal { session: id, name, body, key } = args;
    let body = text_or_file(body)?;
    let front = Front::open(common, None, IfMissing::Refuse).await?;
    let session = front.session(id).await?;
    let refused = |error: serde_json::Error| {
        let (key, name, detail) = (session.key.clone(), name.clone(), error.to_string());
        RuntimeError::from(SignalError::NotJson { key, name, detail })
    };
    let named = holdover_runtime_local::Signal::new(name.as_str());
    let named = named.map_err(|error| Failure::wrong_use(error.to_string()))?;
    let named = named.with_json(body.trim_end()).map_err(refused)?.once(key.clone());
    let machine = machine_of(&session).ok().flatten();
    let waits = machine.is_some_and(|machine| machine.awaited_signals().any(|awaited| awaited == name));
    let delivered = match front.runtime.signal(&session.key, named).await {
        Ok(delivered) => delivered,
        Err(RuntimeError::KeyConflict { .. }) => {
            return Err(Failure::failed(format!("session {id}: the key was used before for something else")));
        }
        Err(error) => return Err(error.into()),
    };
    let word = if delivered.is_duplicate() { "duplicate" } else { "accepted" };
    let what = match (delivered.is_duplicate(), waits) {
        (true, _) => "it was sent before under this key",
        (false, true) => "a call waits for it, and goes on with a worker (holdover work)",
        (false, false) => "held until a call waits for it",
    };
    front.out.line(format!("session {id}: signal {name}: {word}; {what}"));
    let object = json!({
        "session": id, "signal": name, "delivered": word, "item": delivered.item, "awaited": waits,
    });
    front.out.object(&object);
    front.close().await;
    Ok(Exit::Completed)
}
