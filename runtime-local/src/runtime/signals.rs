//! Named signals: words from outside that a session holds until a call waits for their name.

use holdover_core::ids::{InboxSeq, InvalidId, ItemKey, SessionKey};
use holdover_core::payload::Payload;
use holdover_core::signal::{
    NamedSignal, SIGNAL_BODY_BYTES_MAX, SIGNALS_HELD_MAX, SignalName, is_signal, signal_kind,
};
use holdover_core::store::{
    Delivery, INBOX_PAGE, InboxItem, ItemKind, Session, SessionStatus, StoredItem, Wake,
};
use holdover_core::time::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Runtime;
use super::delivery::DeliveredItem;
use super::keys::{self, Once};
use super::standing::machine_of;
use crate::error::{RuntimeError, SignalError};

/// The beginning of the key of the nudge that follows a signal. The nudge means nothing to a run: it only wakes the session.
const NUDGE: &str = "nudge";

/// A named signal for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// The name that a call waits for.
    pub name: SignalName,
    /// The body, as JSON text.
    pub body: String,
    /// The idempotency key: the session takes the signal at most once under it. It is a key of signals, as in
    /// [`Deliver::once`](super::Deliver::once).
    pub idempotency_key: Option<ItemKey>,
}

impl Signal {
    /// Creates a signal with the body `null`.
    ///
    /// # Errors
    /// The name breaks a rule for names: only `A-Z`, `a-z`, `0-9`, `_` and `-`, at most 64 bytes.
    pub fn new(name: impl AsRef<str>) -> Result<Self, InvalidId> {
        Ok(Self { name: SignalName::new(name)?, body: "null".to_owned(), idempotency_key: None })
    }

    /// Sets the body. The call that takes the signal returns it as JSON text.
    ///
    /// # Errors
    /// The value cannot be written as JSON, for example a map whose keys are not strings.
    pub fn with(self, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { body: serde_json::to_string(body)?, ..self })
    }

    /// Sets the body from JSON text. The call that takes the signal returns the same text, to the byte.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn with_json(self, body: impl Into<String>) -> Result<Self, serde_json::Error> {
        let body = body.into();
        serde_json::from_str::<&RawValue>(&body)?;
        Ok(Self { body, ..self })
    }

    /// Sends at most once under this key. Without a key, each call sends another signal.
    #[must_use]
    pub fn once(self, key: impl Into<Option<ItemKey>>) -> Self {
        Self { idempotency_key: key.into(), ..self }
    }
}

/// A signal that no call has taken yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HeldSignal {
    /// The place in the inbox.
    pub item: InboxSeq,
    /// The name.
    pub name: SignalName,
    /// The body, as JSON text.
    pub body: String,
    /// The time of the delivery.
    pub at: Timestamp,
}

impl Runtime {
    /// Sends a named signal to a session. If a call waits for the name, it takes the signal and the turn goes on: a worker,
    /// or a caller that waits for the session, does that. Otherwise the session holds the signal until a call waits for it,
    /// and does not wake up. Held signals are taken in the order of arrival, and outlive turns.
    ///
    /// Once this returns, the signal survives what a commit survives, and the call that waits for it will get it. If it
    /// fails, repeat it with the same key: a signal that was accepted before under its key is a
    /// [`Duplicate`](super::Delivered::Duplicate), even if it was taken since.
    ///
    /// A session holds at most [`SIGNALS_HELD_MAX`] signals. Callers that signal at the same moment may exceed the limit,
    /// each by one signal.
    ///
    /// Errors: the session holds [too many signals](SignalError::Full), the body has [too many
    /// bytes](SignalError::TooLong) or is [not JSON](SignalError::NotJson), the name is not
    /// [valid](RuntimeError::Id), the key was used before for [something else](RuntimeError::KeyConflict), the
    /// session is [aborted](RuntimeError::Aborted), or there is [no such session](RuntimeError::NotFound). Nothing is
    /// stored then.
    pub async fn signal(&self, key: &SessionKey, signal: Signal) -> Result<DeliveredItem, RuntimeError> {
        let Signal { name, body, idempotency_key } = signal;
        let name = SignalName::new(name.as_str())?;
        let bytes = body.len();
        if bytes > SIGNAL_BODY_BYTES_MAX {
            let key = key.clone();
            return Err(SignalError::TooLong { key, name, bytes, bytes_max: SIGNAL_BODY_BYTES_MAX }.into());
        }
        if let Err(error) = serde_json::from_str::<&RawValue>(&body) {
            return Err(SignalError::NotJson { key: key.clone(), name, detail: error.to_string() }.into());
        }
        let once = idempotency_key.map_or(Once::Never, Once::Key);
        let session = self.existing(key).await?;
        let waits = awaits(&session, &name);
        let wake = match session.status {
            _ if waits => Wake::Now,
            // The run that holds the session may be about to wait for the signal. A turn that waits for no signal is not
            // woken by the count.
            SessionStatus::Active => Wake::Count,
            SessionStatus::Idle
            | SessionStatus::Suspended
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Aborted => Wake::Quiet,
        };
        let payload = Payload::json(&NamedSignal::new(name.clone(), body));
        let item = InboxItem {
            key: keys::of_signal(&once)?,
            kind: signal_kind(wake)?,
            incarnation: Some(session.incarnation),
            payload: payload.map_err(|error| RuntimeError::unreadable(key, "signal", error))?,
        };
        self.refuse_if_full(&session, &item, &name).await?;
        let delivered = match self.host.repeated(|| self.host.store().deliver(key, item.clone())).await? {
            Delivery::Accepted { seq } => DeliveredItem::accepted(seq),
            Delivery::Duplicate { seq } => DeliveredItem::duplicate(seq),
            Delivery::Conflict { .. } => return Err(keys::conflict(key, once.named(), item.key)),
            Delivery::Aborted => return Err(RuntimeError::Aborted { key: key.clone() }),
            Delivery::NotFound | Delivery::AlreadyAnswered | Delivery::NotPending => {
                return Err(RuntimeError::NotFound { key: key.clone() });
            }
        };
        // Also after a duplicate: the first attempt may have died before this.
        if wake == Wake::Quiet || delivered.is_duplicate() {
            self.nudge(&session, &name, delivered).await?;
        }
        Ok(delivered)
    }

