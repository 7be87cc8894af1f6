//! `sessions`: the commands that show and manage sessions.

mod branch;
mod check;
mod children;
mod handoff;
mod history;
mod list;
mod pending;
mod queue;
mod replay;
mod runs;
mod show;
mod steps;
mod tree;
mod unreadable;

use holdover_core::message::Message;
use holdover_core::store::Deletion;
use holdover_runtime_local::RuntimeError;
use serde_json::json;

use crate::args::{Common, Delete, ModeOf, One, Sessions};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print;
use crate::print::human::{self, Detail};
use crate::store::IfMissing;

/// Runs one of the `sessions` commands.
pub(crate) async fn sessions(common: &Common, what: &Sessions) -> Result<Exit, Failure> {
    let if_missing = match what {
        Sessions::List(_)
        | Sessions::Show(_)
        | Sessions::Tree(_)
        | Sessions::Children(_)
        | Sessions::Messages(_)
        | Sessions::Runs(_)
        | Sessions::Pending(_)
        | Sessions::Queue(_)
        | Sessions::History(_)
        | Sessions::Replay(_)
        | Sessions::Turn(_)
        | Sessions::Check(_)
        | Sessions::Checkpoints(_) => IfMissing::AsItIs,
        Sessions::Mode(_)
        | Sessions::Fork(_)
        | Sessions::Handoff(_)
        | Sessions::Begin(_)
        | Sessions::Purge(_)
        | Sessions::Delete(_)
        | Sessions::Withdraw(_)
        | Sessions::Replace(_) => IfMissing::Refuse,
    };
    let drive = if let Sessions::Handoff(args) = what {
        Some(&args.drive)
    } else if let Sessions::Begin(args) = what {
        Some(&args.drive)
    } else {
        None
    };
    let front = Front::open(common, drive, if_missing).await?;
    let mut exit = Exit::Completed;
    match what {
        Sessions::List(args) => list::list(&front, args).await?,
        Sessions::Show(args) => show::show(&front, args).await?,
        Sessions::Tree(args) => tree::tree(&front, args).await?,
        Sessions::Children(args) => children::list(&front, args).await?,
        Sessions::Begin(args) => return children::begin(front, args).await,
        Sessions::Messages(args) => messages(&front, args).await?,
        Sessions::Runs(args) => runs::runs(&front, args).await?,
        Sessions::Pending(args) => pending::pending(&front, args).await?,
        Sessions::Queue(args) => queue::list(&front, args).await?,
        Sessions::Turn(args) => queue::turn(&front, args).await?,
        Sessions::Withdraw(args) => queue::withdraw(&front, args).await?,
        Sessions::Replace(args) => queue::replace(&front, args).await?,
        Sessions::History(args) => history::history(&front, args).await?,
        Sessions::Replay(args) => exit = replay::replay(&front, args).await?,
        Sessions::Check(args) => exit = check::check(&front, args).await?,
        Sessions::Checkpoints(args) => branch::checkpoints(&front, args).await?,
        Sessions::Mode(args) => mode(&front, args).await?,
        Sessions::Fork(args) => branch::fork(&front, args).await?,
        Sessions::Handoff(args) => return handoff::handoff(front, args).await,
        Sessions::Purge(args) => branch::purge(&front, args).await?,
        Sessions::Delete(args) => delete(&front, args).await?,
    }
    front.close().await;
    Ok(exit)
}

async fn messages(front: &Front, args: &One) -> Result<(), Failure> {
    let key = front.key(&args.session);
    for entry in front.runtime.messages(&key).await? {
        front.out.object(&print::json::message(&entry));
        if matches!(entry.message, Message::User(_)) {
            front.out.line(front.out.dim(&format!("message {}", entry.seq)));
        }
        human::message(&front.out, &entry.message, Detail::Whole, false);
    }
    Ok(())
}

async fn mode(front: &Front, args: &ModeOf) -> Result<(), Failure> {
    let (id, mode) = (&args.session, args.mode);
    // A session whose key is missing here is refused, so that no plain text is written into it.
    front.session(id).await?;
    front.runtime.set_mode(&front.key(id), mode).await?;
    front.out.line(format!("session {id}: mode {mode} from its next step on"));
    front.out.object(&json!({ "session": id, "mode": mode }));
    Ok(())
}

async fn delete(front: &Front, args: &Delete) -> Result<(), Failure> {
    let id = &args.session;
    let deletion = if args.force { Deletion::FORCE } else { Deletion::UNLESS_ACTIVE };
    match front.runtime.delete(&front.key(id), deletion).await {
        Ok(()) => {
            front.out.line(format!("session {id}: deleted"));
            front.out.object(&json!({ "session": id, "deleted": true }));
            Ok(())
        }
        Err(RuntimeError::Running { .. }) => {
            let line = format!("session {id}: a run holds it; interrupt it first, or delete it with --force");
            Err(Failure::failed(line))
        }
        Err(RuntimeError::NotFound { .. }) => Err(Failure::unknown(id)),
        Err(error) => Err(error.into()),
    }
}
