//! `events`: what happened to a session, and what happens.

use futures::StreamExt;
use holdover_core::store::EventCursor;
use holdover_runtime_local::Follow;

use crate::args::{Common, Events};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::{human, instant, json};
use crate::store::IfMissing;

/// Prints the events of a session.
pub(crate) async fn events(common: &Common, args: &Events) -> Result<Exit, Failure> {
    let front = Front::open(common, None, IfMissing::Refuse).await?;
    let key = front.key(&args.session);
    let follow = if args.follow { Follow::Forever } else { Follow::Available };
    let mut events = front.runtime.events(&key, args.after.unwrap_or(EventCursor::START), follow);
    loop {
        let entry = tokio::select! {
            entry = events.next() => entry,
            _ = tokio::signal::ctrl_c(), if args.follow => None,
        };
        let Some(entry) = entry.transpose()? else { break };
        if common.json {
            let message = front.message_of_event(&key, &entry.event).await?;
            front.out.object(&json::event(&entry, message.as_ref()));
        } else {
            let line = human::event(&entry.event);
            front.out.line(format!("{:>4}  {}  {line}", entry.seq.0, instant(entry.at)));
            front.out.line(front.out.dim(&format!("      {}", entry.cursor)));
        }
    }
    drop(events);
    front.close().await;
    Ok(Exit::Completed)
}
