//! Waits for a session, and asks the person at the client for decisions.

use std::time::Duration;

use holdover_core::ids::{SessionId, SessionKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::asking::{self, Answered};
use super::super::host::Host;
use super::super::offer::{Answer, Call, Effect, Offer, given, taken, told};
use super::super::waiting::{Ended, until_over};
use super::decisions::decided_by_form;
use crate::access::May;
use crate::problem::Problem;
use crate::wire::Details;

const SECONDS: u64 = 50;
const SECONDS_MAX: u64 = 300;

pub(super) const WAIT: Offer = Offer {
    name: "wait",
    title: "Wait for a session",
    description: "Waits until the turn of a session is over or needs an answer, and returns its state: `ended` says why the wait \
                  ended, `result` has the agent's answer, `pending` the calls that need an answer. If the client can show forms, \
                  its user is asked for each approval meanwhile. Call it again if the time is over.",
    needs: &[May::Read],
    effect: Effect::Repeatable,
    takes: taken::<Wait>,
    gives: told::<State>,
    run: |host, call| Box::pin(wait(host, call)),
};

/// A number of seconds to wait.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Seconds(#[schemars(range(min = 0, max = 300))] u64);

impl Seconds {
    pub(super) fn time(self) -> Result<Duration, Problem> {
        match self.0 {
            seconds @ 0..=SECONDS_MAX => Ok(Duration::from_secs(seconds)),
            seconds => Err(Problem::invalid(format!("{seconds} seconds: {SECONDS_MAX} is the most"))),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// The id of the session.
    session: SessionId,
    /// The most seconds to wait: 50 by default, 300 at most.
    seconds: Option<Seconds>,
}

/// The state of a session, and the reason why the wait for it ended.
#[derive(Serialize, JsonSchema)]
pub(super) struct State {
    ended: Ended,
    #[serde(flatten)]
    details: Details,
}

async fn wait(host: &Host, call: Call) -> Answer {
    let asked: Wait = call.arguments()?;
    let time = asked.seconds.unwrap_or(Seconds(SECONDS)).time()?;
    let key = host.caller.key(asked.session);
    wait_and_ask(host, &call, &key, time, |state| state).await
}

/// Waits for a session. Each time it needs an approval, asks the person at the client, if the client and the caller can do that.
/// The time does not run while the person is asked.
pub(super) async fn wait_and_ask<T: Serialize>(
    host: &Host,
    call: &Call,
    key: &SessionKey,
    time: Duration,
    answer: impl FnOnce(State) -> T,
) -> Answer {
    let mut asked = 0;
    if let Some((before, verdict)) = asking::repeated(call)? {
        if before.session != key.id {
            return Err(Problem::invalid("requestState: it is of another session"));
        }
        let Some(verdict) = verdict else { return given(answer(state(host, key, Ended::Waits).await?)) };
        asked = before.count;
        decided_by_form(host, &before, verdict).await?;
    }
    let mut left = time;
    loop {
        let began = tokio::time::Instant::now();
        let (ended, approval) = until_over(host, &call.context, key, left).await?;
        left = left.saturating_sub(began.elapsed());
        let Some(approval) = approval else { return given(answer(state(host, key, ended).await?)) };
        match asking::ask(&call.context, &key.id, approval, asked).await? {
            Answered::Later(question) => return Ok(question),
            Answered::Left => return given(answer(state(host, key, ended).await?)),
            Answered::Decided(before, verdict) => {
                asked = before.count;
                decided_by_form(host, &before, verdict).await?;
            }
        }
    }
}

async fn state(host: &Host, key: &SessionKey, ended: Ended) -> Result<State, Problem> {
    Ok(State { ended, details: Details::read(&host.desk.runtime, key).await? })
}
