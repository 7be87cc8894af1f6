//! A closer look at a session: its tree, its runs, its custom state; and signals to it.

use std::num::NonZeroU32;
use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::Json;
use axum::extract::State;
use holdover_core::engine::RunKind;
use holdover_core::ids::{CallId, Epoch, InboxSeq, SessionId, WorkerId};
use holdover_core::machine::Usage;
use holdover_core::parameters::redacted_value;
use holdover_core::signal::SignalName;
use holdover_core::store::{OutcomeKind, PageRequest, SessionStatus};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{ChildPlace, HeldSignal, Signal, Tree, TreeEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Answer, Here, Of, operation};
use crate::access::{By, ToRead, ToSend};
use crate::body::{Asked, Body, In, Once};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::wire::{Accepted, Delivery, OutcomeView, Page, SessionView};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route(
            "/sessions/{session}/tree",
            get_with(tree, operation!("getTree", "sessions", "Shows a session with its children.")),
        )
        .api_route(
            "/sessions/{session}/runs",
            get_with(runs, operation!("listRuns", "sessions", "Lists the runs of a session, oldest first.")),
        )
        .api_route(
            "/sessions/{session}/state",
            get_with(state, operation!("getState", "sessions", "Shows the custom state of a session.")),
        )
        .api_route(
            "/sessions/{session}/signals",
            post_with(signal, operation!("sendSignal", "messages", "Sends a named signal to a session."))
                .get_with(
                    signals,
                    operation!("listSignals", "messages", "Lists the signals that no call has taken yet."),
                ),
        )
}

/// The most sessions of a tree in one answer, unless a caller asks for more.
const TREE_SESSIONS: u32 = 200;
/// The most sessions of a tree in one answer.
const TREE_SESSIONS_MAX: u32 = 1_000;

/// The part of a tree that is shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Depth {
    /// Also shows children whose outcomes have come.
    #[serde(default)]
    ended: bool,
    /// The most sessions: 200 by default, 1,000 at most.
    limit: Option<NonZeroU32>,
}

/// A session with its children.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tree")]
struct TreeView {
    /// The sessions, each before its children.
    items: Vec<MemberView>,
    /// The usage of all of them together.
    usage: Usage,
    /// False if the tree has more sessions. List those with the label `parent`, page by page.
    is_whole: bool,
}

/// A session of a tree.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeMember")]
struct MemberView {
    #[serde(flatten)]
    session: SessionView,
    /// The number of sessions above it.
    depth: u32,
    /// The call that the session answers, or that began it. Absent for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceView>,
    /// True if that call still waits for the session, or the session runs in the background.
    waits: bool,
    /// The usage of the session, with that of the children whose outcomes it has.
    usage: Usage,
    /// The ending of the last turn, or the reason why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeView>,
}

/// The call that a child answers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChildPlace")]
pub(super) struct PlaceView {
    /// The session of the call.
    parent: SessionId,
    /// The call.
    call: CallId,
    /// The number of the child among the children of the call, from 0.
    index: u32,
}

impl From<ChildPlace> for PlaceView {
    fn from(of: ChildPlace) -> Self {
        Self { parent: of.parent, call: of.call, index: of.index }
    }
}

impl From<TreeEntry> for MemberView {
    fn from(of: TreeEntry) -> Self {
        Self {
            session: (&of.session).into(),
            depth: of.depth,
            place: of.place.map(Into::into),
            waits: of.waits,
            usage: of.usage,
            outcome: of.outcome.map(Into::into),
        }
    }
}

async fn tree(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    Asked(depth): Asked<Depth>,
) -> Answer<Json<TreeView>> {
    let limit = depth.limit.map_or(TREE_SESSIONS, NonZeroU32::get).min(TREE_SESSIONS_MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let key = caller.key(of.session);
    let Tree { entries, usage, is_whole, .. } = desk.runtime.tree_within(&key, depth.ended, limit).await?;
    Ok(Json(TreeView { items: entries.into_iter().map(Into::into).collect(), usage, is_whole }))
}

/// A run of a session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Run")]
struct RunView {
    /// The number of the run.
    run: Epoch,
    /// The purpose for which it was begun.
    kind: RunKind,
    /// The worker that held the session.
    worker: WorkerId,
    /// The status that the run found. `active` means that the run before it died.
    found: SessionStatus,
    /// The time of the beginning.
    started_at: Timestamp,
    /// The time of the end. Absent while the run is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// The outcome of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeKind>,
    /// The usage of the run, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// True if the usage is complete.
    usage_is_whole: bool,
}

async fn runs(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
    Asked(page): Asked<PageRequest>,
) -> Answer<Json<Page<RunView>>> {
    let key = caller.key(of.session);
    let page = desk.runtime.runs(&key, page).await?;
    let reports = desk.runtime.run_reports(&key, &page.items).await?;
    let items = page.items.into_iter().zip(reports).map(|(run, report)| RunView {
        run: run.epoch,
        kind: report.kind,
        worker: run.worker,
        found: run.found,
        started_at: run.started_at,
        ended_at: run.end.as_ref().map(|end| end.at),
        outcome: run.end.as_ref().map(|end| end.outcome),
        usage: report.usage,
        usage_is_whole: report.is_whole,
    });
    Ok(Json(Page { items: items.collect(), next: page.next }))
}

/// The custom state of a session.
#[derive(Serialize, JsonSchema)]
struct CustomState {
    /// The values, by their keys. Those whose names look like secrets are replaced.
    state: Map<String, Value>,
}

async fn state(State(desk): Here, By(caller, _): By<ToRead>, In(of): In<Of>) -> Answer<Json<CustomState>> {
    let state = desk.runtime.custom_state(&caller.key(of.session)).await?;
    let shown = state.iter().map(|(key, value)| (key.to_owned(), redacted_value(key, value.clone())));
    Ok(Json(CustomState { state: shown.collect() }))
}

/// A signal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Signal")]
struct Named {
    /// The name of the signal.
    name: String,
    /// The content of the signal.
    #[serde(default)]
    body: Value,
}

async fn signal(
    State(desk): Here,
    By(caller, _): By<ToSend>,
    In(of): In<Of>,
    Once(key): Once,
    Body(named): Body<Named>,
) -> Answer<Accepted<Delivery>> {
    let signal = Signal::new(&named.name).map_err(|why| Problem::invalid(format!("name: {why}")))?;
    let signal = signal.with(&named.body).map_err(|why| Problem::invalid(format!("body: {why}")))?;
    let delivered = desk.runtime.signal(&caller.key(of.session), signal.once(key)).await?;
    Ok(Accepted(delivered.into()))
}

/// A signal that no call has taken yet.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HeldSignal")]
struct HeldView {
    /// The number of the signal in the inbox of the session.
    item: InboxSeq,
    /// The name of the signal.
    name: SignalName,
    /// The content of the signal. Values whose names look like those of secrets are replaced.
    body: Value,
    /// The time of the delivery.
    at: Timestamp,
}

impl From<HeldSignal> for HeldView {
    fn from(of: HeldSignal) -> Self {
        // A signal is accepted only if its body is JSON.
        let body = serde_json::from_str(&of.body).unwrap_or_default();
        let body = redacted_value(of.name.as_str(), body);
        Self { item: of.item, name: of.name, body, at: of.at }
    }
}

async fn signals(
    State(desk): Here,
    By(caller, _): By<ToRead>,
    In(of): In<Of>,
) -> Answer<Json<Page<HeldView>>> {
    let held = desk.runtime.held_signals(&caller.key(of.session)).await?;
    Ok(Json(Page { items: held.into_iter().map(Into::into).collect(), next: None }))
}
