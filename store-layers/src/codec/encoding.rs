//! The layer that encodes requests and decodes answers.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use holdover_store::ids::{OperationId, SessionKey, TenantId};
use holdover_store::payload::{Digest, Payload};
use holdover_store::{
    Answer, Capabilities, Claim, ClaimOutcome, Commit, CommitOutcome, CreateOutcome, ErrorInfo,
    InterruptCheck, Layer, Layered, OutcomeKind, Release, Request, Retry, RunEnd, StateStore, StoreError,
    StoreErrorKind,
};

use super::decoder::{Decoder, Fit};
use super::encoder::{Encoder, unknown};
use super::ways::{Compared, Ways};
use super::{PayloadCodec, PayloadContext, PayloadKind, page, room};

/// A store whose payloads are encoded by a codec. [`PayloadCodec::around`] makes one.
///
/// Every payload is encoded when it is written and decoded when it is read: definitions, states, messages,
/// staged results, inbox items, events, bodies of pending calls, details of runs, deltas, and reasons of
/// interrupts. Everything else passes unchanged in both directions.
///
/// - **Repeats.** The store recognises a repeat by its encoded bytes. If the store answers that it has other
///   bytes, the layer sends the request again in each older [way](PayloadCodec::ways). This is safe, because
///   such an answer means that nothing was changed.
/// - **Limits.** The [capabilities](StateStore::capabilities) are those of the store, minus the overhead of the codec.
///   A request within these limits fits; a larger request is refused before it is encoded. In a write of more than 4096
///   payloads, or fewer if the store's limit is small, the overhead of each further payload also counts. The reason of
///   an interrupt is kept as text, so its limit is smaller: a few bytes less than three quarters of the payload limit,
///   and at least half if such a store wraps another.
/// - **Pages** are also bounded after decoding. A page that decoding would make larger than
///   [`PAGE_BYTES_MAX`](holdover_store::PAGE_BYTES_MAX) ends earlier.
/// - **Errors.** A payload that cannot be decoded causes an error of the kind
///   [`Corrupt`](holdover_store::StoreErrorKind::Corrupt), or
///   [`KeyMissing`](holdover_store::StoreErrorKind::KeyMissing), that names the session and the field. The
///   layer gives back a claim of such a session. The session is due again when the lease would have ended. It
///   is due at once if the claim was not a takeover, and an interrupt waits or an item that wakes the session
///   arrived meanwhile. If the claim carried items or came with a creation, these were accepted, so the retry
///   of the error is `OutcomeUnknown`. The retry is the same if the claim could not be given back.
///   [`claim_due`](StateStore::claim_due) leaves such a session out. It fails with this error only if no
///   claim could be decoded. [`list_pending`](StateStore::list_pending) lists a call whose encryption key is
///   missing with its body still encoded.
/// - **Growth.** A payload that would become larger than [`DECODED_BYTES_MAX`], or than the store allows if
///   that is more, is not decoded. A smaller payload is decoded even if the present limits would refuse to
///   write it.
pub type Encoded<S, C> = Layered<S, Encoding<C>>;

/// The size up to which a payload is always decoded, in bytes, even if the store's present limit is lower.
/// The limit may have been higher when the payload was written.
pub const DECODED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The layer of an [`Encoded`] store.
#[derive(Debug)]
pub struct Encoding<C> {
    codec: C,
}

impl<C: PayloadCodec> Encoding<C> {
    /// Makes the layer that encodes payloads with `codec`.
    pub fn new(codec: C) -> Self {
        Self { codec }
    }

    /// Sends the request with every payload encoded. While the store answers that it has other bytes, sends
    /// the request again in an older way.
    async fn ask(&self, request: &Request, store: &Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let Some(key) = request.key() else { return request.clone().perform(store).await };
        let mut ways = Ways::newest(self.codec.ways());
        loop {
            let mut encoded = request.clone();
            Encoder::new(&self.codec, request.operation(), &key.tenant, &ways)
                .request(&mut encoded)
                .map_err(|error| error.on(key))?;
            let answer = encoded.perform(store).await?;
            match Compared::refused_by(&answer) {
                Some(compared) if ways.take_next(&compared) => {}
                Some(_) | None => return Ok(answer),
            }
        }
    }

    async fn decode(
        &self,
        mut request: Request,
        mut answer: Answer,
        store: &Arc<dyn StateStore>,
    ) -> Result<Answer, StoreError> {
        let bytes_max = self.capabilities(&**store).payload_bytes_max.max(DECODED_BYTES_MAX);
        let decoder = Decoder::new(&self.codec, request.operation(), bytes_max);
        loop {
            let rows = match self.decode_once(&decoder, &request, &mut answer, store).await? {
                Fit::Whole => return Ok(answer),
                Fit::Rows(rows) => rows,
            };
            answer = match (&request, answer) {
                (Request::ReadMessages(_, ranges), Answer::Messages(read)) => {
                    return Ok(page::messages(read, ranges, rows).into());
                }
                (Request::ReadInbox(..), Answer::Inbox(read)) => return Ok(page::inbox(read, rows).into()),
                (_, _) => match page::of_rows(&request, rows) {
                    // Only the store can give the cursor of a shorter page of these rows.
                    Some(shorter) => {
                        request = shorter;
                        request.clone().perform(store).await?
                    }
                    None => return Err(unknown(request.operation())),
                },
            };
        }
    }

