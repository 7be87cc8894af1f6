//! `sessions children` and `sessions begin`: children in the background.

use holdover_runtime_local::BeginChild;
use serde_json::json;

use crate::args::{Begin, One};
use crate::commands::run::{left_to_workers, wait_for_worker};
use crate::exit::{Exit, Failure};
use crate::follow::{Following, Known, follow};
use crate::front::Front;
use crate::input::text_of;
use crate::print::{counted, inline};

/// Lists the background children of a session.
pub(super) async fn list(front: &Front, args: &One) -> Result<(), Failure> {
    let parent = front.session(&args.session).await?;
    let children = front.runtime.children(&parent.key).await?;
    if children.is_empty() {
        front.out.line(format!("session {}: no children in the background", args.session));
    }
    for child in &children {
        let tokens = counted(child.usage.tokens.total(), "token");
        let (agent, standing) = (inline(child.agent.as_str()), child.standing.as_str());
        let quiet = if child.quiet { ", quiet" } else { "" };
        let detached = if child.detached { ", detached" } else { "" };
        front.out.line(format!("{}  {agent}  {standing}{quiet}{detached}; {tokens}", child.session));
        front.out.object(&json!(child));
    }
    Ok(())
}

/// Begins a child in the background. Unless it is left to a worker, runs the child to its end here, and then the turn
/// of the parent that this end starts.
pub(super) async fn begin(mut front: Front, args: &Begin) -> Result<Exit, Failure> {
    let parent = front.session(&args.session).await?;
    front.can_run_with(&args.drive, &parent)?;
    let known = Known::of(&front, parent.clone()).await?;
    let mut begin = BeginChild::new(args.agent.clone(), text_of(&args.task)?);
    if args.quiet_end {
        begin = begin.quiet();
    }
    if args.detached {
        begin = begin.detached();
    }
    if let Some(key) = &args.key {
        begin = begin.key(key.clone());
    }
    let child = front.runtime.begin_child(&parent.key, begin).await?;
    front.out.passing(front.out.dim(&format!("session {}: a child of {}", child.id, args.session)));
    front.out.object(&json!({ "session": child.id, "begun_by": args.session }));
    let runtime = front.runtime.clone();
    let exit = match args.leave.wait {
        _ if args.leave.detach => {
            left_to_workers(&front, &parent.key, "accepted").await?;
            Ok(Exit::Completed)
        }
        Some(at_most) => wait_for_worker(&front, &child, "accepted", at_most).await,
        None => {
            front.can_run(&parent, "the child is asked for")?;
            // This waits for the run that starts the child, for the child, and for the turn that the child's end
            // starts.
            let ends = async {
                runtime.wait(&parent.key).await?;
                runtime.wait(&child).await?;
                runtime.wait(&parent.key).await
            };
            follow(&mut front, Following::since(&known), ends).await
        }
    };
    front.close().await;
    exit
}
