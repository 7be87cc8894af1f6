//! One session.

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::{InterruptCheck, Session};

use super::Snapshot;
use crate::error::Fault;
use crate::rows;

/// The session with what is staged, at one instant.
pub(crate) async fn load(snapshot: &mut Snapshot, key: &SessionKey) -> Result<Option<Session>, Fault> {
    let Some((sid, row)) = rows::find(snapshot.conn(), key).await? else { return Ok(None) };
    let labels = rows::read_labels(snapshot.conn(), sid).await?;
    let definition = rows::read_definition(snapshot.conn(), sid).await?;
    let state = rows::read_state(snapshot.conn(), sid).await?;
    let staged = rows::read_staged(snapshot.conn(), sid).await?;
    Ok(Some(row.session(labels, definition, state, staged)))
}

/// What `hand_interrupt` would answer, if it answers without a write; none if there is something to hand.
pub(crate) async fn waits_for(
    snapshot: &mut Snapshot,
    fence: &Fence,
) -> Result<Option<InterruptCheck>, Fault> {
    let Some((_, before)) = rows::find(snapshot.conn(), &fence.key).await? else {
        return Ok(Some(InterruptCheck::StaleFence));
    };
    let mut after = before.clone();
    let answer = after.hand_interrupt(fence);
    Ok((after == before).then_some(answer))
}
