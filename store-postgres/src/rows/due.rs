//! Looks for due sessions until enough are found, or all.

use holdover_store::StoreError;
use holdover_store::rows::{Due, DueQuery, Found, Want};

use super::PgRows;
use super::look::{Look, PAGE, Seen};

/// Of sessions that are due but cannot be read so many are told of at a time.
const UNREADABLE_TOLD: usize = 8;

/// So often is looked at most. One look is enough, unless more than a page of sessions is asked for or some cannot be read.
const LOOKS_MAX: usize = 64;

/// What was found so far.
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
    /// What [`Rows::due`](holdover_store::rows::Rows::due) answers.
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
            let looked = self.0.caller.call(look.clone()).await?;
            self.heard(looked.now);
            let (asked_for, is_full) = (look.asked_for(), looked.seen.len() == look.brings());
            let is_corrupt = |seen: &Seen| seen.found.is_err();
            if looked.seen.iter().any(is_corrupt) {
                // There may be more of them.
                look.spare = PAGE;
            }
            // The last look goes on behind tenants of whom too many cannot be read.
            if nth < LOOKS_MAX && looked.seen.iter().any(|seen| seen.in_turn && is_corrupt(seen)) {
                // The next one of the same tenant has this turn: the same look without those that cannot be read.
                for Seen { number, found, .. } in looked.seen {
                    if let Err(fault) = found {
                        taken.tell(fault.of("due", None, false));
                        look.left_out.push(number);
                    }
                }
                continue;
            }
            let before = taken.sound;
            // Once everybody had a turn, the others come by alarm.
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
