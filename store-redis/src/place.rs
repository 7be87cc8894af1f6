//! Places in the indexes. A place holds an instant, as text that sorts like the instant, and ids. All members of an
//! index have the same score, so they sort by their bytes.

use holdover_store::PendingCall;
use holdover_store::ids::{Incarnation, PendingId, SessionId, SessionKey, TenantId};
use holdover_store::rows::{DueGroup, DuePlace, PendingPlace, SessionPlace};
use holdover_store::time::Timestamp;

use crate::args::clamped;

/// The length of an instant as text: one digit for the sign, then 16 digits.
const INSTANT: usize = 17;

/// The number that is added to an instant before 1970, so that its text sorts correctly.
const BEFORE: i64 = 1 << 53;

/// Returns an instant as text that sorts like the instant.
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

/// Returns the place of a session among those of all tenants.
pub(crate) fn of_all(at: Timestamp, key: &SessionKey) -> Vec<u8> {
    // Ids contain no control character, so NUL ends the first one.
    format!("{}{}\0{}", instant(at), key.tenant, key.id).into_bytes()
}

/// Returns the place of a session among those of its tenant.
pub(crate) fn of_tenant(at: Timestamp, id: &SessionId) -> Vec<u8> {
    format!("{}{id}", instant(at)).into_bytes()
}

/// Returns the place of a session among those of its tenant, by incarnation.
pub(crate) fn of_life(life: Incarnation, created: Timestamp, id: &SessionId) -> Vec<u8> {
    format!("{life}{}{id}", instant(created)).into_bytes()
}

/// The length of an incarnation as text.
const LIFE: usize = 32;

/// Reads a place among the sessions of one tenant, by incarnation.
pub(crate) fn lived(place: &[u8], tenant: &TenantId) -> Option<SessionPlace> {
    let (life, place) = place.split_at_checked(LIFE)?;
    life.iter().all(u8::is_ascii_hexdigit).then(|| listed(place, tenant)).flatten()
}

/// Returns the beginning of the places of a tenant's sessions with this label. It contains the lengths of the name
/// and the value, so no beginning is that of another label.
pub(crate) fn label_head(name: &str, value: &str) -> Vec<u8> {
    format!("{}:{name}{}:{value}", name.len(), value.len()).into_bytes()
}

/// Returns the place of a session among those of its tenant, by a label.
pub(crate) fn of_label(name: &str, value: &str, created: Timestamp, id: &SessionId) -> Vec<u8> {
    [label_head(name, value), of_tenant(created, id)].concat()
}

/// Reads a place among the sessions of one tenant, by label.
pub(crate) fn labelled(place: &[u8], tenant: &TenantId) -> Option<SessionPlace> {
    listed(behind_text(behind_text(place)?)?, tenant)
}

/// Returns the bytes after a text that begins with its length.
fn behind_text(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == b':')?;
    let length: usize = std::str::from_utf8(bytes.get(..end)?).ok()?.parse().ok()?;
    bytes.get(end + 1..)?.get(length..)
}

/// Returns the place of a pending call among those of its tenant. Calls without a deadline come last.
pub(crate) fn of_pending(call: &PendingCall) -> Vec<u8> {
    pending_at(call.deadline, &call.key.id, &call.id)
}

/// Returns the place of a pending call with this deadline.
pub(crate) fn pending_at(deadline: Option<Timestamp>, session: &SessionId, id: &PendingId) -> Vec<u8> {
    let at = deadline.map_or_else(|| "2".to_owned(), instant);
    format!("{at}\0{session}\0{id}").into_bytes()
}

/// Returns the bytes of a pending call's place.
pub(crate) fn pending_place(place: &PendingPlace) -> Vec<u8> {
    pending_at((!place.endless).then_some(place.deadline), &place.session, &place.id)
}

/// Returns the beginning of the places of a tenant's pending calls of this kind. It contains the length of the kind,
/// and a digit follows it, so no beginning is that of another kind.
pub(crate) fn kind_head(kind: &str) -> Vec<u8> {
    format!("{}:{kind}", kind.len()).into_bytes()
}

/// Returns the place of a pending call among those of its tenant, by kind. `place` is its place among all of them.
pub(crate) fn of_kind(kind: &str, place: &[u8]) -> Vec<u8> {
    [kind_head(kind).as_slice(), place].concat()
}

