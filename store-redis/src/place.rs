//! Places in the indexes, as the scripts write them: an instant whose text has its order, then ids.

use holdover_store::ids::{PendingId, SessionId, SessionKey, TenantId};

/// How long the text of an instant is: a digit for the sign, then 16.
const INSTANT: usize = 17;

/// What comes after the instant.
fn after_instant(place: &[u8]) -> Option<&[u8]> {
    let (instant, rest) = place.split_at_checked(INSTANT)?;
    let sign = instant.first()?;
    (matches!(sign, b'0' | b'1') && instant.iter().all(u8::is_ascii_digit)).then_some(rest)
}

/// Ids hold no control character, so NUL ends the first.
fn two<'a, A, B>(
    ids: &'a [u8],
    first: impl Fn(&'a str) -> Option<A>,
    second: impl Fn(&'a str) -> Option<B>,
) -> Option<(A, B)> {
    let (a, b) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
    Some((first(a)?, second(b)?))
}

/// The session at a place among those of all tenants.
pub(crate) fn session(place: &[u8]) -> Option<SessionKey> {
    let ids = after_instant(place)?;
    let (tenant, id) = two(ids, |id| id.parse::<TenantId>().ok(), |id| id.parse::<SessionId>().ok())?;
    Some(SessionKey::new(tenant, id))
}

/// Whether it is a place among the sessions of one tenant.
pub(crate) fn is_of_tenant(place: &[u8]) -> bool {
    let id = after_instant(place).and_then(|id| std::str::from_utf8(id).ok());
    id.is_some_and(|id| id.parse::<SessionId>().is_ok())
}

/// Whether it is a place among the pending calls of one tenant: those without a deadline come last.
pub(crate) fn is_of_pending(place: &[u8]) -> bool {
    let rest = place.strip_prefix(b"2").or_else(|| after_instant(place));
    let ids = rest.and_then(|rest| rest.strip_prefix(b"\0"));
    ids.and_then(|ids| two(ids, |id| id.parse::<SessionId>().ok(), |id| id.parse::<PendingId>().ok()))
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_place_is_none() {
        assert_eq!(session(b"10000000000000009t\0s").unwrap().to_string(), "t/s");
        assert!(is_of_tenant(b"00000000000000009s"));
        assert!(is_of_pending(b"2\0s\0p") && is_of_pending(b"10000000000000009\0s\0p"));
        for bad in [
            &b""[..],
            b"\xff",
            b"1",
            b"10000000000000009",
            b"30000000000000009t\0s",
            b"1000000000000000xt\0s",
        ] {
            assert!(session(bad).is_none() && !is_of_tenant(bad) && !is_of_pending(bad), "{bad:?}");
        }
    }
}
