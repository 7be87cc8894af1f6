//! What comes from outside, and the run that looks for it.

use holdover_store::ids::{Fence, InterruptId, SessionKey};
use holdover_store::{Delivery, InboxItem, Interrupt, InterruptCheck, InterruptOutcome, StoreError};

use crate::columns::Fields;
use crate::error::Fault;
use crate::reply;
use crate::store::{Shared, unknown};
use crate::write::delivery;

impl Shared {
    pub(crate) async fn deliver(&self, key: &SessionKey, item: &InboxItem) -> Result<Delivery, StoreError> {
        let args = self.args().item(item);
        self.ask("deliver", &self.scripts.deliver, key, Ok(args), delivery).await
    }

    pub(crate) async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: &Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        let args = self.args().text(interrupt.id.as_str()).text(interrupt.kind.as_str());
        let args = args
            .instant("at", interrupt.at)
            .map(|args| args.optional_incarnation(interrupt.incarnation).text(&interrupt.reason));
        self.ask("request_interrupt", &self.scripts.request_interrupt, key, args, |word, reply| {
            Ok(match word {
                "requested" => InterruptOutcome::Requested,
                "already_waiting" => {
                    InterruptOutcome::AlreadyWaiting { id: reply::id::<InterruptId>(&reply.bytes()?)? }
                }
                "at_rest" => InterruptOutcome::AtRest,
                "aborted" => InterruptOutcome::Aborted,
                "not_found" => InterruptOutcome::NotFound,
                other => return unknown(other),
            })
        })
        .await
    }

    pub(crate) async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        let script = &self.scripts.take_interrupt;
        let args = self.fenced(fence);
        self.ask("take_interrupt", script, &fence.key, Ok(args), |word, reply| {
            Ok(match word {
                "clear" => InterruptCheck::Clear,
                "waiting" => {
                    let fields = Fields::read(reply)?;
                    let interrupt = fields.interrupt(&reply.bytes()?)?;
                    let missing = || Fault::Corrupt("interrupt_id: it is missing".into());
                    InterruptCheck::Waiting(interrupt.ok_or_else(missing)?)
                }
                "stale_fence" => InterruptCheck::StaleFence,
                other => return unknown(other),
            })
        })
        .await
    }
}