/// Reads a place among the pending calls of one tenant, by kind.
pub(crate) fn pending_of_kind(place: &[u8]) -> Option<PendingPlace> {
    pending(behind_text(place)?)
}

/// The length of a format as text.
const FORMAT: usize = 10;

/// Returns the beginning of the places of a group: its queue, and its format as text that sorts correctly. No
/// queue has an empty name, so sessions with an interrupt waiting come first.
pub(crate) fn head(group: &DueGroup) -> Vec<u8> {
    let (queue, format) = match group {
        DueGroup::Interrupted => (&[][..], 0),
        DueGroup::Queue { queue, format } => (queue.as_slice(), format.0),
    };
    [queue, format!("\0{format:0FORMAT$}\0").as_bytes()].concat()
}

/// Returns the place of a session in its group, by alarm.
pub(crate) fn of_due(group: &DueGroup, place: &DuePlace) -> Vec<u8> {
    [head(group).as_slice(), instant(place.alarm).as_bytes(), &place.tenant, &[0], &place.id].concat()
}

/// Returns the place of a session in its group, by tenant.
pub(crate) fn of_turn(group: &DueGroup, place: &DuePlace) -> Vec<u8> {
    [head(group).as_slice(), &place.tenant, &[0], instant(place.alarm).as_bytes(), &place.id].concat()
}

