//! Fidelity: data is read back as it was written, byte for byte.

use super::prelude::*;

cases! {
    data.large_payload_1mib_and_16mib_or_typed_too_large: Core Sequential,
        "payloads of 1 MiB and 16 MiB come back whole, or are refused by name",
        "a payload that is cut is a transcript that does not parse",
        "Capabilities::payload_bytes_max; StoreErrorKind::TooLarge: nothing was changed (INV-38)";
    data.limit_boundary_exact: Core Property,
        "a payload at the limit is kept, one byte more is refused, in every operation that takes one",
        "a limit that is off by one is a limit that nobody can rely on",
        "Capabilities::payload_bytes_max: the largest single payload, in bytes";
    data.many_small_10k_messages: Core Sequential,
        "ten thousand messages in batches of 500 are there, in order",
        "long sessions are the ones that matter",
        "Commit::messages: appended in this order, with dense sequence numbers";
    data.unicode_nfc_nfd_emoji_rtl_zero_width: Core Sequential,
        "text comes back in the form it was written in",
        "a store that normalises breaks digests",
        "design 4: payloads are bytes; stores never parse them";
    data.nul_byte_in_string: Core Sequential,
        "a NUL is kept, as a byte and as an escape",
        "text and jsonb columns refuse it",
        "design 4: nothing is lost to a database's idea of JSON: NUL survives";
    data.lone_surrogate_escape: Core Sequential,
        "an escape that is no character is kept as it was written",
        "models write such things; jsonb refuses them",
        "design 4: payloads are bytes; stores never parse them";
    data.json_numbers_u64_max_i64_min_1e400_neg_zero_0_1: Core Sequential,
        "numbers come back digit by digit",
        "a detour over doubles changes ids and amounts",
        "design 4: 2⁶⁴−1, 1e400 survive";
    data.json_key_order_and_duplicate_keys: Core Sequential,
        "order, repetition and white space of JSON are kept",
        "an approval binds exact bytes",
        "design 4: duplicate keys survive";
    data.empty_and_null_are_different: Core Sequential,
        "no bytes, `null`, `\"\"` and `{}` stay what they are, and none of them is none",
        "a store that takes an empty text for NULL loses a state",
        "Session::state: none before the first commit that carries one";
    data.deeply_nested_json_128: Core Sequential,
        "128 levels of nesting are kept",
        "parsers have limits; a store does not parse",
        "design 4: payloads are bytes; stores never parse them";
    data.binary_blob_all_256_bytes: Core Sequential,
        "every byte value is kept, valid text or not",
        "an encrypted payload is no text",
        "Payload: bytes that a store keeps and never reads";
    data.ids_case_sensitive_and_trailing_space: Core Property,
        "ids that differ in case, white space or form are different",
        "a database's collation takes them for one",
        "ids: compared byte by byte: case matters, a trailing space matters";
    data.timestamps_keep_declared_resolution: Core Property,
        "instants come back to the millisecond",
        "a deadline rounded to seconds is early or late",
        "Timestamp: whole milliseconds since 1970";
    data.labels_over_the_bounds_are_refused: Core Sequential,
        "labels at their bounds are kept, beyond them refused by name",
        "an unbounded label is an unbounded row in every list",
        "Labels::LABELS_MAX, TEXT_BYTES_MAX (INV-38)";
    data.errors_change_nothing: Core Property,
        "a commit that is too large leaves no trace",
        "half of it would be there",
        "StoreErrorKind::TooLarge: nothing was changed";
}

