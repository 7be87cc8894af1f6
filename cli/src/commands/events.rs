//! `events`: shows the past events of a session, and follows new ones.

use futures::{StreamExt, TryStreamExt};
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, Shown};

use crate::args::{Common, Events};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::{human, instant, json};
use crate::signals::{Signals, Told};
use crate::store::IfMissing;

/// Prints the events of a session.
pub(crate) async fn events(common: &Common, args: &Events) -> Result<Exit, Failure> {
    let front = Front::open(common, None, IfMissing::AsItIs).await?;
    let key = front.key(&args.session);
    let follow = if args.follow { Follow::Forever } else { Follow::Available };
    let after = args.after.unwrap_or(EventCursor::START);
    let mut shown = if args.deltas {
        front.runtime.follow(&key, after, follow)
    } else {
        front.runtime.events(&key, after, follow).map_ok(Shown::Event).boxed()
    };
    let mut signals = if args.follow { Some(Signals::listen()?) } else { None };
    // Nobody would see what comes, and a quiet session would never let us notice.
    while !front.out.closed() {
        let next = tokio::select! {
            next = shown.next() => next,
            () = front.out.reader_left(), if args.follow => None,
            told = told(&mut signals) => match told {
                Told::Interrupt => None,
                Told::Terminate => return Ok(told.exit()),
            },
        };
        let Some(next) = next.transpose()? else { break };
        let line = match &next {
            Shown::Event(entry) if common.json => {
                let message = front.message_of_event(&key, &entry.event).await?;
                front.out.object(&json::event(entry, message.as_ref()));
                continue;
            }
            Shown::Event(entry) => {
                format!("{:>4}  {}  {}", entry.seq.0, instant(entry.at), human::event(&entry.event))
            }
            Shown::Delta(entry) => {
                front.out.object(&json::delta(entry));
                front.out.dim(&format!("      stream {}  {}", entry.stream, human::delta(&entry.delta)))
            }
            Shown::Dropped { stream, cursor } => {
                front.out.object(&serde_json::json!({ "cursor": cursor, "dropped": stream }));
                front.out.dim(&format!("      stream {stream}  is void: the attempt that wrote it died"))
            }
            // Everything of this version is named above; the lint finds what is not.
            _ => continue,
        };
        front.out.line(line);
        front.out.line(front.out.dim(&format!("      {}", next.cursor())));
    }
    drop(shown);
    front.close().await;
    Ok(Exit::Completed)
}

async fn told(signals: &mut Option<Signals>) -> Told {
    match signals {
        Some(signals) => signals.next().await,
        None => std::future::pending().await,
    }
}
