//! Changes without hints.

use holdover_store::Watch;

use crate::fault::{Mutant, broken};

/// Defines a store in which one operation sends no hints.
macro_rules! silent {
    ($name:literal, $broken:literal, $operation:literal) => {
        broken($name, $broken).tells(|operation| operation != $operation)
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("waiters-are-not-told", "whoever waits for a change is not told").tells(|_| false),
    broken("runs-hear-no-news", "a run that waits for news of its session is not told")
        .hears(|watch| !matches!(watch, Watch::News(_))),
    silent!("creation-tells-nobody", "whoever waits is not told of a creation", "create_session"),
    silent!("deletion-tells-nobody", "whoever waits is not told of a deletion", "delete_session"),
    silent!("claim-tells-nobody", "whoever waits is not told of a claim", "claim_session"),
    silent!("due-claim-tells-nobody", "whoever waits is not told of a claim of what was due", "claim_due"),
    silent!(
        "cas-tells-nobody",
        "whoever waits is not told of a move of the status",
        "compare_and_set_status"
    ),
    silent!("commit-tells-nobody", "whoever waits is not told of a commit", "commit"),
    silent!("deltas-tell-nobody", "whoever waits is not told of deltas", "append_deltas"),
    silent!("delivery-tells-nobody", "whoever waits is not told of a delivery", "deliver"),
    silent!("interrupt-tells-nobody", "whoever waits is not told of a request to stop", "request_interrupt"),
    silent!("fork-tells-nobody", "whoever waits is not told of a fork", "fork_session"),
    silent!("purge-tells-nobody", "whoever waits is not told that retention removed the session", "purge"),
];
