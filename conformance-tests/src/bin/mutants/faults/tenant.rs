//! Tenants and names.

use holdover_store::ids::SessionKey;
use holdover_store::{ClaimDue, DeleteOutcome, Page, PendingQuery, SessionQuery};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Returns the key of a session with this id, of this tenant or else of any tenant.
fn of_any_tenant(tx: &Tx<'_>, key: &SessionKey) -> SessionKey {
    let mut keys = tx.sessions.keys();
    let mut other = || keys.find(|other| other.id == key.id).cloned();
    if tx.sessions.contains_key(key) { key.clone() } else { other().unwrap_or_else(|| key.clone()) }
}

/// Returns the key of an existing session that is the same after `fold`.
fn folded(tx: &Tx<'_>, key: &SessionKey, fold: fn(&SessionKey) -> String) -> SessionKey {
    tx.sessions.keys().find(|other| fold(other) == fold(key)).unwrap_or(key).clone()
}

/// Defines a store that confuses keys that are the same after `fold`, in `create_session` and `load_session`.
macro_rules! folding {
    ($name:literal, $broken:literal, $fold:expr) => {
        broken($name, $broken)
            .create(|tx, mut new| {
                new.key = folded(tx, &new.key, $fold);
                sound::create(tx, new)
            })
            .load(|tx, key| {
                let key = folded(tx, key, $fold);
                sound::load(tx, &key)
            })
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("tenant-missing-in-load", "a session is read by its id alone").load(|tx, key| {
        let key = of_any_tenant(tx, key);
        sound::load(tx, &key)
    }),
    broken("tenant-missing-in-read-messages", "messages are read by the session's id alone").read_messages(
        |tx, key, ranges| {
            let key = of_any_tenant(tx, key);
            sound::read_messages(tx, &key, ranges)
        },
    ),
    broken("tenant-missing-in-deliver", "an item is delivered by the session's id alone").deliver(
        |tx, key, item| {
            let key = of_any_tenant(tx, key);
            sound::deliver(tx, &key, item)
        },
    ),
    broken("tenant-missing-in-delete", "deleting a session deletes those of other tenants with its id")
        .delete(|tx, key, mode| {
            let answer = sound::delete(tx, key, mode);
            if answer == DeleteOutcome::Deleted {
                tx.sessions.retain(|other, _| other.id != key.id);
            }
            answer
        }),
    broken("tenant-missing-in-list", "sessions of every tenant are listed").list_sessions(|tx, query| {
        let mut page = sound::list_sessions(tx, query)?;
        if page.next.is_none() && query.page.after.is_none() {
            page.items.extend(others(tx, query.tenant.as_str()).flat_map(|tenant| {
                let query = SessionQuery { tenant, ..query.clone() };
                sound::list_sessions(tx, &query).map_or_else(|_| Vec::new(), |page: Page<_>| page.items)
            }));
        }
        Ok(page)
    }),
    broken("tenant-missing-in-list-pending", "open calls of every tenant are listed").list_pending(
        |tx, query| {
            let mut page = sound::list_pending(tx, query)?;
            if page.next.is_none() && query.page.after.is_none() {
                page.items.extend(others(tx, query.tenant.as_str()).flat_map(|tenant| {
                    let query = PendingQuery { tenant, ..query.clone() };
                    sound::list_pending(tx, &query).map_or_else(|_| Vec::new(), |page: Page<_>| page.items)
                }));
            }
            Ok(page)
        },
    ),
    broken("tenant-missing-in-claim-due", "a worker of one tenant is given sessions of others")
        .claim_due(|tx, claim| sound::claim_due(tx, ClaimDue { tenant: None, ..claim })),
    folding!("ids-ignore-case", "ids that differ in case are the same", |key| key.to_string().to_lowercase()),
    folding!("ids-trimmed", "ids that differ in trailing spaces are the same", |key| key
        .to_string()
        .trim_end()
        .to_owned()),
    folding!(
        "tenant-and-id-run-together",
        "tenant and id are joined without a mark between them",
        |key| format!("{}{}", key.tenant, key.id)
    ),
];

/// Returns the tenants except this one.
fn others(tx: &Tx<'_>, but: &str) -> impl Iterator<Item = holdover_store::ids::TenantId> + use<> {
    let mut tenants: Vec<_> = tx.sessions.keys().map(|key| key.tenant.clone()).collect();
    tenants.dedup();
    tenants.retain(|tenant| tenant.as_str() != but);
    tenants.into_iter()
}
