//! The words of scripts. Their meaning is decided when the operation is asked.

use holdover_store::{SessionStatus, Wake};

use super::List;

/// Which handle asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    First,
    Peer,
}

/// Which session. `Z` is another tenant's, with the id of `A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    A,
    B,
    Z,
}

/// How long, told in leases.
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

/// Which run writes: the newest, the one before it, or one of an earlier life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    Newest,
    Older,
    OtherLife,
}

/// Which version is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    NoVersion,
    Right,
    Wrong,
}

/// Which life of a session an item is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "a script shows them without the name of the enum")]
pub(crate) enum Meant {
    AnyLife,
    ThisLife,
    EarlierLife,
}

/// One of two texts: with them, what is the same can be repeated or contradicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    One,
    Other,
}

/// A message: its key is one of a few, or fresh if 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: u8,
    pub(crate) text: Text,
    pub(crate) wake: Wake,
}

/// How a session begins.
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
    /// A checkpoint of no state of its own.
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
    /// The oldest item that is unread; the one after the newest if there is none.
    Consume,
    /// Everything that came is seen.
    Seen,
    ConfirmInterrupt,
    /// The place in `OutcomeKind::ALL`.
    End(u8),
}

/// How a commit leaves the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    Stay,
    To { status: SessionStatus, deadline: When, wake_on: u32 },
    GiveBack(When),
}

/// Where a batch of deltas begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Next,
    Start,
    Gap,
}

/// Which checkpoint a fork begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "a script shows them without the name of the enum")]
pub(crate) enum Place {
    NewestCheckpoint,
    OldestCheckpoint,
    NoCheckpoint,
}

/// What is read.
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
    /// As a claim, with an answer among its items, which no claim may bring.
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
    /// The request so many requests ago, byte for byte.
    Again(u8),
    Look {
        who: Who,
        at: Look,
    },
}
