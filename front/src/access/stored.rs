//! Tokens in the store, so that every process knows them, and all forget one that is revoked.
//!
//! A store only holds sessions, so each token has a session that nothing is ever delivered to and that no worker runs. Its
//! definition holds what the token allows, and the digest of the token, not the token.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover_core::ids::{
    Incarnation, InvalidId, OperationId, QueueLabel, SessionId, SessionKey, StateFormat, TenantId,
};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{
    CreateOutcome, DeleteOutcome, Deletion, Labels, NewSession, PageRequest, SessionQuery, Start, StateStore,
    StoreError,
};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{BREAKER_TENANT, Runtime, TOKEN_QUEUE};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Caller, May, NoTokens, Tokens};

/// The tenant of the sessions that hold tokens. It is that of all records of the engine.
const TENANT: &str = BREAKER_TENANT;
/// The label that names the tenant for which a token was made.
const OF: &str = "token_of";
/// The beginning of every token, by which scanners for leaked secrets can find it.
const PREFIX: &str = "hld_";
/// A format that is newer than any that a worker reads.
const FORMAT: StateFormat = StateFormat(u32::MAX);
/// An alarm that never rings. A session with an alarm does not rest, so retention does not remove it.
const NEVER: Timestamp = Timestamp::from_ms(253_402_300_799_000);
/// The time for which a process remembers what it found. A token that was revoked is refused everywhere after this time.
const REMEMBERED: Duration = Duration::from_secs(5);
/// The time for which those who wait for the same token share a failure to look it up.
const FAILURE_REMEMBERED: Duration = Duration::from_secs(1);
/// The most tokens that a process remembers.
const REMEMBERED_MAX: usize = 10_000;
/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// The error for a token that cannot be made, listed or revoked. One line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A caller with a token has a name, because decisions record it.
    #[error("token: name: it is empty, or longer than {NAME_BYTES_MAX} bytes, or has control characters")]
    Name,
    /// The engine keeps its own records in this tenant.
    #[error("token: tenant {TENANT}: it is reserved")]
    Reserved,
    /// The token would never be accepted.
    #[error("token: it expires in the past")]
    Expired,
    /// A token allows something.
    #[error("token: it has no permission")]
    Nothing,
    /// The record of a token cannot be read.
    #[error("token {id}: {why}")]
    Unreadable {
        /// The id of the token.
        id: String,
        /// The reason.
        why: String,
    },
    /// The id of a token is no id.
    #[error("token: {0}")]
    Id(#[from] InvalidId),
    /// The store failed.
    #[error("tokens: {0}")]
    Store(#[from] StoreError),
}

/// A token, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenInfo {
    /// The id, by which it is revoked.
    pub id: String,
    /// The caller to whom it belongs.
    pub caller: Caller,
    /// The time at which it was made.
    pub created_at: Timestamp,
    /// The instant, on the store's clock, from which it is refused. `None`: never.
    pub expires_at: Option<Timestamp>,
}

/// The record of a token.
#[derive(Serialize, Deserialize)]
struct Record {
    tenant: TenantId,
    name: String,
    may: Vec<String>,
    digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

impl Record {
    /// Returns the caller. A permission that this version does not know is left out.
    fn caller(&self) -> Caller {
        let may = self.may.iter().filter_map(|may| may.parse().ok());
        Caller::of(self.tenant.clone()).named(&self.name).only(may)
    }
}

/// The tokens in the store of a runtime. Cheap to clone.
#[derive(Clone)]
pub struct StoredTokens {
    runtime: Runtime,
    only: Option<TenantId>,
    found: Arc<Mutex<HashMap<Digest, Found>>>,
    looks: Arc<Mutex<HashMap<Digest, Look>>>,
}

/// A lock around the look-up of one token. The first request reads the store, and the others wait for what it finds:
/// thousands of streams may have the same token. The lock holds the last failure.
type Look = Arc<tokio::sync::Mutex<Option<(Instant, NoTokens)>>>;

/// The caller that a process found for a token.
#[derive(Clone)]
struct Found {
    at: Instant,
    caller: Option<Caller>,
    expires_at: Option<Timestamp>,
}

impl StoredTokens {
    /// Finds tokens in the store of this runtime.
    pub fn new(runtime: Runtime) -> Self {
        Self { runtime, only: None, found: Arc::default(), looks: Arc::default() }
    }

    /// Accepts only tokens of this tenant: that of the sessions which the workers of this server run.
    #[must_use]
    pub fn only(self, tenant: impl Into<Option<TenantId>>) -> Self {
        Self { only: tenant.into(), ..self }
    }

