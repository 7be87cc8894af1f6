//! `sessions pending`: lists the pending calls.

use holdover_core::store::StoreErrorKind;
use holdover_runtime_local::{Answered, RuntimeError};

use crate::args::Pending;
use crate::exit::Failure;
use crate::front::Front;
use crate::owed::{all_pending, debt_of};
use crate::print::{debts, inline, instant, json};

/// Lists the pending calls, soonest deadline first.
pub(super) async fn pending(front: &Front, args: &Pending) -> Result<(), Failure> {
    if let Some(session) = &args.session {
        front.session(session).await?;
    }
    let open = all_pending(front, args.session.as_ref()).await?;
    if open.is_empty() {
        front.out.line(front.out.dim("nothing is owed"));
        return Ok(());
    }
    let now = front.runtime.now();
    for pending in &open {
        let mut debt = debt_of(front, pending).await?;
        let answered = match front.runtime.answered(pending).await {
            Ok(answered) => answered,
            // The error is shown with this call; the other calls are listed as usual.
            Err(RuntimeError::Store(error)) if error.kind == StoreErrorKind::Corrupt => {
                debt.prompt = Some(format!("its answer cannot be read: {error}"));
                debt.commands.clear();
                None
            }
            Err(error) => return Err(error.into()),
        };
        front.out.object(&json::pending(pending, &debt, answered.as_ref()));
        front.out.line(front.out.bold(&inline(&format!("session {}: {}", pending.key.id, pending.id))));
        match answered {
            Some(Answered { by, at, .. }) => {
                let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
                let at = at.map(|at| format!(" at {}", instant(at))).unwrap_or_default();
                let what = format!("{} ({})", debt.tool, debt.call);
                front
                    .out
                    .line(format!("  {}", inline(&format!("{what} is answered{by}{at}; a run takes it up"))));
            }
            None => debts::one(&front.out, &debt, now),
        }
    }
    Ok(())
}
