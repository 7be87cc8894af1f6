//! Places in the indexes: an instant as a text that has its order, then ids. All members of an index have the same score,
//! so their bytes are their order.

use holdover_store::PendingCall;
use holdover_store::ids::{PendingId, SessionId, SessionKey, TenantId};
use holdover_store::rows::{PendingPlace, SessionPlace};
use holdover_store::time::Timestamp;

use crate::args::clamped;

/// How long the text of an instant is: a digit for the sign, then 16.
const INSTANT: usize = 17;

/// Added to an instant before 1970, so that its text has its order.
const BEFORE: i64 = 1 << 53;

/// An instant as a text whose order is that of time.
pub(crate) fn instant(at: Timestamp) -> String {
    match clamped(at) {
        before if before < 0 => format!("0{:016}", BEFORE + before),
        after => format!("1{after:016}"),
    }
}

fn instant_of(text: &[u8]) -> Option<Timestamp> {
    let (sign, digits) = text.split_first()?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match sign {
        b'0' => Some(Timestamp::from_ms(number - BEFORE)),
        b'1' => Some(Timestamp::from_ms(number)),
        _ => None,
    }
}

/// The place of a session among those of all tenants.
pub(crate) fn of_all(at: Timestamp, key: &SessionKey) -> Vec<u8> {
    // Ids hold no control character, so NUL ends the first.
    format!("{}{}\0{}", instant(at), key.tenant, key.id).into_bytes()
}

/// The place of a session among those of its tenant.
pub(crate) fn of_tenant(at: Timestamp, id: &SessionId) -> Vec<u8> {
    format!("{}{id}", instant(at)).into_bytes()
}

/// The place of a pending call among those of its tenant: those without a deadline come last.
pub(crate) fn of_pending(call: &PendingCall) -> Vec<u8> {
    pending_at(call.deadline, &call.key.id, &call.id)
}

/// The same of a call with this deadline.
pub(crate) fn pending_at(deadline: Option<Timestamp>, session: &SessionId, id: &PendingId) -> Vec<u8> {
    let at = deadline.map_or_else(|| "2".to_owned(), instant);
    format!("{at}\0{session}\0{id}").into_bytes()
}

/// The same of a place.
pub(crate) fn pending_place(place: &PendingPlace) -> Vec<u8> {
    pending_at((!place.endless).then_some(place.deadline), &place.session, &place.id)
}

/// The session at a place among those of all tenants.
pub(crate) fn session(place: &[u8]) -> Option<SessionPlace> {
    let (at, ids) = place.split_at_checked(INSTANT)?;
    let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
    let key = SessionKey::new(tenant.parse().ok()?, id.parse().ok()?);
    Some(SessionPlace { at: instant_of(at)?, key })
}

/// The session at a place among those of one tenant.
pub(crate) fn listed(place: &[u8], tenant: &TenantId) -> Option<SessionPlace> {
    let (at, id) = place.split_at_checked(INSTANT)?;
    let key = SessionKey::new(tenant.clone(), std::str::from_utf8(id).ok()?.parse().ok()?);
    Some(SessionPlace { at: instant_of(at)?, key })
}

/// The pending call at a place among those of one tenant.
pub(crate) fn pending(place: &[u8]) -> Option<PendingPlace> {
    let (at, ids) = std::str::from_utf8(place).ok()?.split_once('\0')?;
    let (session, id) = ids.split_once('\0')?;
    let endless = at == "2";
    let deadline = if endless {
        Timestamp::default()
    } else {
        instant_of(at.as_bytes()).filter(|_| at.len() == INSTANT)?
    };
    Some(PendingPlace { endless, deadline, session: session.parse().ok()?, id: id.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SessionKey {
        SessionKey::new("t".parse().unwrap(), "s".parse().unwrap())
    }

    #[test]
    fn places_read_back_and_are_in_the_order_of_time() {
        let instants = [-(1 << 53) + 1, -2, -1, 0, 1, (1 << 53) - 1].map(Timestamp::from_ms);
        let places = instants.map(|at| of_all(at, &key()));
        assert!(places.is_sorted());
        for (at, place) in instants.into_iter().zip(&places) {
            assert_eq!(session(place), Some(SessionPlace { at, key: key() }));
            let deadline = pending_at(Some(at), &key().id, &"p".parse().unwrap());
            assert_eq!(pending(&deadline).map(|place| (place.endless, place.deadline)), Some((false, at)));
        }
        assert_eq!(instant(Timestamp::from_ms(i64::MAX)), "19007199254740991", "what lies beyond comes last");
    }

    #[test]
    fn a_made_up_place_is_none() {
        let tenant = TenantId::new("t").unwrap();
        assert_eq!(session(b"10000000000000009t\0s").unwrap().key, key());
        assert_eq!(listed(b"00000000000000009s", &tenant).unwrap().key, key());
        assert!(pending(b"2\0s\0p").is_some() && pending(b"10000000000000009\0s\0p").is_some());
        for bad in [
            &b""[..],
            b"\xff",
            b"1",
            b"10000000000000009",
            b"30000000000000009t\0s",
            b"1000000000000000xt\0s",
        ] {
            assert!(session(bad).is_none() && pending(bad).is_none(), "{bad:?}");
        }
    }
}
