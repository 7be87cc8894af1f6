//! `sessions queue`, `turn`, `withdraw` and `replace`: the messages that no turn has taken yet, and the turn that took one.

use serde_json::json;

use crate::args::{One, Replace, TurnOf, Withdraw};
use crate::exit::Failure;
use crate::front::Front;
use crate::mentions;
use crate::print::{in_time, inline, instant};

/// Lists the queued messages, in the order of their arrival.
pub(super) async fn list(front: &Front, args: &One) -> Result<(), Failure> {
    front.session(&args.session).await?;
    let queued = front.runtime.queued(&front.key(&args.session)).await?;
    if queued.is_empty() {
        front.out.line(front.out.dim("nothing waits"));
    }
    for message in queued {
        let policy = message.policy.map_or_else(String::new, |policy| format!(" ({})", policy.as_str()));
        let due = message.not_before.map_or_else(String::new, |at| {
            format!(" for {} ({})", instant(at), in_time(front.runtime.now(), at))
        });
        let (item, at, text) = (message.item, instant(message.at), inline(&message.text));
        front.out.line(format!("{item} {at}{policy}{due} {text}"));
        front.out.object(&json!(message));
    }
    Ok(())
}

/// Prints the turn that took a message.
pub(super) async fn turn(front: &Front, args: &TurnOf) -> Result<(), Failure> {
    front.session(&args.session).await?;
    let taken = front.runtime.taken(&front.key(&args.session), args.item).await?;
    let (session, item) = (&args.session, args.item);
    front.out.line(match taken {
        Some(taken) => {
            format!(
                "session {session}: turn {} took message {item}, as message {} of the transcript",
                taken.turn, taken.message
            )
        }
        None => format!(
            "session {session}: no turn has taken message {item}: it waits, was withdrawn, or was never there"
        ),
    });
    let (turn, message) = (taken.map(|taken| taken.turn), taken.map(|taken| taken.message));
    front.out.object(&json!({ "session": session, "item": item, "turn": turn, "message": message }));
    Ok(())
}

/// Withdraws a queued message.
pub(super) async fn withdraw(front: &Front, args: &Withdraw) -> Result<(), Failure> {
    front.session(&args.session).await?;
    front.runtime.withdraw(&front.key(&args.session), args.item).await?;
    front.out.line(format!("session {}: message {} is withdrawn", args.session, args.item));
    front.out.object(&json!({ "session": args.session, "item": args.item, "withdrawn": true }));
    Ok(())
}

/// Replaces the text of a queued message.
pub(super) async fn replace(front: &Front, args: &Replace) -> Result<(), Failure> {
    let session = front.session(&args.session).await?;
    let mentions = mentions::of(&session.definition, &args.text, &[]).await?;
    front.runtime.replace_mentioning(&session.key, args.item, &*args.text, mentions).await?;
    front.out.line(format!("session {}: message {} is replaced", args.session, args.item));
    front.out.object(&json!({ "session": args.session, "item": args.item, "replaced": true }));
    Ok(())
}
