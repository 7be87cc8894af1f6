//! Regression scripts. A failed comparison prints its script in a form that can be added here.
#![allow(clippy::enum_glob_use, reason = "scripts read as the comparison prints them")]

use holdover_store::SessionStatus::*;
use holdover_store::Wake::*;

use crate::script::{
    Begin::*, By::*, First::*, Item, Leave::*, Look::*, Meant::*, Named::*, Op::*, Part::*, Place::*, Run::*,
    Script, Span::*, Text::*, When::*, Who::*, list,
};

/// A script and its topic.
type Kept = (&'static str, fn() -> Script);

/// All regression scripts.
pub(super) const REGRESSIONS: [Kept; 7] = [
    ("an answer that the run has not read", unread_answer),
    ("of two deciders the first is accepted", two_deciders),
    ("a commit whose acknowledgement was lost, repeated by a run that is over", lost_acknowledgement),
    ("items that come with a move, or with none", carried_items),
    ("a stream, its late deltas, and the one after it", streams),
    ("a fork of a checkpoint that is purged afterwards", forks),
    ("what rests is purged one by one", purged_one_by_one),
];

const AT_REST: crate::script::Leave = To { status: Idle, deadline: Never, wake_on: 0 };
const FAILED: crate::script::Leave = To { status: Failed, deadline: Never, wake_on: 0 };
const PARKED: crate::script::Leave = To { status: Suspended, deadline: Never, wake_on: 0 };

fn unread_answer() -> Script {
    let asked = Open { pending: 1, needed: 1, deadline: Soon };
    list([
        (First, Create { who: A, begin: Held, items: list([]), life: AnyLife }),
        (First, Commit { who: A, run: Newest, version: Right, parts: list([asked, Say(One)]), leave: Stay }),
        (Peer, Answer { who: A, key: 1, text: One, pending: 1, settles: false, life: ThisLife }),
        (First, Commit { who: A, run: Newest, version: Right, parts: list([Close(1)]), leave: PARKED }),
        (First, Commit { who: A, run: Newest, version: Right, parts: list([Event(One)]), leave: PARKED }),
        (First, ClaimDue { count: 2, queue: None, format: 2, tenant_of: None }),
        (
            First,
            Commit { who: A, run: Newest, version: Right, parts: list([Close(1), Consume]), leave: AT_REST },
        ),
        (Peer, Answer { who: A, key: 2, text: One, pending: 1, settles: false, life: ThisLife }),
    ])
}

fn two_deciders() -> Script {
    let asked = Open { pending: 1, needed: 2, deadline: Soon };
    list([
        (First, Create { who: A, begin: Held, items: list([]), life: AnyLife }),
        (First, Commit { who: A, run: Newest, version: Right, parts: list([asked]), leave: PARKED }),
        (First, Answer { who: A, key: 1, text: One, pending: 1, settles: true, life: ThisLife }),
        (Peer, Answer { who: A, key: 2, text: Other, pending: 1, settles: false, life: ThisLife }),
        (Peer, Answer { who: A, key: 1, text: One, pending: 1, settles: true, life: ThisLife }),
        (
            First,
            Deliver { who: A, item: Item { key: 1, text: Other, wake: Now }, life: AnyLife, signal: false },
        ),
    ])
}

fn lost_acknowledgement() -> Script {
    list([
        (First, Create { who: A, begin: Held, items: list([]), life: AnyLife }),
        (First, Commit { who: A, run: Newest, version: Right, parts: list([Say(One)]), leave: AT_REST }),
        (First, Again(1)),
        (Peer, Claim { who: A, version: Right, items: list([]) }),
        (First, Again(2)),
        (Peer, Commit { who: A, run: Newest, version: Right, parts: list([Say(Other)]), leave: AT_REST }),
        (Peer, Again(3)),
        (First, Again(3)),
    ])
}

fn carried_items() -> Script {
    let item = |key, text| Item { key, text, wake: Count };
    list([
        (
            First,
            Create { who: A, begin: Resting, items: list([item(1, One), item(1, Other)]), life: AnyLife },
        ),
        (First, Create { who: A, begin: Held, items: list([item(1, One)]), life: ThisLife }),
        (First, Commit { who: A, run: Newest, version: Right, parts: list([Consume]), leave: FAILED }),
        (First, Retry { who: A, version: Right, to: Suspended, items: list([item(1, Other)]) }),
        (First, Claim { who: A, version: Right, items: list([item(2, One), item(1, One)]) }),
        (First, Retry { who: A, version: Right, to: Suspended, items: list([item(2, One)]) }),
        (First, Claim { who: A, version: Wrong, items: list([]) }),
        (First, Claim { who: A, version: Right, items: list([item(0, One)]) }),
    ])
}

fn streams() -> Script {
    list([
        (First, Create { who: A, begin: Held, items: list([]), life: AnyLife }),
        (First, Deltas { who: A, run: Newest, stream: 1, first: Next, count: 2 }),
        (First, Deltas { who: A, run: Newest, stream: 1, first: Gap, count: 1 }),
        (
            First,
            Commit { who: A, run: Newest, version: Right, parts: list([Say(One), Streamed(1)]), leave: Stay },
        ),
        (First, Deltas { who: A, run: Newest, stream: 1, first: Start, count: 1 }),
        (First, Deltas { who: A, run: Newest, stream: 2, first: Next, count: 1 }),
        (Peer, Look { who: A, at: Events { of: AnyLife, limit: 200 } }),
        (First, Pass(Lease)),
        (Peer, Claim { who: A, version: NoVersion, items: list([]) }),
        (First, Deltas { who: A, run: Older, stream: 2, first: Next, count: 1 }),
        (Peer, Look { who: A, at: Events { of: AnyLife, limit: 200 } }),
    ])
}

fn forks() -> Script {
    let kept = || list([Keep(One), Say(One), Event(Other)]);
    list([
        (First, Create { who: A, begin: Held, items: list([]), life: AnyLife }),
        (First, Commit { who: A, run: Newest, version: Right, parts: kept(), leave: Stay }),
        (First, Commit { who: A, run: Newest, version: Right, parts: kept(), leave: AT_REST }),
        (Peer, Fork { from: A, at: OldestCheckpoint, to: B, status: Idle, life: ThisLife }),
        (First, PurgeCheckpoints { older_than: NoTime, keep: 1 }),
        (First, Again(2)),
        (First, Look { who: B, at: Checkpoints }),
        (First, Claim { who: B, version: Right, items: list([]) }),
    ])
}

fn purged_one_by_one() -> Script {
    let one = PurgeSessions { older_than: NoTime, status: None, count: 1 };
    list([
        (First, Create { who: A, begin: Resting, items: list([]), life: AnyLife }),
        (First, Create { who: Z, begin: Resting, items: list([]), life: AnyLife }),
        (First, Create { who: B, begin: Due(Soon), items: list([]), life: AnyLife }),
        (Peer, one.clone()),
        (Peer, one.clone()),
        (Peer, one),
    ])
}
