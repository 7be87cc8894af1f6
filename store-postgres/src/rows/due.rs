//! Searches for due sessions until enough are found or none are left.

use holdover_store::StoreError;
use holdover_store::rows::{Due, DueQuery, Found, Want};

use super::PgRows;
use super::look::{Look, PAGE, Seen};

/// The most errors about unreadable due sessions that one answer contains.
const UNREADABLE_TOLD: usize = 8;

/// The most looks of one search. One look is enough, unless more than [`PAGE`] sessions are asked for, or some cannot
/// be read.
const LOOKS_MAX: usize = 64;

/// The sessions found so far.
#[derive(Default)]
struct Taken {
    found: Vec<Result<Found, StoreError>>,
    sound: usize,
}

impl Taken {
    fn tell(&mut self, error: StoreError) {
        if self.found.len() - self.sound < UNREADABLE_TOLD {
            self.found.push(Err(error));
        }
    }
}

impl PgRows {
    /// Finds due sessions, for [`Rows::due`](holdover_store::rows::Rows::due).
    pub(super) async fn find_due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        let mut taken = Taken::default();
        let mut look = Look {
            query: query.clone(),
            wants: wants.to_vec(),
            turns: query.tenant.is_none(),
            spare: 0,
            left_out: Vec::new(),
        };
        for nth in 1..=LOOKS_MAX {
            let looked = self.opened.caller.call(look.clone()).await?;
            self.heard(looked.now);
            let (asked_for, is_full) = (look.asked_for(), looked.seen.len() == look.brings());
            let is_corrupt = |seen: &Seen| seen.found.is_err();
            if looked.seen.iter().any(is_corrupt) {
                // There may be more of them.
                look.spare = PAGE;
            }
            // The last look continues behind tenants with too many unreadable sessions.
            if nth < LOOKS_MAX && looked.seen.iter().any(|seen| seen.in_turn && is_corrupt(seen)) {
                // The tenant's next session takes this turn: the same look is repeated without the unreadable
                // ones.
                for Seen { number, found, .. } in looked.seen {
                    if let Err(fault) = found {
                        taken.tell(fault.of("due", None, false));
                        look.left_out.push(number);
                    }
                }
                continue;
            }
            let before = taken.sound;
            // Once each tenant had a turn, the remaining sessions come by alarm.
            look.turns &= looked.seen.iter().filter(|seen| seen.in_turn).count() == asked_for;
            for Seen { number, found, .. } in looked.seen {
                match found {
                    Ok(_) if taken.sound - before == asked_for => break,
                    Ok(found) => {
                        taken.sound += 1;
                        taken.found.push(Ok(found));
                    }
                    Err(fault) => taken.tell(fault.of("due", None, false)),
                }
                look.left_out.push(number);
            }
            look.query.after = looked.after;
            look.query.limit = query.limit - taken.sound;
            if !is_full || look.query.limit == 0 {
                break;
            }
        }
        Ok(Due { found: taken.found, after: look.query.after })
    }
}
