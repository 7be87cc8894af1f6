//! Decisions on approvals, and answers of clients.

use holdover_core::ids::{PendingId, SessionId, SessionKey};
use holdover_core::message::ClientAnswer;
use holdover_core::payload::Digest;
use holdover_runtime_local::{Approval, Delivered, Denial};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::{Asked, Verdict, Word};
use super::super::host::Host;
use super::super::offer::{Answer, Call, Effect, Offer, given, taken, told};
use crate::access::May;
use crate::problem::Problem;
use crate::wire::Delivery;

pub(super) const DECIDE: Offer = Offer {
    name: "decide",
    title: "Approve or deny a call",
    description: "Approves or denies a call that waits for an approval. An approval releases the action of a tool: ask your user \
                  first. `digest` must be that of the arguments that the user saw (list_pending, wait). Then call wait.",
    needs: &[May::Decide],
    effect: Effect::Final,
    takes: taken::<Decide>,
    gives: told::<Delivery>,
    run: |host, call| Box::pin(decide(host, call)),
};

/// A decision.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Decision {
    /// The call runs.
    Approve,
    /// The call does not run.
    Deny,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Decide {
    /// The id of the session, or of a session above it in its tree.
    session: SessionId,
    /// The id of the pending call.
    pending: PendingId,
    /// The digest of the arguments that the user saw.
    digest: Digest,
    /// The decision.
    decision: Decision,
    /// Arguments, as JSON text, with which an approved call runs instead.
    arguments: Option<String>,
    /// The reason. The model reads the reason of a denial.
    reason: Option<String>,
}

async fn decide(host: &Host, call: Call) -> Answer {
    let Decide { session, pending, digest, decision, arguments, reason } = call.arguments()?;
    let key = host.caller.key(session);
    let approves = match decision {
        Decision::Approve => true,
        Decision::Deny if arguments.is_some() => {
            return Err(Problem::invalid("arguments: a call that is denied does not run"));
        }
        Decision::Deny => false,
    };
    given(Delivery::from(deliver(host, &key, &pending, digest, approves, arguments, reason).await?))
}

/// Delivers the decision of the person at the client.
pub(super) async fn decided_by_form(host: &Host, asked: &Asked, said: Verdict) -> Result<(), Problem> {
    host.caller.needs(May::Decide)?;
    let key = host.caller.key(asked.session.clone());
    let approves = said.decision == Word::Approve;
    deliver(host, &key, &asked.pending, asked.digest, approves, None, said.reason).await.map(drop)
}

async fn deliver(
    host: &Host,
    key: &SessionKey,
    pending: &PendingId,
    digest: Digest,
    approves: bool,
    arguments: Option<String>,
    reason: Option<String>,
) -> Result<Delivered, Problem> {
    host.desk.refuse_unseen(key, pending, digest).await?;
    let (runtime, by) = (&host.desk.runtime, host.caller.name().map(str::to_owned));
    Ok(if approves {
        let approval = Approval::from(by).reason(reason).arguments(arguments);
        runtime.approve(key, pending, approval).await?
    } else {
        runtime.deny(key, pending, Denial::from(by).reason(reason)).await?
    })
}

pub(super) const ANSWER: Offer = Offer {
    name: "answer",
    title: "Answer a call that a client runs",
    description: "Gives the result of a call of the kind `client_tool`, such as the answer to a question of the agent. Then call \
                  wait.",
    needs: &[May::Send],
    effect: Effect::Repeatable,
    takes: taken::<Answered>,
    gives: told::<Delivery>,
    run: |host, call| Box::pin(answer(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answered {
    /// The id of the session, or of a session above it in its tree.
    session: SessionId,
    /// The id of the pending call.
    pending: PendingId,
    /// The digest of the arguments with which the call was run.
    digest: Digest,
    /// The text that the agent reads.
    content: String,
    /// True if the call could not be run. The text then says why.
    #[serde(default)]
    is_error: bool,
}

async fn answer(host: &Host, call: Call) -> Answer {
    let said: Answered = call.arguments()?;
    let key = host.caller.key(said.session);
    host.desk.refuse_unseen(&key, &said.pending, said.digest).await?;
    let answer =
        if said.is_error { ClientAnswer::failed(said.content) } else { ClientAnswer::done(said.content) };
    given(Delivery::from(host.desk.runtime.answer(&key, &said.pending, answer).await?))
}