/// Writes `text` into every kind of payload except those of deltas and forks, and reads it back.
async fn everywhere(t: Bench, text: impl Into<Vec<u8>>) -> CaseResult {
    let payload = Payload::new(text.into());
    let new = NewSession {
        definition: payload.clone(),
        items: vec![InboxItem { payload: payload.clone(), ..message("first") }],
        ..new_session("s")
    };
    t.store.create_session(new.clone()).await?;
    let claim = t.claim(&new.key).await?;
    t.deliver(&new.key, InboxItem { payload: payload.clone(), ..message("second") }).await?;
    let staged = |call| StagedResult { call: id(call), payload: payload.clone() };
    t.stage(&claim.fence, Staging { results: vec![staged("a"), staged("b")], starts: vec![] }).await?;
    let everything = Commit {
        state: Some(NewState { format: StateFormat(1), payload: payload.clone() }),
        messages: vec![NewMessage::Inline(payload.clone()), NewMessage::Promote(id("a"))],
        stage: vec![staged("c")],
        events: vec![payload.clone()],
        open: vec![NewPending { body: payload.clone(), ..approval("p") }],
        run: Some(RunEnd { outcome: OutcomeKind::Completed, detail: payload.clone() }),
        ..commit()
    };
    t.commit(&claim.fence, everything).await?;
    let next = t.take_over(&new.key).await?;
    ensure_eq!(next.session.definition, payload, "definition in a claim");
    ensure_eq!(next.session.state.as_ref(), Some(&payload), "state in a claim");
    ensure_eq!(next.inbox[0].payload, payload, "item in a claim");
    let read = t.snapshot(&new.key).await?;
    let session = t.load(&new.key).await?;
    ensure_eq!(session.definition, payload, "definition");
    ensure_eq!(session.state.as_ref(), Some(&payload), "state");
    ensure_eq!(session.staged.results, [staged("b"), staged("c")], "staged results");
    for message in &read.messages {
        ensure_eq!(message.payload, payload, "message {}", message.seq.0);
    }
    ensure_eq!(read.messages.len(), 2, "messages");
    ensure_eq!(read.events[0].payload, payload, "event");
    for item in &read.inbox {
        ensure_eq!(item.payload, payload, "item {}", item.seq.0);
    }
    ensure_eq!(read.pending[0].body, payload, "body of a pending call");
    let detail = read.runs[0].end.as_ref().and_then(|end| end.detail.as_ref());
    ensure_eq!(detail, Some(&payload), "detail of a run");
    Ok(())
}

async fn large_payload_1mib_and_16mib_or_typed_too_large(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let mut kept = 0;
    for size in [1 << 20, 16 << 20] {
        let payload = Payload::new((0..=u8::MAX).collect::<Vec<u8>>().repeat(size >> 8));
        let append = Commit { messages: vec![NewMessage::Inline(payload.clone())], ..commit() };
        match t.store.commit(&claim.fence, append).await {
            Ok(_) => {
                kept += 1;
                let last = t.snapshot(&claim.fence.key).await?.messages.pop().map(|message| message.payload);
                ensure_eq!(last, Some(payload), "a payload of {size} bytes");
            }
            Err(error) => {
                ensure_eq!(error.kind, StoreErrorKind::TooLarge, "the refusal of {size} bytes");
                let max = t.store.capabilities().payload_bytes_max;
                ensure!(
                    max < size,
                    "expected {size} bytes to be taken, as the limit is {max}",
                    found = "{error}"
                );
            }
        }
    }
    ensure_eq!(t.load(&claim.fence.key).await?.last_message.0, kept, "messages");
    Ok(())
}

async fn limit_boundary_exact(t: Bench) -> CaseResult {
    let max = t.payload_bytes_max()?;
    let (fits, over) = (Payload::new(vec![b'x'; max]), Payload::new(vec![b'x'; max + 1]));
    let claim = t.running("s").await?;
    let commits = |payload: &Payload| {
        let part = || payload.clone();
        [
            Commit { state: Some(NewState { format: StateFormat(1), payload: part() }), ..commit() },
            Commit { messages: vec![NewMessage::Inline(part())], ..commit() },
            Commit { stage: vec![StagedResult { call: id("c"), payload: part() }], ..commit() },
            Commit { events: vec![part()], ..commit() },
            Commit { open: vec![NewPending { body: part(), ..approval("p") }], ..commit() },
            Commit { run: Some(RunEnd { outcome: OutcomeKind::Completed, detail: part() }), ..commit() },
        ]
    };
    let before = t.snapshot(&claim.fence.key).await?;
    for commit in commits(&over) {
        too_large(t.store.commit(&claim.fence, commit).await)?;
    }
    let item = |payload: &Payload| InboxItem { payload: payload.clone(), ..message("m") };
    let staging = |payload: &Payload| Staging {
        results: vec![StagedResult { call: id("staged"), payload: payload.clone() }],
        starts: vec![],
    };
    too_large(t.store.deliver(&claim.fence.key, item(&over)).await)?;
    too_large(t.store.stage_result(&claim.fence, staging(&over)).await)?;
    let defined = |payload: &Payload| NewSession { definition: payload.clone(), ..new_session("defined") };
    too_large(t.store.create_session(defined(&over)).await)?;
    let first = NewSession { items: vec![item(&over)], ..new_session("first") };
    too_large(t.store.create_session(first).await)?;
    let idle = t.create("idle").await?;
    let claiming = ClaimOne { items: vec![item(&over)], ..t.claim_one() };
    too_large(t.store.claim_session(&idle, claiming).await)?;
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after all refusals");
    ensure_eq!(t.store.load_session(&key("defined")).await?, None, "a session that was not created");

    let fitting = commits(&fits);
    if t.store.capabilities().commit_bytes_max >= max {
        for commit in fitting {
            t.commit(&claim.fence, commit).await?;
        }
    }
    t.deliver(&claim.fence.key, item(&fits)).await?;
    t.stage(&claim.fence, staging(&fits)).await?;
    t.store.create_session(defined(&fits)).await?;
    ensure_eq!(
        t.snapshot(&claim.fence.key).await?.messages[0].payload.len(),
        max,
        "the message at the limit"
    );
    Ok(())
}

