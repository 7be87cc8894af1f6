//! The capabilities that a store declares.

use holdover_store::ids::Incarnation;

use super::prelude::*;

cases! {
    capability.undeclared_answers_unsupported: Core Sequential,
        "what the capabilities do not declare is answered as unsupported, and what they declare is done",
        "a caller that asks before it relies on something would be told wrong",
        "Capabilities: if not, fork_session and purge answer Unsupported";
}

async fn undeclared_answers_unsupported(t: Bench) -> CaseResult {
    let declared = t.store.capabilities();
    let rests = t.left_as("rests", SessionStatus::Idle).await?;
    let life: Incarnation = t.load(&rests).await?.incarnation;
    let forked = t.store.fork_session(&rests, CheckpointId(1), new_fork(life, "fork")).await;
    if declared.forks {
        ensure_eq!(forked?, ForkOutcome::NoCheckpoint, "a fork at a version that made no checkpoint");
    } else {
        let error = want!(forked, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::Unsupported, "a fork that the capabilities do not declare");
    }
    let rule = retention(Remove::Sessions);
    if declared.retention {
        ensure_eq!(removed(&t.store, &rule).await?.sessions, 1, "sessions removed");
    } else {
        let error = want!(t.store.purge(&rule).await, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::Unsupported, "a rule that the capabilities do not declare");
        ensure_eq!(t.load(&rests).await?.incarnation, life, "the session");
    }
    Ok(())
}
