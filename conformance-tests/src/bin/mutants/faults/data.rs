//! Bytes, sizes and instants.

use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{Commit, NewMessage, Release};

use crate::fault::{Mutant, broken};
use crate::sound;

/// Changes every message and the state of a commit before it is stored.
fn changed(mut commit: Commit, change: fn(&[u8]) -> Vec<u8>) -> Commit {
    for message in &mut commit.messages {
        if let NewMessage::Inline(payload) = message {
            *payload = Payload::new(change(payload.bytes()));
        }
    }
    if let Some(state) = &mut commit.state {
        state.payload = Payload::new(change(state.payload.bytes()));
    }
    commit
}

/// Defines a store that changes bytes.
macro_rules! bytes_become {
    ($name:literal, $broken:literal, $change:expr) => {
        broken($name, $broken).commit(|tx, fence, commit| sound::commit(tx, fence, changed(commit, $change)))
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    bytes_become!("bytes-through-lossy-utf8", "bytes that are no UTF-8 are replaced", |bytes| {
        String::from_utf8_lossy(bytes).into_owned().into_bytes()
    }),
    bytes_become!("bytes-end-at-nul", "bytes end at the first NUL", |bytes| bytes
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default()
        .to_vec()),
    bytes_become!("json-written-anew", "bytes that are JSON are parsed and written anew", |bytes| {
        let parsed = serde_json::from_slice::<serde_json::Value>(bytes);
        parsed.ok().and_then(|value| serde_json::to_vec(&value).ok()).unwrap_or_else(|| bytes.to_vec())
    }),
    bytes_become!("json-escapes-checked", "escapes that stand for no character are dropped", |bytes| {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.replace("\\ud8", "\\ufff").replace("\\uD8", "\\uFFF").into_bytes(),
            Err(_) => bytes.to_vec(),
        }
    }),
    bytes_become!(
        "json-at-most-sixty-four-deep",
        "what is nested deeper than 64 levels is kept as null",
        |bytes| {
            let deep = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > 64;
            if deep { b"null".to_vec() } else { bytes.to_vec() }
        }
    ),
    bytes_become!("text-normalised", "characters without width and combining marks are dropped", |bytes| {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let dropped = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{300}'..='\u{36f}');
                text.chars().filter(|c| !dropped(*c)).collect::<String>().into_bytes()
            }
            Err(_) => bytes.to_vec(),
        }
    }),
    bytes_become!("empty-is-null", "empty bytes are kept as null", |bytes| if bytes.is_empty() {
        b"null".to_vec()
    } else {
        bytes.to_vec()
    }),
    bytes_become!("bytes-end-at-a-mebibyte", "bytes beyond the first mebibyte are cut", |bytes| bytes
        [..bytes.len().min((1 << 20) - 1)]
        .to_vec()),
    broken("no-limits", "payloads larger than the declared limit are accepted")
        .check_payload(|_| Ok(()))
        .check_commit(|_| Ok(())),
    broken("labels-without-bounds", "a session may have any number of labels").check_create(|_| Ok(())),
    broken("instants-in-seconds", "instants are kept in whole seconds").commit(|tx, fence, mut commit| {
        let whole = |at: Timestamp| Timestamp::from_ms(at.as_ms() / 1_000 * 1_000);
        if let Some(Release::To { deadline, .. }) = &mut commit.release {
            *deadline = deadline.map(whole);
        }
        commit.open.iter_mut().for_each(|open| open.deadline = open.deadline.map(whole));
        sound::commit(tx, fence, commit)
    }),
    broken("instants-end-in-2038", "instants are kept in 32 bits of seconds").commit(
        |tx, fence, mut commit| {
            let last = Timestamp::from_ms(i64::from(i32::MAX) * 1_000);
            if let Some(Release::To { deadline, .. }) = &mut commit.release {
                *deadline = deadline.map(|at| at.min(last));
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken("past-alarm-is-none", "an alarm in the past is taken for none").commit(|tx, fence, mut commit| {
        let now = tx.now;
        if let Some(Release::To { deadline, .. }) = &mut commit.release {
            *deadline = deadline.filter(|at| *at >= now);
        }
        sound::commit(tx, fence, commit)
    }),
    broken(
        "nothing-survives-reopen",
        "the newest messages and state are not yet on disk when the store is closed",
    )
    .reopen(|sessions| {
        for record in sessions.values_mut() {
            record.messages.pop();
            record.state = None;
        }
    }),
];