/// Returns the bytes after the head of a group.
fn in_group(place: &[u8]) -> Option<&[u8]> {
    let (_, rest) = split(place)?;
    let (format, rest) = rest.split_at_checked(FORMAT)?;
    rest.strip_prefix(&[0]).filter(|_| format.iter().all(u8::is_ascii_digit))
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

/// Reads a place by alarm.
pub(crate) fn due(place: &[u8]) -> Option<DuePlace> {
    let (alarm, names) = in_group(place)?.split_at_checked(INSTANT)?;
    let (tenant, id) = split(names)?;
    Some(DuePlace { alarm: instant_of(alarm)?, tenant: tenant.to_vec(), id: id.to_vec() })
}

/// Reads a place by tenant.
pub(crate) fn turn(place: &[u8]) -> Option<DuePlace> {
    let (tenant, rest) = split(in_group(place)?)?;
    let (alarm, id) = rest.split_at_checked(INSTANT)?;
    Some(DuePlace { alarm: instant_of(alarm)?, tenant: tenant.to_vec(), id: id.to_vec() })
}

/// Reads a place among the sessions of all tenants.
pub(crate) fn session(place: &[u8]) -> Option<SessionPlace> {
    let (at, ids) = place.split_at_checked(INSTANT)?;
    let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
    let key = SessionKey::new(tenant.parse().ok()?, id.parse().ok()?);
    Some(SessionPlace { at: instant_of(at)?, key })
}

/// Reads a place among the sessions of one tenant.
pub(crate) fn listed(place: &[u8], tenant: &TenantId) -> Option<SessionPlace> {
    let (at, id) = place.split_at_checked(INSTANT)?;
    let key = SessionKey::new(tenant.clone(), std::str::from_utf8(id).ok()?.parse().ok()?);
    Some(SessionPlace { at: instant_of(at)?, key })
}

/// Reads a place among the pending calls of one tenant.
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
    use holdover_store::ids::StateFormat;

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
    fn groups_stand_together_and_each_is_in_the_order_of_its_index() {
        let queue =
            |queue: &str, format| DueGroup::Queue { queue: queue.into(), format: StateFormat(format) };
        let groups = [
            DueGroup::Interrupted,
            queue("a", 2),
            queue("a", 10),
            queue("a", u32::MAX),
            queue("a b", 1),
            queue("aa", 1),
        ];
        assert!(groups.is_sorted());
        let names = [("t", "s"), ("t", "s2"), ("t 2", "s"), ("u", "s")];
        let alarms = [-1, 0, 7].map(Timestamp::from_ms);
        let place =
            |alarm, (tenant, id): (&str, &str)| DuePlace { alarm, tenant: tenant.into(), id: id.into() };
        let by_alarm = alarms.iter().flat_map(|alarm| names.map(|names| place(*alarm, names)));
        let by_alarm: Vec<_> = by_alarm.collect();
        let mut by_tenant = by_alarm.clone();
        by_tenant.sort_by_key(|place| (place.tenant.clone(), place.alarm, place.id.clone()));
        let all = |places: &[DuePlace], of: fn(&DueGroup, &DuePlace) -> Vec<u8>| {
            let all = groups.iter().flat_map(|group| places.iter().map(move |place| of(group, place)));
            all.collect::<Vec<_>>()
        };
        let (due_places, turn_places) = (all(&by_alarm, of_due), all(&by_tenant, of_turn));
        assert!(due_places.is_sorted() && turn_places.is_sorted());
        for (read, places, stored) in
            [(due as fn(&[u8]) -> _, &by_alarm, due_places), (turn, &by_tenant, turn_places)]
        {
            let there = groups.iter().flat_map(|_| places.clone());
            assert_eq!(
                stored.iter().map(|stored| read(stored).unwrap()).collect::<Vec<_>>(),
                there.collect::<Vec<_>>()
            );
        }
        let one = of_due(&queue("q", 1), &place(alarms[2], names[0]));
        assert_eq!(one, b"q\x000000000001\x0010000000000000007t\0s", "what is stored stays readable");
    }

    #[test]
    fn no_label_begins_as_another_does() {
        let tenant = TenantId::new("t").unwrap();
        let texts = ["", "a", "a1", "1", "1:", "1:a", "ab", "\0"];
        let labels: Vec<_> = texts.iter().flat_map(|name| texts.map(|value| (*name, value))).collect();
        for (name, value) in &labels {
            let place = of_label(name, value, Timestamp::from_ms(-9), &key().id);
            assert_eq!(
                labelled(&place, &tenant),
                Some(SessionPlace { at: Timestamp::from_ms(-9), key: key() })
            );
            let begin = labels.iter().filter(|(name, value)| place.starts_with(&label_head(name, value)));
            assert_eq!(begin.collect::<Vec<_>>(), [&(*name, *value)]);
        }
        assert_eq!(label_head("agent", "a"), b"5:agent1:a", "what is stored stays readable");
    }

    #[test]
    fn no_kind_begins_as_another_does() {
        let kinds = ["approval", "approva", "approval1", "approval12", "1", "12", "-"];
        let calls = [None, Some(-9), Some(9)]
            .map(|at: Option<i64>| pending_at(at.map(Timestamp::from_ms), &key().id, &"p".parse().unwrap()));
        for (kind, call) in kinds.iter().flat_map(|kind| calls.iter().map(move |call| (*kind, call))) {
            let place = of_kind(kind, call);
            assert_eq!(pending_of_kind(&place), pending(call));
            assert!(pending(call).is_some());
            let begin = kinds.iter().filter(|kind| place.starts_with(&kind_head(kind)));
            assert_eq!(begin.collect::<Vec<_>>(), [&kind]);
        }
        assert_eq!(kind_head("dead_letter"), b"11:dead_letter", "what is stored stays readable");
    }

    #[test]
    fn a_made_up_place_is_none() {
        let tenant = TenantId::new("t").unwrap();
        for bad in
            [&b""[..], b"1:a", b"1:a1:", b"9:a1:b10000000000000009s", b"x:a1:b10000000000000009s", b"1:a1:b"]
        {
            assert!(labelled(bad, &tenant).is_none() && pending_of_kind(bad).is_none(), "{bad:?}");
        }
        let life = Incarnation(uuid::Uuid::from_u128(7));
        let lives = of_life(life, Timestamp::from_ms(9), &key().id);
        assert_eq!(lived(&lives, &tenant).unwrap(), SessionPlace { at: Timestamp::from_ms(9), key: key() });
        assert!(lives.starts_with(life.to_string().as_bytes()));
        assert!(lived(&lives[1..], &tenant).is_none() && lived(&lives[..LIFE], &tenant).is_none());
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
        assert!(due(b"q\x000000000001\x0010000000000000007t\0s").is_some());
        assert!(turn(b"q\x000000000001\0t\x0010000000000000007s").is_some());
        for bad in [
            &b"q"[..],
            b"q\0",
            b"q\x00000000000x\x0010000000000000007t\0s",
            b"q\x0000000000010",
            b"q\x000000000001\x0010000000000000007t",
            b"q\x000000000001\0t",
        ] {
            assert!(due(bad).is_none() && turn(bad).is_none(), "{bad:?}");
        }
    }
}
