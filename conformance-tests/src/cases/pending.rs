//! Pending calls: calls that wait for an answer from outside.

use super::prelude::*;

cases! {
    pending.answer_takes_the_slot_atomically_64_deciders: Distributed Concurrent,
        "of 64 deciders one is accepted, the others are told that it is answered",
        "two accepted decisions may say yes and no",
        "design 4: of 64 deciders one is accepted";
    pending.answer_to_closed_call_is_not_pending: Core Sequential,
        "an answer to a closed call is refused; a repeat of one that was accepted is still a duplicate",
        "a late answer would be read as the answer to something else",
        "Delivery::NotPending: closed, past its deadline, or never opened";
    pending.several_answers_needed_m_of_n: Core Sequential,
        "a call that needs three answers takes three, no more",
        "with fewer a second signature is worth nothing",
        "NewPending::needed: how many answers it takes";
    pending.a_settling_answer_ends_the_asking: Core Sequential,
        "one refusal ends the asking, however many more answers were needed",
        "a call that one person refused would go on waiting for others to agree",
        "ItemKind::Answer: settles: whether this answer alone ends the asking";
    pending.commit_closing_an_unseen_answer_is_answer_waiting: Distributed Sequential,
        "a commit that closes an answered call without having read the answer is refused",
        "a person who said yes is told that time ran out",
        "CommitOutcome::AnswerWaiting: it has an answer that the run has not read; nothing was changed";
    pending.reopened_under_new_approval_id: Core Sequential,
        "a call is asked again under a new id, in the commit that closes the old one",
        "an answer to the first asking would be taken for one to the second",
        "design 4: an edit that the core must refuse reopens the call under a new approval id";
    pending.id_is_never_opened_twice: Core Sequential,
        "an id that is open, was open, or comes twice in a commit is refused",
        "an old answer's key would decide the new asking",
        "NewPending::id: unique in the session for ever; CommitOutcome::PendingConflict";
    pending.unknown_close_is_refused: Core Sequential,
        "a commit that closes what is not open changes nothing",
        "the run's idea of what is owed is wrong; going on would lose an answer",
        "CommitOutcome::PendingConflict: this pending call is not open; nothing was changed";
    pending.answer_after_deadline_is_not_pending: Distributed Time,
        "from its deadline on a call takes no answer, before anybody has closed it",
        "the default and the late answer would both decide",
        "NewPending::deadline: from this instant on no answer is taken";
    pending.answer_before_deadline_wins_however_late_read: Distributed Time,
        "an answer accepted before the deadline forbids to close the call unread after it",
        "a slow worker would turn a yes into a timeout",
        "design 4: one accepted before it wins, however late it is read";
    pending.of_another_incarnation_is_not_found: Distributed Sequential,
        "an answer that names another life of the session, or none, is not found",
        "an approval from before a deletion would approve something else",
        "design 4: answers name the incarnation, and another answers NotFound";
    pending.lists_across_sessions_by_deadline: Core Property,
        "open calls of all sessions are listed by deadline, none last, page by page, filtered",
        "an approvals page that skips one lets it expire",
        "PendingQuery: soonest deadline first (none last), ties by session id and pending id";
}

async fn answer_takes_the_slot_atomically_64_deciders(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() })
        .await?;
    let peers = t.peers(16).await;
    let deciders = (0..64).map(|index| peers[index % 16].clone()).collect();
    let fence = claim.fence.clone();
    let answers = race(deciders, |index, peer| {
        let (key, item) = (fence.key.clone(), answer(&fence, "p", &format!("decider-{index}")));
        Box::pin(async move { Ok(peer.deliver(&key, item).await?) })
    })
    .await?;
    let accepted = answers.iter().filter(|answer| matches!(answer, Delivery::Accepted { .. })).count();
    ensure_eq!(accepted, 1, "how many were accepted");
    let told = answers.iter().filter(|answer| **answer == Delivery::AlreadyAnswered).count();
    ensure_eq!(told, 63, "how many were told that it is answered");
    let after = t.snapshot(&fence.key).await?;
    ensure_eq!(after.inbox.len(), 1, "answers in the inbox");
    ensure_eq!(after.pending[0].answered, 1, "answers counted");
    Ok(())
}

