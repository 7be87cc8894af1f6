//! A faulty or greedy client does not hold up the others.

use super::prelude::*;
use crate::sweep::as_many_due;

cases! {
    submit.poison_payload_does_not_block_others: Core Sequential,
        "an item that nobody can read, and one that is too large, keep nothing back that comes after them",
        "one bad message would end the conversation",
        "design 4: consumed items are named one by one; items up to inbox_seen wake nobody";
    ready.starvation_free_under_hot_session: Distributed Time needs DueOrder,
        "a session that is woken again as soon as it is left comes after all that waited before",
        "one busy session would keep the others from every worker",
        "claim_due: soonest alarm first";
    ready.tenants_take_turns: Distributed Sequential needs DueOrder,
        "when more is due than is asked for, each tenant is served in turn, its soonest session first",
        "a tenant with a backlog would keep all others from every worker",
        "claim_due: if more are due than are asked for, tenants take turns";
}

/// Bytes that are neither UTF-8 nor JSON, with a NUL that would end a text.
const UNREADABLE: &[u8] = b"\xff\xfe{\"\0\xc3\x28\x00\x80";

async fn poison_payload_does_not_block_others(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let poison = InboxItem { payload: Payload::new(UNREADABLE.to_vec()), ..message("poison") };
    let too_large = Payload::new(vec![b'x'; t.too_large()?]);
    let refused = t.store.deliver(key, InboxItem { payload: too_large, ..message("too large") }).await;
    ensure_eq!(want!(refused, Err(error) => error).kind, StoreErrorKind::TooLarge, "the refusal");
    let poisoned = t.deliver(key, poison.clone()).await?;
    let good = t.deliver(key, message("good")).await?;
    ensure_eq!((poisoned.0, good.0), (1, 2), "the places of what was accepted");
    // The run cannot read the first item. It leaves that item and handles the second.
    let park =
        Commit { consumed: vec![good], inbox_seen: Some(good), release: suspended(None, 0), ..commit() };
    t.commit(&claim.fence, park).await?;
    ensure_eq!(t.load(key).await?.alarm, None, "the alarm beside an item that was left");
    want!(t.store.deliver(key, poison.clone()).await?, Delivery::Duplicate { .. });
    ensure_eq!(t.load(key).await?.alarm, None, "the alarm after the same item came again");
    t.deliver(key, message("next")).await?;
    ensure_eq!(t.due_names().await?, ["s"], "what is due after the next item");
    let inbox = t.snapshot(key).await?.inbox;
    let names: Vec<_> = inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(names, ["poison", "next"], "what is not consumed");
    ensure_eq!(inbox[0].payload, poison.payload, "the item that was left");
    Ok(())
}

/// The number of sessions that wait beside the one that is always due.
const WAITING: usize = 5;

async fn starvation_free_under_hot_session(t: Bench) -> CaseResult {
    let workers = t.peers(2).await;
    let moment = t.lease() / 100;
    // The session would also come first by its name.
    let hot = t.left_as("a-hot", SessionStatus::Idle).await?;
    t.deliver(&hot, message("first")).await?;
    t.advance(moment).await;
    for nth in 0..WAITING {
        let new = NewSession { items: vec![message("m")], ..new_session(&format!("waits-{nth}")) };
        t.store.create_session(new).await?;
    }
    let mut served = Vec::new();
    for round in 0..WAITING + 2 {
        t.advance(moment).await;
        let claims = workers[round % 2].claim_due(t.due(1)).await?;
        for claim in claims {
            leave(&t, &claim).await?;
            served.push(claim.fence.key.id.to_string());
            if claim.fence.key == hot {
                t.advance(moment).await;
                t.deliver(&hot, message(&format!("again-{round}"))).await?;
            }
        }
    }
    let waited = (0..WAITING).map(|nth| format!("waits-{nth}"));
    let expected: Vec<String> = ["a-hot".into()].into_iter().chain(waited).chain(["a-hot".into()]).collect();
    ensure_eq!(served, expected, "who was served, one after the other");
    Ok(())
}

async fn tenants_take_turns(t: Bench) -> CaseResult {
    // The more sessions a tenant has, the longer they have waited already.
    let waiting = [("c-many", 5, 0), ("a-few", 3, 100), ("b-one", 1, 200)];
    for (tenant, count, from) in waiting {
        for nth in (0..count).rev() {
            let key = SessionKey::new(id(tenant), id(&format!("s{nth}")));
            let start = Start::At(Timestamp::from_ms(from + nth));
            t.store.create_session(NewSession { key, start, ..new_session("s") }).await?;
        }
    }
    let mut served: Vec<(String, String)> = Vec::new();
    for (count, wanted) in [(1, 1), (1, 1), (1, 1), (2, 2), (4, 4), (1, 0)] {
        let claims = as_many_due(&t.store, t.due(count)).await?;
        ensure_eq!(claims.len(), wanted, "sessions that are claimed after {served:?}");
        served.extend(claims.iter().map(|claim| {
            let key = &claim.fence.key;
            (key.tenant.to_string(), key.id.to_string())
        }));
    }
    let tenants = |served: &[(String, String)]| {
        let mut tenants: Vec<String> = served.iter().map(|(tenant, _)| tenant.clone()).collect();
        tenants.sort();
        tenants
    };
    ensure_eq!(
        tenants(&served[..3]),
        ["a-few", "b-one", "c-many"],
        "who is served by the first three claims"
    );
    ensure_eq!(tenants(&served[3..5]), ["a-few", "c-many"], "who is served when two are asked for");
    for (tenant, count, _) in waiting {
        let own = served.iter().filter(|(served, _)| served == tenant).map(|(_, session)| session.clone());
        let soonest_first: Vec<String> = (0..count).map(|nth| format!("s{nth}")).collect();
        ensure_eq!(own.collect::<Vec<_>>(), soonest_first, "which sessions of {tenant} are served");
    }
    Ok(())
}

/// Releases the session with all its items seen.
async fn leave(t: &Bench, claim: &Claim) -> CaseResult {
    let seen = Some(claim.session.last_item);
    let rest = Commit { inbox_seen: seen, release: Some(release_to(SessionStatus::Idle)), ..commit() };
    t.commit(&claim.fence, rest).await.map(drop)
}
