//! `mcp`: serves sessions over MCP on standard input and output, and runs sessions.

use std::sync::Arc;

use holdover_front::{Access, Caller, FrontOptions, McpEnded, serve_mcp};
use holdover_runtime_local::Agent;
use tokio::io::{stdin, stdout};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::serve::agents_of;
use super::work::{Around, works};
use crate::args::{Common, Mcp};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::note;
use crate::signals::Signals;
use crate::store::IfMissing;

/// Serves sessions over MCP until the client closes standard input.
pub(crate) async fn mcp(common: &Common, args: &Mcp) -> Result<Exit, Failure> {
    // Standard output belongs to the protocol.
    let common = Common { quiet: true, ..common.clone() };
    let agents = agents_of(&args.agents, &args.work.drive).await?;
    let mut caller = Caller::of(common.tenant.clone()).only(args.may.iter().copied());
    if let Some(name) = &args.by {
        caller = caller.named(name);
    }
    let over = CancellationToken::new();
    if args.no_work {
        return alone(&common, caller, agents).await;
    }
    let around = Around { over: over.clone(), ..Around::default() };
    let speaks = async |front: &Front, _leaves| {
        let serving = speak(front, caller, agents, &over);
        let over = over.clone();
        Ok(async move {
            over.cancel();
            told(serving.await);
        })
    };
    works(&common, &args.work, around, speaks).await
}

/// Serves without a worker.
async fn alone(common: &Common, caller: Caller, agents: Vec<Arc<Agent>>) -> Result<Exit, Failure> {
    let front = Front::open(common, None, IfMissing::Create).await?;
    let (over, mut signals) = (CancellationToken::new(), Signals::listen()?);
    let serving = speak(&front, caller, agents, &over);
    tokio::select! {
        () = over.cancelled() => {}
        _ = signals.next() => over.cancel(),
    }
    told(serving.await);
    front.close().await;
    Ok(Exit::Completed)
}

/// Speaks with the client until it is over, and then cancels the token. If the token is cancelled, ends the conversation.
fn speak(
    front: &Front,
    caller: Caller,
    agents: Vec<Arc<Agent>>,
    over: &CancellationToken,
) -> JoinHandle<Result<(), McpEnded>> {
    let (stop, over) = (over.child_token(), over.clone());
    let options = FrontOptions::new(Access::Anyone(caller.clone())).stop(stop);
    // The agents of files have one queue, so they are no `Agents`.
    let options = agents.into_iter().fold(options, FrontOptions::agent);
    let serving = serve_mcp(front.runtime.clone(), options, caller, stdin(), stdout());
    note("MCP is spoken on standard input and output");
    tokio::spawn(async move {
        let ended = serving.await;
        over.cancel();
        ended
    })
}

/// Tells the user how the conversation ended, if it did not end by itself.
fn told(ended: Result<Result<(), McpEnded>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => note(&format!("error: {error}")),
        Err(error) => note(&format!("error: MCP: {error}")),
    }
}