async fn answer_to_closed_call_is_not_pending(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    let seq = t.deliver(key, answer(&claim.fence, "p", "yes")).await?;
    let close = Commit { close: vec![id("p")], inbox_seen: Some(seq), consumed: vec![seq], ..commit() };
    t.commit(&claim.fence, close).await?;
    let before = t.snapshot(key).await?;
    let late = t.store.deliver(key, answer(&claim.fence, "p", "late")).await?;
    ensure_eq!(late, Delivery::NotPending, "an answer to a closed call");
    let repeat = t.store.deliver(key, answer(&claim.fence, "p", "yes")).await?;
    ensure_eq!(repeat, Delivery::Duplicate { seq }, "a repeat of the answer that was accepted");
    ensure_eq!(t.snapshot(key).await?, before, "the session");
    Ok(())
}

async fn several_answers_needed_m_of_n(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let three = NewPending { needed: 3, ..approval("p") };
    t.commit(&claim.fence, Commit { open: vec![three], release: suspended(None, 0), ..commit() }).await?;
    for (count, name) in [(1, "a"), (2, "b"), (3, "c")] {
        let seq = t.deliver(key, answer(&claim.fence, "p", name)).await?;
        let repeat = t.store.deliver(key, answer(&claim.fence, "p", name)).await?;
        ensure_eq!(repeat, Delivery::Duplicate { seq }, "a repeat counts nothing");
        let pending = t.pending(key).await?.remove(0);
        ensure_eq!((pending.answered, pending.last_answer), (count, seq), "answers after {name}");
        ensure_eq!(t.is_due(key).await?, count == 3, "whether {count} of 3 answers wake it");
    }
    let fourth = t.store.deliver(key, answer(&claim.fence, "p", "d")).await?;
    ensure_eq!(fourth, Delivery::AlreadyAnswered, "a fourth answer");
    Ok(())
}

async fn a_settling_answer_ends_the_asking(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let three = NewPending { needed: 3, ..approval("p") };
    t.commit(&claim.fence, Commit { open: vec![three], release: suspended(None, 0), ..commit() }).await?;
    t.deliver(key, answer(&claim.fence, "p", "yes")).await?;
    let refusal = InboxItem {
        kind: ItemKind::Answer { pending: id("p"), settles: true },
        ..answer(&claim.fence, "p", "no")
    };
    t.deliver(key, refusal).await?;
    ensure_eq!(t.pending(key).await?[0].answered, 3, "answers counted after a settling one");
    ensure_eq!(t.is_due(key).await?, true, "whether the settling answer wakes it");
    let late = t.store.deliver(key, answer(&claim.fence, "p", "late")).await?;
    ensure_eq!(late, Delivery::AlreadyAnswered, "an answer after a settling one");
    Ok(())
}

async fn commit_closing_an_unseen_answer_is_answer_waiting(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { open: vec![approval("p"), approval("q")], ..commit() }).await?;
    let seq = want!(
        peer.deliver(key, answer(&claim.fence, "p", "yes")).await?,
        Delivery::Accepted { seq } => seq
    );
    let before = t.snapshot(key).await?;
    let blind = Commit {
        close: vec![id("q"), id("p")],
        release: Some(release_to(SessionStatus::Interrupted)),
        ..commit()
    };
    let refused = t.try_commit(&claim.fence, blind.clone()).await?;
    ensure_eq!(refused, CommitOutcome::AnswerWaiting { pending: id("p") }, "closing it unread");
    ensure_eq!(t.snapshot(key).await?, before, "the session after the refusal");
    let read = Commit { inbox_seen: Some(seq), consumed: vec![seq], operation: id("read"), ..blind };
    t.commit(&claim.fence, read).await?;
    ensure_eq!(t.pending(key).await?, [], "pending calls after closing it read");
    Ok(())
}

