//! Pins the stored bytes: a change would break the recognition of repeats.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use holdover_store::ids::TenantId;
use holdover_store::payload::Digest;
use holdover_store_layers::{Compressed, Encrypted, PayloadCodec, PayloadContext, PayloadKind};

use crate::support::ring;

fn kept(codec: &impl PayloadCodec, plain: Bytes) -> Vec<u8> {
    let tenant: TenantId = "acme".parse().unwrap();
    let of = PayloadContext { tenant: &tenant, kind: PayloadKind::Message };
    codec.encode(&of, plain, 0).unwrap().to_vec()
}

/// Returns a text like a transcript, from a small set of words in a pseudo-random order.
fn transcript(messages: u32) -> Bytes {
    let words =
        ["the", "refund", "order", "of", "was", "approved", "a", "person", "tool", "said", "\\n", "{}"];
    let mut seed = 1_u32;
    let mut text = String::new();
    for number in 0..messages {
        text += &format!("{{\"seq\":{number},\"role\":\"user\",\"text\":\"");
        for _ in 0..12 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text += words[(seed >> 16) as usize % words.len()];
            text.push(' ');
        }
        text += "\"}\n";
    }
    text.into()
}

/// Returns the length and the digest of an encoded transcript.
fn kept_of(codec: &impl PayloadCodec, messages: u32) -> String {
    let kept = kept(codec, transcript(messages));
    format!("{} bytes {}", kept.len(), Digest::of(&kept))
}

#[test]
fn compressed_bytes_are_these() {
    let codec = Compressed::new();
    let hex = |plain| HEXLOWER.encode(&kept(&codec, plain));
    let found = [
        hex(Bytes::from("short")),
        hex(Bytes::from("again ".repeat(10))),
        kept_of(&codec, 1),
        kept_of(&codec, 40),
        kept_of(&codec, 4_000),
    ];
    let golden = [
        "f873686f7274",
        "f928b52ffd203c65000030616761696e200100cb598a",
        "85 bytes 35472d9f8d90ad559e2cf8590388ced1589a0b6b5efd2e5c7b0fee728b7702b2",
        "826 bytes 388109d62665400783bd1538861cc2e6313b3f976491155024becba69965e792",
        "64881 bytes 5ca492d7695aa6eb1eac57f10622504b2192fdbfba9c65490c93d940b317207f",
    ];
    assert_eq!(found, golden, "changed bytes need a word in the changelog: see `Compressed`");
}

#[test]
fn encrypted_bytes_are_these() {
    let codec = Encrypted::new(ring([1]));
    let hex = |plain| HEXLOWER.encode(&kept(&codec, plain));
    let found = [hex(Bytes::new()), hex(Bytes::from("said")), kept_of(&codec, 40)];
    assert_eq!(
        found,
        [
            "fa0000000124eb6a7b8a4ca4cedaa687b8b37dfe16",
            "fa000000018d85631c3bf4d64c395ef2d459cb63e056d5170d",
            "3741 bytes 8aef90b2fb9089d29b37ed0aef50a550b4ab2bc96f53c8d1ca37baab94bec8b0"
        ]
    );
}

#[test]
fn equal_payloads_of_other_kinds_and_tenants_differ() {
    let codec = Encrypted::new(ring([1]));
    let tenants: [TenantId; 2] = ["acme", "other"].map(|name| name.parse().unwrap());
    let kept = |tenant, kind| codec.encode(&PayloadContext { tenant, kind }, Bytes::from("said"), 0).unwrap();
    let first = kept(&tenants[0], PayloadKind::Message);
    assert_eq!(first, kept(&tenants[0], PayloadKind::Message));
    assert_ne!(first, kept(&tenants[1], PayloadKind::Message));
    assert_ne!(first, kept(&tenants[0], PayloadKind::Event));
}
