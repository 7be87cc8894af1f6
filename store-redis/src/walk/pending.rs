//! Lists pending calls across the sessions of a tenant.

use bytes::Bytes;
use futures::FutureExt;
use holdover_store::ids::{SessionKey, TenantId};
use holdover_store::rows::{Kind, PendingPlace, Row, Scanned, Want, Which};
use holdover_store::{PendingCall, PendingQuery};

use super::{Beside, Walk};
use crate::apply::{kinds_index, pending_index};
use crate::error::Fault;
use crate::merge::{Found, Merge, Order};
use crate::place;
use crate::store::Shared;

/// The number of pending calls that are read at once.
const PENDING_AT_ONCE: usize = 64;

impl Shared {
    /// Lists open pending calls of a tenant, soonest deadline first, along the index of all of them or of their kind.
    pub(crate) async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, Fault> {
        let tenant = &query.tenant;
        let after = after.map(place::pending_place).unwrap_or_default();
        let mut merge = Merge::new(&self.keys, Order::Upwards, &after);
        let most = merge.share(limit).max(PENDING_AT_ONCE / 4);
        // Calls of earlier formats may be only in the index of all.
        let (index, heads) = match &query.kind {
            Some(kind) if self.has_all_kinds => (kinds_index(tenant), vec![place::kind_head(kind.as_str())]),
            Some(_) | None => (pending_index(tenant), Vec::new()),
        };
        let walk =
            |after: &Bytes| Walk { heads: heads.clone(), ..Walk::upwards(index.as_str(), after, "+", most) };
        let walk = &walk;
        let look = |asked: Vec<(u16, Bytes)>| {
            async move {
                let walk = |after: &Bytes| vec![walk(after)];
                let walks: Vec<_> =
                    asked.iter().map(|(partition, after)| (*partition, walk(after))).collect();
                let walked = self.walk(Beside::Nothing, Some(tenant), &walks).await?;
                let of_session =
                    |place: &PendingPlace| query.session.as_ref().is_none_or(|id| *id == place.session);
                let found = walked.into_iter().map(|walked| {
                    let members = walked.members.into_iter().flatten().collect::<Vec<_>>();
                    let looked = members.last().filter(|_| members.len() == most).cloned();
                    let places =
                        members.into_iter().filter_map(|member| Some((place::pending(&member)?, member)));
                    let rows =
                        places.filter(|(place, _)| of_session(place)).map(|(place, member)| (member, place));
                    Found { rows: rows.collect(), looked }
                });
                Ok(found.collect())
            }
            .boxed()
        };
        let (mut rows, mut read) = (Vec::new(), 0);
        loop {
            let mut places = Vec::new();
            let wanted = PENDING_AT_ONCE.min(limit - rows.len());
            while places.len() < wanted && merge.peek(&look).await?.is_some() {
                places.extend(merge.take());
            }
            if places.is_empty() {
                return Ok(Scanned { rows, next: None });
            }
            let calls = places.iter().map(|(member, place)| self.pending_at(tenant, member, place));
            for ((_, place), call) in places.iter().zip(futures::future::join_all(calls).await) {
                match call {
                    Ok(Some(call)) if query.kind.as_ref().is_none_or(|kind| *kind == call.kind) => {
                        read += call.body.len();
                        rows.push(call);
                    }
                    Ok(_) => {}
                    Err(Fault::Corrupt(detail)) => {
                        tracing::warn!(detail, "a list leaves out what cannot be read");
                    }
                    Err(fault) => return Err(fault),
                }
                if rows.len() == limit || read >= bytes {
                    return Ok(Scanned { rows, next: Some(place.clone()) });
                }
            }
        }
    }

    /// Returns the pending call at a place, if it is still there.
    async fn pending_at(
        &self,
        tenant: &TenantId,
        member: &[u8],
        place: &PendingPlace,
    ) -> Result<Option<PendingCall>, Fault> {
        let key = SessionKey::new(tenant.clone(), place.session.clone());
        let want = Want { which: Which::Names(vec![place.id.to_string()]), ..Want::all(Kind::Pending) };
        let found = self.read_rows(&key, &[want]).await?;
        let rows = found.rows.into_iter().flatten();
        let call = rows.filter_map(|row| if let Row::Pending { call, .. } = row { Some(call) } else { None });
        Ok(call.filter(|call| place::of_pending(call) == member).last())
    }
}