async fn reopened_under_new_approval_id(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { open: vec![approval("p.1")], release: suspended(None, 0), ..commit() })
        .await?;
    let seq = t.deliver(key, answer(&claim.fence, "p.1", "edited")).await?;
    let next = t.claim(key).await?;
    let again = NewPending { call: id("p.1"), ..approval("p.2") };
    let reopen = Commit {
        inbox_seen: Some(seq),
        consumed: vec![seq],
        close: vec![id("p.1")],
        open: vec![again],
        release: suspended(None, 0),
        ..commit()
    };
    t.commit(&next.fence, reopen).await?;
    let open: Vec<_> =
        t.pending(key).await?.into_iter().map(|pending| (pending.id, pending.answered)).collect();
    ensure_eq!(open, [(id("p.2"), 0)], "open calls");
    ensure_eq!(t.load(key).await?.alarm, None, "alarm: the answer to the first asking was seen");
    let old = t.store.deliver(key, answer(&claim.fence, "p.1", "again")).await?;
    ensure_eq!(old, Delivery::NotPending, "an answer to the first asking");
    t.deliver(key, answer(&claim.fence, "p.2", "yes")).await?;
    Ok(())
}

async fn id_is_never_opened_twice(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let open =
        |names: &[&str]| Commit { open: names.iter().map(|name| approval(name)).collect(), ..commit() };
    let conflict = |name| CommitOutcome::PendingConflict { pending: id(name) };
    let twice = t.try_commit(&claim.fence, open(&["a", "a"])).await?;
    ensure_eq!(twice, conflict("a"), "twice in one commit");
    t.commit(&claim.fence, open(&["p"])).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    ensure_eq!(t.try_commit(&claim.fence, open(&["b", "p"])).await?, conflict("p"), "while it is open");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after the conflict");
    t.commit(&claim.fence, Commit { close: vec![id("p")], ..commit() }).await?;
    ensure_eq!(t.try_commit(&claim.fence, open(&["p"])).await?, conflict("p"), "after it was closed");
    // The conflict is reported although the commit has another fault too.
    let nowhere = Commit { consumed: vec![InboxSeq(9)], inbox_seen: Some(InboxSeq(9)), ..open(&["p"]) };
    ensure_eq!(t.try_commit(&claim.fence, nowhere).await?, conflict("p"), "with an item that is not there");
    Ok(())
}

async fn unknown_close_is_refused(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let close = Commit { close: vec![id("p"), id("never")], ..commit() };
    let answer = t.try_commit(&claim.fence, close).await?;
    ensure_eq!(answer, CommitOutcome::PendingConflict { pending: id("never") }, "the answer");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}

async fn answer_after_deadline_is_not_pending(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let until =
        |name, leases| NewPending { deadline: Some(claim.now.after(t.lease() * leases)), ..approval(name) };
    let open = vec![until("soon", 1), until("late", 50)];
    t.commit(&claim.fence, Commit { open, release: suspended(None, 0), ..commit() }).await?;
    t.advance(t.lease()).await;
    let before = t.snapshot(key).await?;
    let answered = t.store.deliver(key, answer(&claim.fence, "soon", "yes")).await?;
    ensure_eq!(answered, Delivery::NotPending, "an answer at the deadline");
    ensure_eq!(t.snapshot(key).await?, before, "the session");
    t.deliver(key, answer(&claim.fence, "late", "also yes")).await?;
    Ok(())
}