fn too_large<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> CaseResult {
    let error = want!(answer, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::TooLarge, "one byte over the limit, in {}", error.operation);
    Ok(())
}

async fn many_small_10k_messages(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    for batch in 0..20 {
        let messages =
            (1..=500).map(|number| NewMessage::Inline(bytes(&(batch * 500 + number).to_string()))).collect();
        t.commit(&claim.fence, Commit { messages, ..commit() }).await?;
    }
    let texts = t.messages(&claim.fence.key).await?;
    ensure_eq!(texts.len(), 10_000, "messages");
    let misplaced = texts.iter().enumerate().find(|(index, text)| **text != (index + 1).to_string());
    ensure_eq!(misplaced, None, "the first message out of its place");
    Ok(())
}

async fn unicode_nfc_nfd_emoji_rtl_zero_width(t: Bench) -> CaseResult {
    everywhere(t, "é e\u{301} 👩‍👩‍👧‍👦 שלום \u{202e}rtl\u{202c} a\u{200b}b \u{feff} ﷽ 𝔘 ÿ\u{10ffff}").await
}

async fn nul_byte_in_string(t: Bench) -> CaseResult {
    everywhere(t, "{\"a\":\"x\0y\\u0000z\"}\0").await
}

async fn lone_surrogate_escape(t: Bench) -> CaseResult {
    everywhere(t, r#"{"a":"\ud800","b":"\udc00\ud800"}"#).await
}

async fn json_numbers_u64_max_i64_min_1e400_neg_zero_0_1(t: Bench) -> CaseResult {
    everywhere(t, "[18446744073709551615,-9223372036854775808,1e400,-0,-0.0,0.1,1.0,1E5,9007199254740993]")
        .await
}

async fn json_key_order_and_duplicate_keys(t: Bench) -> CaseResult {
    everywhere(t, "{ \"z\" : 1,\n\t\"a\":2 , \"z\":3,\"\":4 }\r\n ").await
}

async fn empty_and_null_are_different(t: Bench) -> CaseResult {
    for text in ["", "null", "\"\"", "{}", " "] {
        everywhere(t.another().await, text).await.map_err(|failure| failure.within(format!("{text:?}")))?;
    }
    let claim = t.running("s").await?;
    ensure_eq!(t.load(&claim.fence.key).await?.state, None, "state before any");
    Ok(())
}

async fn deeply_nested_json_128(t: Bench) -> CaseResult {
    everywhere(t, format!("{}{}", "[".repeat(128), "]".repeat(128))).await
}

async fn binary_blob_all_256_bytes(t: Bench) -> CaseResult {
    everywhere(t, (0..=255).chain((0..=255).rev()).collect::<Vec<u8>>()).await
}

async fn ids_case_sensitive_and_trailing_space(t: Bench) -> CaseResult {
    let longest = "x".repeat(holdover_store::ids::ID_BYTES_MAX);
    let alike =
        ["s", "S", "s ", " s", "ß", "ss", "é", "e\u{301}", "İ", "i", "1", "01", "1.0", longest.as_str()];
    for name in alike {
        t.create(name).await?;
        t.deliver(&key(name), message(name)).await?;
    }
    for name in alike {
        let snapshot = t.snapshot(&key(name)).await?;
        let keys: Vec<_> = snapshot.inbox.iter().map(|item| item.key.as_str()).collect();
        ensure_eq!(keys, [name], "the inbox of {name:?}");
    }
    // The same holds for the ids within a session.
    let claim = t.claim(&key("s")).await?;
    for name in alike {
        let part = Commit {
            stage: vec![StagedResult { call: id(name), payload: bytes(name) }],
            open: vec![approval(name)],
            ..commit()
        };
        t.commit(&claim.fence, part).await?;
        if name != "s" {
            t.deliver(&key("s"), message(name)).await?;
        }
    }
    let session = t.snapshot(&key("s")).await?;
    ensure_eq!(session.pending.len(), alike.len(), "pending calls");
    ensure_eq!(session.inbox.len(), alike.len(), "items");
    ensure_eq!(t.load(&key("s")).await?.staged.results.len(), alike.len(), "staged results");
    Ok(())
}

async fn timestamps_keep_declared_resolution(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let mut open = Vec::new();
    for ms in [0, 1, 999, 1_000, 1_001, 123_456_789] {
        let at = claim.now.after(t.lease() + std::time::Duration::from_millis(ms));
        open.push(NewPending { deadline: Some(at), ..approval(&ms.to_string()) });
    }
    let deadlines: Vec<_> = open.iter().map(|pending| pending.deadline).collect();
    t.commit(&claim.fence, Commit { open, messages: inline(["m"]), ..commit() }).await?;
    let read: Vec<_> = t.pending(&claim.fence.key).await?.iter().map(|pending| pending.deadline).collect();
    ensure_eq!(read, deadlines, "deadlines");
    let session = t.load(&claim.fence.key).await?;
    ensure_eq!(session.lease.map(|lease| lease.ends), Some(claim.lease_ends), "end of the lease");
    ensure_eq!(t.snapshot(&claim.fence.key).await?.runs[0].started_at, claim.now, "when the run began");
    Ok(())
}

async fn labels_over_the_bounds_are_refused(t: Bench) -> CaseResult {
    let long = |extra| "x".repeat(Labels::TEXT_BYTES_MAX + extra);
    let many = |count| (0..count).map(|number| (number.to_string(), "v")).collect::<Labels>();
    let labelled = |name: &str, labels| NewSession { labels, ..new_session(name) };
    let most = labelled("most", many(Labels::LABELS_MAX));
    let longest = labelled("longest", Labels::from_iter([(long(0), long(0))]));
    for new in [most, longest] {
        t.store.create_session(new.clone()).await?;
        ensure_eq!(t.load(&new.key).await?.labels, new.labels, "labels at the bounds");
    }
    let beyond = [
        many(Labels::LABELS_MAX + 1),
        Labels::from_iter([(long(1), long(0))]),
        Labels::from_iter([(long(0), long(1))]),
    ];
    for labels in beyond {
        let error = want!(t.store.create_session(labelled("beyond", labels)).await, Err(error) => error);
        let typed = [StoreErrorKind::TooLarge, StoreErrorKind::InvalidArgument].contains(&error.kind);
        ensure!(typed, "expected a refusal by name", found = "{error}");
        ensure_eq!(t.store.load_session(&key("beyond")).await?, None, "the session");
    }
    Ok(())
}

async fn errors_change_nothing(t: Bench) -> CaseResult {
    let max = t.commit_bytes_max()?;
    let part = t.store.capabilities().payload_bytes_max.min(max);
    let claim = t.running("s").await?;
    t.deliver(&claim.fence.key, message("m")).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let payload = Payload::new(vec![0; part]);
    let too_many = Commit {
        messages: vec![NewMessage::Inline(payload); max / part + 1],
        state: crate::fixture::state("new"),
        release: Some(crate::fixture::release_to(holdover_store::SessionStatus::Idle)),
        ..commit()
    };
    too_large(t.store.commit(&claim.fence, too_many).await)?;
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}