    /// Lists the signals that a session holds, in the order of arrival.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound).
    pub async fn held_signals(&self, key: &SessionKey) -> Result<Vec<HeldSignal>, RuntimeError> {
        let session = self.existing(key).await?;
        let held = self.signals_of(&session).await?;
        let read = |item: StoredItem| {
            let NamedSignal { name, body, .. } = NamedSignal::of(&item)?;
            Some(HeldSignal { item: item.seq, name, body, at: item.at })
        };
        Ok(held.into_iter().filter_map(read).collect())
    }

    async fn signals_of(&self, session: &Session) -> Result<Vec<StoredItem>, RuntimeError> {
        let mut held = Vec::new();
        let mut after = Some(InboxSeq(0)).filter(|_| session.unread > 0);
        while let Some(place) = after {
            let page = self.host.store().read_inbox(&session.key, place, INBOX_PAGE).await?;
            held.extend(page.items.into_iter().filter(is_signal));
            after = page.next;
        }
        Ok(held)
    }

    /// Refuses a signal if the session holds as many as it may, unless a call waits for it or the signal was accepted
    /// before under its key.
    async fn refuse_if_full(
        &self,
        session: &Session,
        item: &InboxItem,
        name: &SignalName,
    ) -> Result<(), RuntimeError> {
        let most = u64::try_from(SIGNALS_HELD_MAX).unwrap_or(u64::MAX);
        // The inbox holds no more signals than unread items.
        if session.unread < most {
            return Ok(());
        }
        let held = self.signals_of(session).await?;
        let machine = machine_of(session).ok().flatten();
        let wanted =
            machine.map_or(0, |machine| machine.awaited_signals().filter(|one| *one == name).count());
        let named = held.iter().filter_map(NamedSignal::of).filter(|signal| signal.name == *name).count();
        // A call takes the signal at once, however many others are held.
        if held.len() < SIGNALS_HELD_MAX || named < wanted {
            return Ok(());
        }
        match self.probe_key(session, &item.key).await? {
            Delivery::Duplicate { .. } | Delivery::Conflict { .. } => Ok(()),
            Delivery::Accepted { .. }
            | Delivery::AlreadyAnswered
            | Delivery::NotPending
            | Delivery::Aborted
            | Delivery::NotFound => {
                Err(SignalError::Full { key: session.key.clone(), held_max: SIGNALS_HELD_MAX }.into())
            }
        }
    }

    /// Wakes the session if a call waits for a signal that was delivered without waking anybody. The session was read
    /// before the delivery. If no run has claimed it since, the next claim brings the signal along. Otherwise a run may have
    /// parked a call without having read the signal.
    async fn nudge(
        &self,
        before: &Session,
        name: &SignalName,
        signal: DeliveredItem,
    ) -> Result<(), RuntimeError> {
        let key = &before.key;
        let now = self.existing(key).await?;
        let may_wait = match now.status {
            SessionStatus::Active => now.epoch != before.epoch || signal.is_duplicate(),
            SessionStatus::Suspended => awaits(&now, name),
            SessionStatus::Idle
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Aborted => false,
        };
        if now.incarnation != before.incarnation || !may_wait {
            return Ok(());
        }
        let nudge = InboxItem {
            key: ItemKey::new(format!("{NUDGE}:{}", signal.item))?,
            kind: ItemKind::Signal { wake: Wake::Count },
            incarnation: Some(before.incarnation),
            payload: Payload::new(r#"{"signal":"look"}"#),
        };
        self.host.repeated(|| self.host.store().deliver(key, nudge.clone())).await?;
        Ok(())
    }
}

/// Returns true if a call of the session waits for a signal with this name, or if the state cannot be read here.
fn awaits(session: &Session, name: &SignalName) -> bool {
    match machine_of(session) {
        Ok(machine) => {
            machine.is_some_and(|machine| machine.awaited_signals().any(|awaited| awaited == name))
        }
        Err(_) => true,
    }
}