    /// Makes a token for a caller, who must have a name and a permission. Returns the token, which is not stored, with its
    /// record. Once this returns, every process accepts the token.
    ///
    /// # Errors
    /// The name is [not fit](TokenError::Name), the caller may do [nothing](TokenError::Nothing), the tenant is
    /// [reserved](TokenError::Reserved), the token has [expired](TokenError::Expired) already, or the store failed.
    pub async fn create(
        &self,
        caller: Caller,
        expires_at: Option<Timestamp>,
    ) -> Result<(String, TokenInfo), TokenError> {
        let name = caller.name().unwrap_or_default().to_owned();
        if name.trim().is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(TokenError::Name);
        }
        let may: Vec<String> =
            May::ALL.into_iter().filter(|may| caller.may(*may)).map(|may| may.as_str().to_owned()).collect();
        if may.is_empty() {
            return Err(TokenError::Nothing);
        }
        if caller.tenant().as_str() == TENANT {
            return Err(TokenError::Reserved);
        }
        if expires_at.is_some_and(|at| at <= self.runtime.now()) {
            return Err(TokenError::Expired);
        }
        let id = Uuid::new_v4().simple().to_string();
        let token = format!("{PREFIX}{id}_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let tenant = caller.tenant().clone();
        let record = Record { tenant, name, may, digest: Digest::of(token.as_bytes()), expires_at };
        let unreadable =
            |why: &dyn std::fmt::Display| TokenError::Unreadable { id: id.clone(), why: why.to_string() };
        let new = NewSession {
            key: key(&id)?,
            incarnation: Incarnation(Uuid::new_v4()),
            operation: OperationId::new(&id)?,
            queue: QueueLabel::new(TOKEN_QUEUE)?,
            labels: [(OF, record.tenant.as_str())].into_iter().collect(),
            definition: Payload::json(&record).map_err(|why| unreadable(&why))?,
            format: FORMAT,
            items: Vec::new(),
            start: Start::At(NEVER),
        };
        match self.store().create_session(new).await? {
            CreateOutcome::Created { .. } => {}
            refused @ (CreateOutcome::AlreadyExists { .. }
            | CreateOutcome::Deleted
            | CreateOutcome::ItemConflict { .. }) => {
                return Err(unreadable(&format_args!("it was not made: {refused:?}")));
            }
        }
        let created_at = self.runtime.now();
        Ok((token, TokenInfo { id, caller, created_at, expires_at }))
    }

    /// Lists the tokens of a tenant, newest first, also those that have expired.
    ///
    /// # Errors
    /// A record [cannot be read](TokenError::Unreadable), or the store failed.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<TokenInfo>, TokenError> {
        let labels: Labels = [(OF, tenant.as_str())].into_iter().collect();
        let mut query = SessionQuery { labels, ..SessionQuery::all(TenantId::new(TENANT)?) };
        let mut tokens = Vec::new();
        loop {
            let page = self.store().list_sessions(&query).await?;
            for summary in page.items {
                let id = summary.key.id.as_str().strip_prefix("token ").unwrap_or_default().to_owned();
                // It may be revoked just now.
                let Some(record) = self.record(&id).await? else { continue };
                let (caller, expires_at) = (record.caller(), record.expires_at);
                tokens.push(TokenInfo { id, caller, created_at: summary.created_at, expires_at });
            }
            match page.next {
                Some(next) => query.page = PageRequest { after: Some(next), ..query.page },
                None => return Ok(tokens),
            }
        }
    }

    /// Returns true if a token was made for this tenant, also if it has expired.
    ///
    /// # Errors
    /// The store failed.
    pub async fn any(&self, tenant: &TenantId) -> Result<bool, TokenError> {
        let labels: Labels = [(OF, tenant.as_str())].into_iter().collect();
        let mut query = SessionQuery { labels, ..SessionQuery::all(TenantId::new(TENANT)?) };
        query.page.limit = Some(NonZeroU32::MIN);
        loop {
            let page = self.store().list_sessions(&query).await?;
            match page.next {
                _ if !page.items.is_empty() => return Ok(true),
                Some(next) => query.page.after = Some(next),
                None => return Ok(false),
            }
        }
    }

