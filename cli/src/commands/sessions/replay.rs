//! `sessions replay`: checks that the history of a session gives its state.

use serde_json::json;

use crate::args::One;
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::{counted, one_line};

/// Rebuilds a session from its history rows alone, and reports differences from the stored state.
pub(super) async fn replay(front: &Front, args: &One) -> Result<Exit, Failure> {
    let key = front.key(&args.session);
    let replay = front.runtime.replay(&key).await?;
    let (id, rows) = (&args.session, replay.rows);
    let broken = replay.rebuilt.as_ref().err().map(ToString::to_string);
    front.out.object(&json!({
        "session": id,
        "rows": rows,
        "agrees": replay.agrees(),
        "ends_in": replay.ends_in().map(|state| state.as_str()),
        "broken": broken,
        "differences": replay.differences,
    }));
    if let Some(why) = &broken {
        front.out.line(format!("session {id}: {}", one_line(why)));
    }
    for difference in &replay.differences {
        front.out.line(format!("session {id}: {}", one_line(&difference.to_string())));
    }
    if !replay.agrees() {
        return Ok(Exit::Failed);
    }
    let state = replay.ends_in().map_or("idle", |state| state.as_str());
    let (rows, verb) = (counted(rows, "row"), if rows == 1 { "leads" } else { "lead" });
    front.out.line(format!("session {id}: {rows} {verb} to {state}, and so says its state"));
    Ok(Exit::Completed)
}
