//! Creating and deleting.

use std::time::Instant;

use holdover_store::ids::{SessionKey, Version};
use holdover_store::{
    CreateOutcome, DeleteMode, DeleteOutcome, Deletion, INBOX_PAGE, InboxItem, NewSession, PAGE_BYTES_MAX,
    Start, StoreError,
};

use crate::args::Args;
use crate::columns;
use crate::error::Fault;
use crate::reply;
use crate::store::{Shared, unknown};
use crate::write::claim::is_over;

impl Shared {
    pub(crate) async fn create_session(&self, new: &NewSession) -> Result<CreateOutcome, StoreError> {
        let began = Instant::now();
        let script = &self.scripts.create_session;
        let args = self.creation(new);
        self.ask("create_session", script, &new.key, args, |word, reply| {
            Ok(match word {
                "created" => {
                    let version = Version(reply.number()?);
                    let claim = if reply.left() > 0 { Some(columns::claim(reply)?) } else { None };
                    let claim = claim.filter(|claim| !is_over(claim, began));
                    if let Some(claim) = &claim {
                        self.grants.granted(claim);
                    }
                    CreateOutcome::Created { version, claim: claim.map(Box::new) }
                }
                "already_exists" => CreateOutcome::AlreadyExists {
                    incarnation: reply::incarnation(&reply.bytes()?)?,
                    status: reply::word(&reply.bytes()?, holdover_store::SessionStatus::from_wire)?,
                    version: Version(reply.number()?),
                },
                "deleted" => CreateOutcome::Deleted,
                "item_conflict" => CreateOutcome::ItemConflict {
                    index: usize::try_from(reply.number()?).unwrap_or(usize::MAX),
                },
                other => return unknown(other),
            })
        })
        .await
    }

    fn creation(&self, new: &NewSession) -> Result<Args, Fault> {
        let (start, at, claim) = match &new.start {
            Start::WithItems => ("with_items", None, None),
            Start::At(at) => ("at", Some(*at), None),
            Start::Claimed(claim) => ("claimed", None, Some(claim)),
        };
        let claimed = claim.map_or(&[][..], |claim| claim.items.as_slice());
        let items: Vec<&InboxItem> = new.items.iter().chain(claimed).collect();
        let args = self
            .args()
            .text(new.key.tenant.as_str())
            .text(new.key.id.as_str())
            .incarnation(new.incarnation)
            .text(new.operation.as_str())
            .text(new.queue.as_str())
            .number(new.format.0)
            .size(new.labels.0.len() * 2);
        let args = new.labels.0.iter().fold(args, |args, (name, value)| args.text(name).text(value));
        let args = args
            .payload(&new.definition)
            .each(items, Args::item)
            .text(start)
            .optional_instant("start", at)?
            .optional(claim.map(|claim| claim.run.as_str()))
            .optional(claim.map(|claim| claim.worker.as_str()));
        let args = match claim {
            Some(claim) => args.duration(claim.lease),
            None => args.bytes([]),
        };
        Ok(args.number(INBOX_PAGE).size(PAGE_BYTES_MAX))
    }

    pub(crate) async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        let mode = match deletion.mode {
            DeleteMode::UnlessActive => "unless_active",
            DeleteMode::Force => "force",
        };
        let args = self.args().text(mode).optional_incarnation(deletion.incarnation);
        self.ask("delete_session", &self.scripts.delete_session, key, Ok(args), |word, _| {
            Ok(match word {
                "deleted" => DeleteOutcome::Deleted,
                "active" => DeleteOutcome::Active,
                "not_found" => DeleteOutcome::NotFound,
                other => return unknown(other),
            })
        })
        .await
    }
}
