//! Lists the open pending calls of one session or of all sessions.

use futures::{StreamExt, TryStreamExt, stream};
use holdover_core::ids::{Incarnation, PendingId, SessionKey};
use holdover_core::message::PendingBody;
use holdover_core::payload::Digest;
use holdover_core::store::{Page, PageCursor, PendingCall, PendingKind, PendingQuery, StoreErrorKind};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::Runtime;
use super::answered::Answered;
use super::deciders::Deciders;
use super::tree::members::AT_ONCE;
use crate::error::RuntimeError;

/// An open pending call, decoded. Its JSON form has everything to show to the person or client who owes the answer:
/// `id` (to answer under), `session`, `call`, `kind`, `tool`, `arguments`, `prompt`, `opened_at` and `deadline`. It
/// has `deciders` if the policy says who decides, and `answered` once no more answers are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingEntry {
    /// The pending call, as it is stored.
    pub call: PendingCall,
    /// The content to show to the person or client who owes the answer.
    pub body: PendingBody,
    /// The people who may decide, and those who have approved so far. `None` if the call does not wait for an approval,
    /// or waits for one on the default terms: any one person may decide.
    pub deciders: Option<Deciders>,
    /// Set once the call has all the answers that it needs and waits for a run to take them. `None` while an answer
    /// is missing.
    pub answered: Option<Answered>,
}

impl PendingEntry {
    /// Returns the id to answer under. It identifies this call with these exact arguments in the session's present
    /// incarnation.
    pub fn id(&self) -> &PendingId {
        &self.call.id
    }
}

impl Serialize for PendingEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { call, body, deciders, answered } = self;
        let fields = 9 + usize::from(deciders.is_some()) + usize::from(answered.is_some());
        let mut shown = serializer.serialize_struct("PendingEntry", fields)?;
        shown.serialize_field("id", &call.id)?;
        shown.serialize_field("session", &call.key.id)?;
        shown.serialize_field("call", &call.call)?;
        shown.serialize_field("kind", &call.kind)?;
        shown.serialize_field("tool", &body.tool)?;
        shown.serialize_field("arguments", &body.arguments)?;
        shown.serialize_field("prompt", &body.prompt)?;
        shown.serialize_field("opened_at", &call.opened_at)?;
        shown.serialize_field("deadline", &call.deadline)?;
        match deciders {
            Some(deciders) => shown.serialize_field("deciders", deciders)?,
            None => shown.skip_field("deciders")?,
        }
        match answered {
            Some(answered) => shown.serialize_field("answered", answered)?,
            None => shown.skip_field("answered")?,
        }
        shown.end()
    }
}

/// An open pending call that this version cannot read, perhaps because a newer version opened it. A process that
/// can read it can take its answer. Its JSON form has the fields of a [`PendingEntry`] that are known without
/// reading it: `id`, `session`, `call`, `kind`, `opened_at` and `deadline`. The field `unreadable` gives the
/// reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadablePending {
    /// The pending call, as it is stored.
    pub call: PendingCall,
    /// The reason why it cannot be read, in one line.
    pub why: String,
}

impl From<UnreadablePending> for RuntimeError {
    fn from(found: UnreadablePending) -> Self {
        Self::unreadable(&found.call.key, format!("pending call {}", found.call.id), found.why)
    }
}

impl Serialize for UnreadablePending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { call, why } = self;
        let mut shown = serializer.serialize_struct("UnreadablePending", 7)?;
        shown.serialize_field("id", &call.id)?;
        shown.serialize_field("session", &call.key.id)?;
        shown.serialize_field("call", &call.call)?;
        shown.serialize_field("kind", &call.kind)?;
        shown.serialize_field("opened_at", &call.opened_at)?;
        shown.serialize_field("deadline", &call.deadline)?;
        shown.serialize_field("unreadable", why)?;
        shown.end()
    }
}

/// A page of pending calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingPage {
    /// The calls that can be read, soonest deadline first.
    pub items: Vec<PendingEntry>,
    /// The calls of the page that this version cannot read.
    pub unreadable: Vec<UnreadablePending>,
    /// The cursor of the next page, or `None` on the last page.
    pub next: Option<PageCursor>,
}

/// The session and the pending call to which an answer is bound.
pub(super) struct Bound {
    /// The session that opened the pending call.
    pub(super) key: SessionKey,
    /// The life of the session.
    pub(super) life: Incarnation,
    /// The digest of the arguments that were shown. If the call is closed, the digest of no bytes.
    pub(super) saw: Digest,
    /// The pending call, if it is still open.
    pub(super) asked: Option<Box<PendingEntry>>,
}

impl Runtime {
    /// Lists the pending calls of a session, of its children that have not ended, and of their children. The soonest
    /// deadline comes first, and calls without a deadline come last. Each entry names its session. Answers from
    /// people and clients are accepted at that session, and at any session above it in the tree.
    ///
    /// Errors: one of the calls cannot be [read](RuntimeError::Unreadable). Use
    /// [`list_pending`](Self::list_pending) to get the others.
    pub async fn pending(&self, key: &SessionKey) -> Result<Vec<PendingEntry>, RuntimeError> {
        let PendingPage { items, unreadable, .. } = self.all_pending(key).await?;
        match unreadable.into_iter().next() {
            Some(found) => Err(found.into()),
            None => Ok(items),
        }
    }