    async fn decode_once(
        &self,
        decoder: &Decoder<'_, C>,
        request: &Request,
        answer: &mut Answer,
        store: &Arc<dyn StateStore>,
    ) -> Result<Fit, StoreError> {
        match (answer, request.key()) {
            (Answer::Created(CreateOutcome::Created { claim: Some(claim), version: _ }), _)
            | (Answer::Claimed(ClaimOutcome::Claimed(claim)), _) => {
                if let Err(error) = decoder.claim(claim) {
                    let error = self.give_back(claim, error, store).await;
                    return Err(if carries(request) { error.retry(Retry::OutcomeUnknown) } else { error });
                }
            }
            (Answer::ClaimedDue(claims), _) => {
                *claims = self.readable(decoder, std::mem::take(claims), store).await?;
            }
            (Answer::Session(Some(session)), _) => decoder.session(session)?,
            (Answer::Interrupt(InterruptCheck::Waiting(interrupt)), Some(key)) => {
                decoder.interrupt(key, interrupt)?;
            }
            (Answer::Messages(page), Some(key)) => return decoder.messages(key, &mut page.messages),
            (Answer::Inbox(page), Some(key)) => return decoder.items(key, &mut page.items),
            (Answer::Events(page), Some(key)) => return decoder.events(key, page),
            (Answer::Runs(page), Some(key)) => return decoder.runs(key, &mut page.items),
            (Answer::Pending(page), _) => return decoder.pending_calls(&mut page.items),
            (Answer::Checkpoints(page), Some(key)) => return decoder.checkpoints(key, &mut page.items),
            (
                Answer::Created(_)
                | Answer::Session(None)
                | Answer::Sessions(_)
                | Answer::Deleted(_)
                | Answer::Claimed(_)
                | Answer::Moved(_)
                | Answer::Renewed(_)
                | Answer::Staged(_)
                | Answer::Committed(_)
                | Answer::Streamed(_)
                | Answer::Interrupt(_)
                | Answer::Delivered(_)
                | Answer::Requested(_)
                | Answer::Changed(())
                | Answer::Forked(_)
                | Answer::Purged(_),
                _,
            ) => {}
            (_, _) => return Err(unknown(request.operation())),
        }
        Ok(Fit::Whole)
    }

    /// Returns the claims that can be decoded. Fails if there are claims and none can be decoded.
    async fn readable(
        &self,
        decoder: &Decoder<'_, C>,
        claims: Vec<Claim>,
        store: &Arc<dyn StateStore>,
    ) -> Result<Vec<Claim>, StoreError> {
        let mut readable = Vec::with_capacity(claims.len());
        let mut unreadable = None;
        for mut claim in claims {
            match decoder.claim(&mut claim) {
                Ok(()) => readable.push(claim),
                Err(error) => {
                    let error = self.give_back(&claim, error, store).await;
                    tracing::error!(session = %claim.fence.key, %error, "a due session cannot be read");
                    unreadable = Some(error);
                }
            }
        }
        match unreadable {
            Some(error) if readable.is_empty() => Err(error),
            Some(_) | None => Ok(readable),
        }
    }

    /// Gives back a claim that cannot be decoded, so that a worker without the key neither holds the session
    /// nor makes it fail. Returns the error for the caller.
    async fn give_back(&self, claim: &Claim, why: StoreError, store: &Arc<dyn StateStore>) -> StoreError {
        let key: &SessionKey = &claim.fence.key;
        let Ok(operation) = OperationId::new(claim.run.as_str()) else { return why };
        let mut commit = Commit::new(operation);
        commit.inbox_seen = Some(claim.session.last_item);
        commit.run = Payload::json(&ErrorInfo::new("store.corrupt", why.to_string()))
            .ok()
            .map(|detail| RunEnd { outcome: OutcomeKind::Released, detail });
        commit.release = Some(Release::GiveBack { alarm: Some(claim.lease_ends) });
        let request = Request::Commit(claim.fence.clone(), commit);
        match self.ask(&request, store).await {
            Ok(Answer::Committed(CommitOutcome::Committed(_) | CommitOutcome::StaleFence { .. })) => why,
            Ok(refused) => {
                tracing::warn!(session = %key, ?refused, "a claim could not be given back");
                why.retry(Retry::OutcomeUnknown)
            }
            Err(error) => {
                tracing::warn!(session = %key, %error, "a claim could not be given back");
                why.retry(Retry::OutcomeUnknown)
            }
        }
    }
}

/// Returns true if a granted claim of this request also accepted items or created the session.
fn carries(request: &Request) -> bool {
    matches!(request, Request::Create(_))
        || matches!(request, Request::Claim(_, claim) if !claim.items.is_empty())
}

#[async_trait]
impl<C: PayloadCodec> Layer for Encoding<C> {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let checked = room::check(&self.codec, &store.capabilities(), &request);
        checked.map_err(|error| StoreError { key: request.key().cloned().map(Box::new), ..error })?;
        let answer = self.ask(&request, &store).await?;
        self.decode(request, answer, &store).await
    }

    fn capabilities(&self, store: &dyn StateStore) -> Capabilities {
        room::capabilities(&self.codec, &store.capabilities())
    }

    /// Returns the digests of the words in each way, then the digests that the store gives without this
    /// layer.
    fn digests(
        &self,
        store: &dyn StateStore,
        tenant: &TenantId,
        words: &[u8],
    ) -> Result<Vec<Digest>, StoreError> {
        let of = PayloadContext { tenant, kind: PayloadKind::Key };
        let mut digests = Vec::new();
        for way in 0..self.codec.ways() {
            let encoded = self.codec.encode(&of, Bytes::copy_from_slice(words), way);
            let encoded = encoded.map_err(|error| {
                StoreError::new(StoreErrorKind::Backend, "digests", format!("words of {tenant}: {error}"))
            })?;
            digests.extend(store.digests(tenant, &encoded)?);
        }
        digests.extend(store.digests(tenant, words)?);
        Ok(digests)
    }
}
