//! Requests that are repeated until nothing is left to do: walks of a retention rule, and claims of due sessions. Also a
//! session that no walk removes.

use holdover_store::ids::SessionKey;
use holdover_store::{
    Claim, ClaimDue, Commit, NewPending, PendingKind, PurgeReport, RetentionRule, SessionStatus, StateStore,
    StoreError,
};

use crate::bench::{Bench, Handle};
use crate::failure::{CaseResult, ensure};
use crate::fixture::{approval, commit, release_to};
use crate::snapshot::{PAGES_MAX, endless};

/// Walks a retention rule to its end. Returns what was removed and the number of calls. Fails if a call removes more
/// sessions than the limit of the rule.
pub(crate) async fn swept(store: &Handle, rule: RetentionRule) -> CaseResult<(PurgeReport, usize)> {
    Ok(try_swept(store, rule).await??)
}

/// Walks a retention rule like `swept`, but returns an error of the store as a value.
pub(crate) async fn try_swept(
    store: &Handle,
    mut rule: RetentionRule,
) -> CaseResult<Result<(PurgeReport, usize), StoreError>> {
    let mut all = PurgeReport::default();
    for steps in 1..=PAGES_MAX {
        let step = match store.purge(&rule).await {
            Ok(step) => step,
            Err(error) => return Ok(Err(error)),
        };
        let most = u64::from(rule.limit.get());
        ensure!(step.sessions <= most, "expected at most {most} sessions", found = "{step:?}");
        all.sessions += step.sessions;
        all.checkpoints += step.checkpoints;
        rule.after = step.next;
        if rule.after.is_none() {
            return Ok(Ok((all, steps)));
        }
    }
    Err(endless())
}

/// Walks a retention rule to its end and returns what was removed.
pub(crate) async fn removed(store: &Handle, rule: &RetentionRule) -> CaseResult<PurgeReport> {
    Ok(swept(store, rule.clone()).await?.0)
}

/// Claims as many sessions as `due` asks for, if that many are due. One call may return fewer, so it is repeated.
pub(crate) async fn as_many_due(store: &Handle, mut due: ClaimDue) -> Result<Vec<Claim>, StoreError> {
    let mut all = Vec::new();
    while !due.runs.is_empty() {
        let claims = store.claim_due(due.clone()).await?;
        due.runs.retain(|run| !claims.iter().any(|claim| claim.run == *run));
        if claims.is_empty() {
            break;
        }
        all.extend(claims);
    }
    Ok(all)
}

/// Creates failed sessions, each with an open pending call of a kind that keeps the session. Returns what keeps each.
pub(crate) async fn left_asking(t: &Bench) -> CaseResult<Vec<(&'static str, SessionKey)>> {
    let mut all = Vec::new();
    let kinds = [
        ("has an open dead letter", PendingKind::DeadLetter),
        ("has a call in doubt to settle", PendingKind::InDoubt),
    ];
    for (what, kind) in kinds {
        let claim = t.running(kind.as_str()).await?;
        let open = vec![NewPending { kind, ..approval("asks-1") }];
        let release = Some(release_to(SessionStatus::Failed));
        t.commit(&claim.fence, Commit { open, release, ..commit() }).await?;
        all.push((what, claim.fence.key));
    }
    Ok(all)
}