    /// Returns all pending calls of a session and of its tree on one page, including those that cannot be
    /// read.
    pub(super) async fn all_pending(&self, key: &SessionKey) -> Result<PendingPage, RuntimeError> {
        let calls = self.open_calls(key).await?;
        self.decoded(calls, None).await
    }

    /// Lists one page of pending calls across sessions. The soonest deadline comes first, and calls without a
    /// deadline come last. Calls that this version cannot read are listed separately.
    pub async fn list_pending(&self, query: &PendingQuery) -> Result<PendingPage, RuntimeError> {
        let Page { items, next } = self.host.store().list_pending(query).await?;
        self.decoded(items, next).await
    }

    async fn decoded(
        &self,
        calls: Vec<PendingCall>,
        next: Option<PageCursor>,
    ) -> Result<PendingPage, RuntimeError> {
        let mut page = PendingPage { next, ..PendingPage::default() };
        let read = stream::iter(calls).map(|call| self.entry(call)).buffered(AT_ONCE);
        let entries: Vec<_> = read.try_collect().await?;
        for entry in entries {
            match entry {
                Ok(entry) => page.items.push(entry),
                Err(found) => page.unreadable.push(found),
            }
        }
        Ok(page)
    }

    async fn entry(
        &self,
        call: PendingCall,
    ) -> Result<Result<PendingEntry, UnreadablePending>, RuntimeError> {
        let unreadable = |call, what: &str, error: &dyn std::fmt::Display| {
            let why = format!("this version cannot read {what}: {error}").replace('\n', " ");
            Ok(Err(UnreadablePending { call, why }))
        };
        if let Some(encoding) = call.body.encoding() {
            return Ok(Err(UnreadablePending { call, why: encoding.to_string() }));
        }
        let body = match call.body.parse::<PendingBody>() {
            Ok(body) => body,
            Err(error) => return unreadable(call, "what is asked", &error),
        };
        let stands = async { Ok((self.deciders(&call, &body).await?, self.answered(&call).await?)) };
        match stands.await {
            Ok((deciders, answered)) => Ok(Ok(PendingEntry { call, body, deciders, answered })),
            Err(RuntimeError::Unreadable { what, detail, .. }) => {
                unreadable(call, &format!("the session's {what}"), &detail)
            }
            Err(RuntimeError::Store(error))
                if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::KeyMissing) =>
            {
                let why = error.to_string().replace('\n', " ");
                Ok(Err(UnreadablePending { call, why }))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the open pending call with this id, of a session or of a child in its tree. Returns `None` if the
    /// call is closed.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), the session never opened a pending call
    /// with this [id](RuntimeError::NotAsked), or the call cannot be [read](RuntimeError::Unreadable).
    pub async fn pending_call(
        &self,
        key: &SessionKey,
        pending: &PendingId,
    ) -> Result<Option<PendingEntry>, RuntimeError> {
        let (key, found) = self.find_pending(key, pending).await?;
        if found.is_none() {
            self.life_of(&key, pending).await?;
        }
        Ok(found)
    }

    /// Returns the session that opened the pending call (`key`, or a session of its tree), and the call if it
    /// is still open.
    async fn find_pending(
        &self,
        key: &SessionKey,
        pending: &PendingId,
    ) -> Result<(SessionKey, Option<PendingEntry>), RuntimeError> {
        let open = |calls: Vec<PendingCall>| calls.into_iter().find(|call| call.id == *pending);
        let (mut asker, mut call) = (key.clone(), open(self.own_calls(key).await?));
        if call.is_none() {
            asker = self.asker(key, pending).await?;
            if asker != *key {
                call = open(self.own_calls(&asker).await?);
            }
        }
        match call {
            Some(call) => Ok((asker, Some(self.entry(call).await?.map_err(RuntimeError::from)?))),
            None => Ok((asker, None)),
        }
    }

    /// Returns the binding for an answer of this kind to `pending`, even if the call is closed.
    pub(super) async fn bound_to(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        asked: PendingKind,
    ) -> Result<Bound, RuntimeError> {
        let (key, found) = self.find_pending(key, pending).await?;
        match found {
            Some(PendingEntry { call, .. }) if call.kind != asked => {
                let (call, found) = (call.call, call.kind);
                Err(RuntimeError::OtherAnswer { key, call, found, asked })
            }
            Some(asked) => Ok(Bound {
                key,
                life: asked.call.incarnation,
                saw: asked.body.digest,
                asked: Some(Box::new(asked)),
            }),
            None => {
                let life = self.life_of(&key, pending).await?;
                Ok(Bound { key, life, saw: Digest::of(b""), asked: None })
            }
        }
    }

    /// Returns the session's incarnation, if the pending call was opened in it.
    async fn life_of(&self, key: &SessionKey, pending: &PendingId) -> Result<Incarnation, RuntimeError> {
        let life = self.existing(key).await?.incarnation;
        match pending.parts() {
            Some((asked_in, _)) if asked_in == life => Ok(life),
            Some(_) | None => {
                tracing::warn!(session = %key, %pending, "an answer to a call that nobody knows is ignored");
                Err(RuntimeError::NotAsked { key: key.clone(), pending: pending.clone() })
            }
        }
    }
}
