//! The words of scripts. A word gets its meaning from the state of the model when the operation is turned into a
//! request.

use holdover_store::{SessionStatus, Wake};

use super::List;

/// The handle that makes the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    First,
    Peer,
}

/// A session. `Z` has the id of `A` but belongs to another tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    A,
    B,
    Z,
}

/// A duration. Some are fixed, and some depend on the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    NoTime,
    Moment,
    MostOfALease,
    Lease,
}

/// An instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Never,
    Before,
    Soon,
}

/// The run that writes: the newest, the one before it, or one of an earlier life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    Newest,
    Older,
    OtherLife,
}

/// The version that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    NoVersion,
    Right,
    Wrong,
}

/// The life of a session that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "a script shows them without the name of the enum")]
pub(crate) enum Meant {
    AnyLife,
    ThisLife,
    EarlierLife,
}

/// One of two texts, so that a repeat can agree with the first request or contradict it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    One,
    Other,
}

/// A message. `key` selects one of a few keys; 0 means a fresh key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: u8,
    pub(crate) text: Text,
    pub(crate) wake: Wake,
}

/// The state in which a session is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    Resting,
    Due(When),
    Held,
}

/// A part of a commit. Calls and pending calls are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    State(Text),
    /// A state, kept as a checkpoint.
    Keep(Text),
    /// A checkpoint without a new state.
    Checkpoint,
    Say(Text),
    Promote(u8),
    StageNow(u8, Text),
    Event(Text),
    Streamed(u32),
    Open {
        pending: u8,
        needed: u32,
        deadline: When,
    },
    Close(u8),
    /// The oldest unread item, or, if there is none, the place after the newest item.
    Consume,
    /// Marks all items that have come as seen.
    Seen,
    ConfirmInterrupt,
    /// The end of the run. The number is an index in `OutcomeKind::ALL`.
    End(u8),
}

/// The way in which a commit leaves the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    Stay,
    To { status: SessionStatus, deadline: When, wake_on: u32 },
    GiveBack(When),
}

/// The place at which a batch of deltas begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Next,
    Start,
    Gap,
}

/// The checkpoint from which a fork is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "a script shows them without the name of the enum")]
pub(crate) enum Place {
    NewestCheckpoint,
    OldestCheckpoint,
    NoCheckpoint,
}

/// A read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Session,
    Sessions,
    PendingCalls,
    Messages { from: u64, to: u64 },
    Inbox { after: u64, limit: u32 },
    Events { of: Meant, limit: u32 },
    Runs,
    Checkpoints,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    Pass(Span),
    Create {
        who: Who,
        begin: Begin,
        items: List<Item>,
        life: Meant,
    },
    Delete {
        who: Who,
        version: Named,
        forced: bool,
    },
    Claim {
        who: Who,
        version: Named,
        items: List<Item>,
    },
    /// A claim with an answer among its items, which no claim may carry.
    ClaimWithAnswer(Who),
    ClaimDue {
        count: u8,
        queue: Option<u8>,
        format: u32,
        tenant_of: Option<Who>,
    },
    Retry {
        who: Who,
        version: Named,
        to: SessionStatus,
        items: List<Item>,
    },
    Renew {
        who: Who,
        run: Run,
        span: Span,
    },
    Stage {
        who: Who,
        run: Run,
        results: List<(u8, Text)>,
        starts: List<u8>,
    },
    Commit {
        who: Who,
        run: Run,
        version: Named,
        parts: List<Part>,
        leave: Leave,
    },
    Deltas {
        who: Who,
        run: Run,
        stream: u32,
        first: First,
        count: u8,
    },
    TakeInterrupt {
        who: Who,
        run: Run,
    },
    Deliver {
        who: Who,
        item: Item,
        life: Meant,
        signal: bool,
    },
    Answer {
        who: Who,
        key: u8,
        text: Text,
        pending: u8,
        settles: bool,
        life: Meant,
    },
    Interrupt {
        who: Who,
        abort: bool,
    },
    Fork {
        from: Who,
        at: Place,
        to: Who,
        status: SessionStatus,
        life: Meant,
    },
    PurgeSessions {
        older_than: Span,
        status: Option<SessionStatus>,
        count: u8,
    },
    PurgeCheckpoints {
        older_than: Span,
        keep: u8,
    },
    /// Repeats the request that was made this many requests ago, byte for byte.
    Again(u8),
    Look {
        who: Who,
        at: Look,
    },
}
