//! Builders for the values that cases pass to a store. Each value has a plain form, which cases vary by struct update.

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use holdover_store::ids::{Fence, InboxSeq, Incarnation, MessageSeq, SessionKey, StateFormat};
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    Commit, DeltaBatch, InboxItem, Interrupt, InterruptKind, ItemKind, Labels, MessageRange, NewFork,
    NewMessage, NewPending, NewSession, NewState, OutcomeKind, PendingKind, Release, Remove, RetentionRule,
    RunEnd, SessionStatus, StagedResult, Staging, Start, Wake,
};
use uuid::Uuid;

/// The tenant of most cases.
pub(crate) const TENANT: &str = "acme";

/// Parses an id.
pub(crate) fn id<T: FromStr<Err: Debug>>(text: &str) -> T {
    match text.parse() {
        Ok(id) => id,
        Err(error) => panic!("the suite's own id {text:?} is none: {error:?}"),
    }
}

/// Makes an id that was not used before in this process.
pub(crate) fn fresh_id<T: FromStr<Err: Debug>>(what: &str) -> T {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    id(&format!("{what}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Makes a random incarnation.
pub(crate) fn fresh_incarnation() -> Incarnation {
    Incarnation(Uuid::new_v4())
}

/// Makes a payload of the bytes of `text`.
pub(crate) fn bytes(text: &str) -> Payload {
    Payload::new(text.to_owned())
}

/// Returns the texts of payloads.
pub(crate) fn texts<'a>(payloads: impl IntoIterator<Item = &'a Payload>) -> Vec<String> {
    payloads.into_iter().map(|payload| String::from_utf8_lossy(payload.bytes()).into_owned()).collect()
}

/// Returns the key of the session `name` of the usual tenant.
pub(crate) fn key(name: &str) -> SessionKey {
    key_of(TENANT, name)
}

/// Returns the key of the session `name` of `tenant`.
pub(crate) fn key_of(tenant: &str, name: &str) -> SessionKey {
    SessionKey::new(id(tenant), id(name))
}

/// Makes a request for a session at rest.
pub(crate) fn new_session(name: &str) -> NewSession {
    NewSession {
        key: key(name),
        incarnation: fresh_incarnation(),
        operation: fresh_id("create"),
        queue: id("queue"),
        labels: Labels::default(),
        definition: bytes("definition"),
        format: StateFormat(1),
        items: Vec::new(),
        start: Start::WithItems,
    }
}

/// Makes a commit that changes nothing but the version.
pub(crate) fn commit() -> Commit {
    Commit::new(fresh_id("commit"))
}

/// Makes a commit with this state, kept as a checkpoint.
pub(crate) fn checkpoint(text: &str) -> Commit {
    Commit { state: state(text), checkpoint: true, ..commit() }
}

/// Makes a batch of deltas with these texts for the model call `stream`, from place `first`.
pub(crate) fn deltas<const N: usize>(stream: u32, first: u64, texts: [&str; N]) -> DeltaBatch {
    DeltaBatch { stream, first, deltas: events(texts) }
}

/// Makes a request for the fork `name` of the life `source`, left idle, with one message and one event of its own.
pub(crate) fn new_fork(source: Incarnation, name: &str) -> NewFork {
    NewFork {
        source,
        key: key(name),
        incarnation: fresh_incarnation(),
        operation: fresh_id("fork"),
        queue: id("fork-queue"),
        labels: Labels::default(),
        definition: bytes("fork definition"),
        status: SessionStatus::Idle,
        state: NewState { format: StateFormat(2), payload: bytes("fork state") },
        messages: vec![bytes("fork message")],
        events: vec![bytes("fork event")],
    }
}

/// An instant far in the future, so that every timestamp lies before it.
pub(crate) const FAR: Timestamp = Timestamp::from_ms(253_402_300_799_000);

/// Makes a rule about every resting session of the usual tenant, whatever its age.
pub(crate) fn retention(remove: Remove) -> RetentionRule {
    RetentionRule {
        tenant: Some(id(TENANT)),
        status: Vec::new(),
        unchanged_since: FAR,
        remove,
        limit: count(100),
        after: None,
    }
}

/// Makes a number that is not 0; 0 becomes 1.
pub(crate) fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// Makes a state in format 1.
pub(crate) fn state(text: &str) -> Option<NewState> {
    Some(NewState { format: StateFormat(1), payload: bytes(text) })
}

/// Makes messages of these texts.
pub(crate) fn inline<const N: usize>(texts: [&str; N]) -> Vec<NewMessage> {
    texts.iter().map(|text| NewMessage::Inline(bytes(text))).collect()
}

/// Makes messages that promote the results of these calls.
pub(crate) fn promote<const N: usize>(calls: [&str; N]) -> Vec<NewMessage> {
    calls.iter().map(|call| NewMessage::Promote(id(call))).collect()
}

/// Makes events of these texts.
pub(crate) fn events<const N: usize>(texts: [&str; N]) -> Vec<Payload> {
    texts.iter().map(|text| bytes(text)).collect()
}

/// Makes the range of messages `from ..= to`.
pub(crate) fn range(from: u64, to: u64) -> MessageRange {
    MessageRange::new(MessageSeq(from), MessageSeq(to))
}

/// Makes a list of inbox places.
pub(crate) fn seqs<const N: usize>(places: [u64; N]) -> Vec<InboxSeq> {
    places.into_iter().map(InboxSeq).collect()
}

/// Makes the result of one call.
pub(crate) fn result(call: &str, text: &str) -> StagedResult {
    StagedResult { call: id(call), payload: bytes(text) }
}

/// Makes a request to stage these results.
pub(crate) fn staging<const N: usize>(results: [(&str, &str); N]) -> Staging {
    let results = results.into_iter().map(|(call, text)| result(call, text)).collect();
    Staging { results, starts: Vec::new() }
}

/// Makes a release with `status` and no deadline. Only urgent items wake the session.
pub(crate) fn release_to(status: SessionStatus) -> Release {
    Release::To { status, deadline: None, wake_on: 0 }
}

/// Makes a release that suspends the session until `deadline` or until `wake_on` counted items have come.
pub(crate) fn suspended(deadline: Option<Timestamp>, wake_on: u32) -> Option<Release> {
    Some(Release::To { status: SessionStatus::Suspended, deadline, wake_on })
}

/// Makes the end of a run.
pub(crate) fn run_end(outcome: OutcomeKind) -> Option<RunEnd> {
    Some(RunEnd { outcome, detail: bytes("detail") })
}

/// Makes an urgent message with the key `name`.
pub(crate) fn message(name: &str) -> InboxItem {
    message_that(name, Wake::Now)
}

/// Makes a message with the key `name` that counts as `wake`.
pub(crate) fn message_that(name: &str, wake: Wake) -> InboxItem {
    InboxItem { key: id(name), kind: ItemKind::Message { wake }, incarnation: None, payload: bytes(name) }
}

/// Makes a signal with the key `name` that counts as `wake`.
pub(crate) fn signal_that(name: &str, wake: Wake) -> InboxItem {
    InboxItem { kind: ItemKind::Signal { wake }, ..message(name) }
}

/// Makes an answer with the key `name` to the pending call `pending` of the life that `fence` names.
pub(crate) fn answer(fence: &Fence, pending: &str, name: &str) -> InboxItem {
    InboxItem {
        key: id(name),
        kind: ItemKind::Answer { pending: id(pending), settles: false },
        incarnation: Some(fence.incarnation),
        payload: bytes(name),
    }
}

/// Makes an approval `name` of the call of the same name. It needs one answer and has no deadline.
pub(crate) fn approval(name: &str) -> NewPending {
    NewPending {
        id: id(name),
        call: id(name),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: bytes(name),
    }
}

/// Makes a soft interrupt.
pub(crate) fn soft(name: &str) -> Interrupt {
    Interrupt {
        id: id(name),
        kind: InterruptKind::Soft,
        reason: "asked to".into(),
        at: Timestamp::EPOCH,
        incarnation: None,
    }
}

/// Makes an abort.
pub(crate) fn abort(name: &str) -> Interrupt {
    Interrupt { kind: InterruptKind::Abort, ..soft(name) }
}