async fn answer_before_deadline_wins_however_late_read(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let deadline = Some(claim.now.after(t.lease()));
    let open = vec![NewPending { deadline, ..approval("p") }];
    t.commit(&claim.fence, Commit { open, release: suspended(deadline, 0), ..commit() }).await?;
    let seq = t.deliver(key, answer(&claim.fence, "p", "yes")).await?;
    t.advance(t.lease() * 3).await;
    let next = t.claim(key).await?;
    let timed_out = Commit { close: vec![id("p")], ..commit() };
    let refused = t.try_commit(&next.fence, timed_out).await?;
    ensure_eq!(refused, CommitOutcome::AnswerWaiting { pending: id("p") }, "closing it as timed out");
    ensure_eq!(next.inbox.iter().map(|item| item.seq).collect::<Vec<_>>(), [seq], "the answer in the claim");
    Ok(())
}

async fn of_another_incarnation_is_not_found(t: Bench) -> CaseResult {
    let first = t.running("s").await?;
    let key = &first.fence.key;
    t.commit(&first.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    t.store.delete_session(key, Deletion::FORCE).await?;
    let second = t.running("s").await?;
    t.commit(&second.fence, Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() })
        .await?;
    let before = t.snapshot(key).await?;
    let old = t.store.deliver(key, answer(&first.fence, "p", "yes")).await?;
    ensure_eq!(old, Delivery::NotFound, "an answer to the life before");
    let none = InboxItem { incarnation: None, ..answer(&second.fence, "p", "yes") };
    ensure_eq!(t.store.deliver(key, none).await?, Delivery::NotFound, "an answer that names no life");
    let message = InboxItem { incarnation: Some(first.fence.incarnation), ..message("m") };
    ensure_eq!(t.store.deliver(key, message).await?, Delivery::NotFound, "a message to the life before");
    ensure_eq!(t.snapshot(key).await?, before, "the session");
    t.deliver(key, answer(&second.fence, "p", "yes")).await?;
    Ok(())
}

async fn lists_across_sessions_by_deadline(t: Bench) -> CaseResult {
    let now = t.now().await?;
    let at = |name: &str, deadline: Option<u32>, kind| NewPending {
        deadline: deadline.map(|leases| now.after(t.lease() * leases)),
        kind,
        ..approval(name)
    };
    use PendingKind::{Approval, ClientTool};
    let a = t.running("a").await?;
    let open =
        vec![at("a3", Some(30), Approval), at("none", None, Approval), at("tie-2", Some(20), ClientTool)];
    t.commit(&a.fence, Commit { open, ..commit() }).await?;
    let b = t.running("b").await?;
    let open =
        vec![at("b1", Some(10), ClientTool), at("tie-1", Some(20), Approval), at("none", None, Approval)];
    t.commit(&b.fence, Commit { open, ..commit() }).await?;
    t.commit(&b.fence, Commit { open: vec![at("closed", Some(1), Approval)], ..commit() }).await?;
    t.commit(&b.fence, Commit { close: vec![id("closed")], ..commit() }).await?;

    let all = PendingQuery::all(id(TENANT));
    let names = async |query: PendingQuery| -> CaseResult<Vec<String>> {
        let rows = walk_pending(&t.store, query).await?;
        Ok(rows.iter().map(|pending| format!("{}/{}", pending.key.id, pending.id)).collect())
    };
    let expected = ["b/b1", "a/tie-2", "b/tie-1", "a/a3", "a/none", "b/none"];
    for rows in 1..=7 {
        let mut query = all.clone();
        query.page.limit = std::num::NonZeroU32::new(rows);
        ensure_eq!(names(query).await?, expected, "a walk by {rows}");
    }
    let of_kind = PendingQuery { kind: Some(ClientTool), ..all.clone() };
    ensure_eq!(names(of_kind).await?, ["b/b1", "a/tie-2"], "client tools");
    let of_session = PendingQuery { session: Some(id("a")), kind: Some(Approval), ..all };
    ensure_eq!(names(of_session).await?, ["a/a3", "a/none"], "approvals of one session");
    Ok(())
}
