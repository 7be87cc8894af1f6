//! Lists: agents, sessions, pending calls.

use std::num::NonZeroU32;

use holdover_core::ids::SessionId;
use holdover_core::store::{Labels, PageCursor, PageRequest, PendingQuery, SessionQuery, SessionStatus};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::host::Host;
use super::super::offer::{Answer, Call, Effect, Offer, given, taken, told};
use crate::access::May;
use crate::problem::Problem;
use crate::wire::{AgentView, Page, PendingList, SessionView};

pub(super) const LIST_AGENTS: Offer = Offer {
    name: "list_agents",
    title: "List agents",
    description: "Lists the agents with which sessions can be started, with their tools.",
    needs: &[May::Read],
    effect: Effect::Reads,
    takes: taken::<Nothing>,
    gives: told::<Page<AgentView>>,
    run: |host, call| Box::pin(async move { list_agents(host, &call) }),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn list_agents(host: &Host, call: &Call) -> Answer {
    let Nothing {} = call.arguments()?;
    let agents = host.desk.offered().map(|agent| AgentView::from(&**agent));
    given(Page { items: agents.collect(), next: None })
}

pub(super) const LIST_SESSIONS: Offer = Offer {
    name: "list_sessions",
    title: "List sessions",
    description: "Lists sessions, newest first.",
    needs: &[May::Read],
    effect: Effect::Reads,
    takes: taken::<Sessions>,
    gives: told::<Page<SessionView>>,
    run: |host, call| Box::pin(list_sessions(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sessions {
    /// Only sessions with one of these statuses.
    #[serde(default)]
    status: Vec<SessionStatus>,
    /// Only sessions with these labels. The name of the agent is the label `agent`.
    #[serde(default)]
    labels: Labels,
    /// The most sessions on the page: 50 by default, 200 at most.
    limit: Option<NonZeroU32>,
    /// The cursor of the page: `next` of the page before.
    after: Option<PageCursor>,
}

async fn list_sessions(host: &Host, call: Call) -> Answer {
    let asked: Sessions = call.arguments()?;
    let query = SessionQuery {
        status: asked.status,
        labels: asked.labels,
        page: PageRequest { after: asked.after, limit: asked.limit },
        ..SessionQuery::all(host.caller.tenant().clone())
    };
    let page = host.desk.runtime.list(&query).await?;
    given(Page { items: page.items.into_iter().map(SessionView::from).collect(), next: page.next })
}

pub(super) const LIST_PENDING: Offer = Offer {
    name: "list_pending",
    title: "List pending calls",
    description: "Lists the calls that wait for an answer, of one session and its children, or of all sessions. Each has the \
                  digest that decide and answer need.",
    needs: &[May::Read],
    effect: Effect::Reads,
    takes: taken::<Pending>,
    gives: told::<PendingList>,
    run: |host, call| Box::pin(list_pending(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pending {
    /// Only the calls of this session and its children. They are not paged.
    session: Option<SessionId>,
    /// The most calls on the page: 50 by default, 200 at most.
    limit: Option<NonZeroU32>,
    /// The cursor of the page: `next` of the page before.
    after: Option<PageCursor>,
}

async fn list_pending(host: &Host, call: Call) -> Answer {
    let asked: Pending = call.arguments()?;
    let runtime = &host.desk.runtime;
    let Some(session) = asked.session else {
        let page = PageRequest { after: asked.after, limit: asked.limit };
        let query = PendingQuery { page, ..PendingQuery::all(host.caller.tenant().clone()) };
        return given(PendingList::from(runtime.list_pending(&query).await?));
    };
    if asked.limit.is_some() || asked.after.is_some() {
        return Err(Problem::invalid("session: its calls are one page; give no limit and no cursor"));
    }
    let standing = runtime.standing(&host.caller.key(session)).await?;
    given(PendingList::of(standing.pending, standing.unreadable))
}