    /// Revokes a token of a tenant. Other processes refuse it within 5 seconds. Returns false if there is no such token.
    ///
    /// # Errors
    /// The store failed.
    pub async fn revoke(&self, tenant: &TenantId, id: &str) -> Result<bool, TokenError> {
        let Ok(key) = key(id) else { return Ok(false) };
        let Some(session) = self.store().load_session(&key).await? else { return Ok(false) };
        if session.labels.0.get(OF).map(String::as_str) != Some(tenant.as_str()) {
            return Ok(false);
        }
        let deletion = Deletion::FORCE.of(session.incarnation);
        let outcome = self.store().delete_session(&key, deletion).await?;
        self.lock().clear();
        Ok(matches!(outcome, DeleteOutcome::Deleted))
    }

    fn store(&self) -> &Arc<dyn StateStore> {
        self.runtime.store()
    }

    async fn record(&self, id: &str) -> Result<Option<Record>, TokenError> {
        let Some(session) = self.store().load_session(&key(id)?).await? else { return Ok(None) };
        let unreadable = |why: String| TokenError::Unreadable { id: id.to_owned(), why };
        if let Some(encoding) = session.definition.encoding() {
            return Err(unreadable(encoding.to_string()));
        }
        let record = session.definition.parse::<Record>();
        record.map(Some).map_err(|why| unreadable(why.to_string()))
    }

    /// Finds the caller of a token in the store.
    async fn look(&self, id: &str, digest: Digest) -> Result<Found, TokenError> {
        let nobody = Found { at: Instant::now(), caller: None, expires_at: None };
        // The digest of a long random text tells nothing, so the time of this comparison tells nothing either.
        let record = self.record(id).await?.filter(|record| record.digest == digest);
        Ok(record.map_or(nobody.clone(), |record| Found {
            caller: Some(record.caller()),
            expires_at: record.expires_at,
            ..nobody
        }))
    }

    /// Returns what was found for a token a short time ago.
    fn known(&self, digest: Digest) -> Option<Found> {
        self.lock().get(&digest).filter(|found| found.at.elapsed() < REMEMBERED).cloned()
    }

    /// Finds the caller of a token in the store, unless somebody else has just done so.
    async fn found(&self, id: &str, digest: Digest) -> Result<Found, NoTokens> {
        let look = Arc::clone(unpoisoned(&self.looks).entry(digest).or_default());
        let mut failed = look.lock().await;
        let recent = failed.as_ref().filter(|(at, _)| at.elapsed() < FAILURE_REMEMBERED);
        let found = match (self.known(digest), recent) {
            (Some(found), _) => Ok(found),
            (None, Some((_, error))) => Err(error.clone()),
            (None, None) => self.look(id, digest).await.map_err(|error| NoTokens(error.to_string())),
        };
        match &found {
            Ok(found) => self.remember(digest, found),
            Err(error) if recent.is_none() => *failed = Some((Instant::now(), error.clone())),
            Err(_) => {}
        }
        drop(failed);
        let mut looks = unpoisoned(&self.looks);
        // This one and that of the map.
        if Arc::strong_count(&look) == 2 {
            looks.remove(&digest);
        }
        found
    }

    fn remember(&self, digest: Digest, found: &Found) {
        let mut all = self.lock();
        if all.len() >= REMEMBERED_MAX {
            // Tokens that somebody made up go first.
            all.retain(|_, found| found.caller.is_some() && found.at.elapsed() < REMEMBERED);
        }
        if all.len() < REMEMBERED_MAX {
            all.insert(digest, found.clone());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Found>> {
        unpoisoned(&self.found)
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Tokens for StoredTokens {
    async fn caller(&self, token: &str) -> Result<Option<Caller>, NoTokens> {
        let Some(id) = id_of(token) else { return Ok(None) };
        let digest = Digest::of(token.as_bytes());
        let found = match self.known(digest) {
            Some(found) => found,
            None => self.found(id, digest).await?,
        };
        let lasts = found.expires_at.is_none_or(|expires_at| self.runtime.now() < expires_at);
        let serves = |caller: &Caller| self.only.as_ref().is_none_or(|tenant| tenant == caller.tenant());
        Ok(found.caller.filter(|caller| lasts && serves(caller)))
    }
}

/// Returns the key of the session that holds a token.
fn key(id: &str) -> Result<SessionKey, InvalidId> {
    Ok(SessionKey::new(TenantId::new(TENANT)?, format!("token {id}").parse::<SessionId>()?))
}

/// Returns the id in a token, if it has the form of one.
fn id_of(token: &str) -> Option<&str> {
    let (id, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
    let is_hex =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex(id, 32) && is_hex(secret, 64)).then_some(id)
}
