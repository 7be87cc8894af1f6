//! `sessions pending`.

use crate::args::Pending;
use crate::exit::Failure;
use crate::front::Front;
use crate::owed::{all_pending, debt_of};
use crate::print::{debts, inline, json};

/// Lists the calls that somebody owes an answer, soonest deadline first.
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
        let debt = debt_of(front, pending).await?;
        front.out.object(&json::pending(pending, &debt));
        front.out.line(front.out.bold(&inline(&format!("session {}: {}", pending.key.id, pending.id))));
        if pending.answered >= pending.needed {
            front.out.line(format!(
                "  {} ({}) is answered; a run takes it up",
                inline(&debt.tool),
                debt.call
            ));
        } else {
            debts::one(&front.out, &debt, now);
        }
    }
    Ok(())
}
