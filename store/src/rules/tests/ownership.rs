//! Tests of the rules for claims, leases and changes of status.

use super::*;
use crate::{
    CasOutcome, ClaimOutcome, DeltaBatch, DeltaOutcome, InterruptCheck, Queues, StatusCas, StreamId,
};

fn run(name: &str) -> RunId {
    RunId::new(name).unwrap()
}

fn worker() -> WorkerId {
    WorkerId::new("w").unwrap()
}

#[test]
fn a_lease_keeps_others_away_until_its_end_and_not_at_it() {
    let row = claimed(row(), at(0));
    let held =
        ClaimOutcome::Held { worker: worker(), epoch: Epoch(1), version: Version(2), lease_ends: at(10_000) };
    assert_eq!(row.claimable(None, at(9_999)), Err(held.clone()));
    assert_eq!(row.claimable(Some(Version(2)), at(9_999)), Err(held), "whatever version is named");
    assert_eq!(row.claimable(None, at(10_000)), Ok(()));
}

#[test]
fn a_claim_of_another_version_is_refused_and_told_which_there_is() {
    let row = row();
    assert_eq!(row.claimable(Some(Version(1)), at(0)), Ok(()));
    for expected in [Version(0), Version(2)] {
        let conflict =
            ClaimOutcome::VersionConflict { expected, actual: Version(1), status: SessionStatus::Idle };
        assert_eq!(row.claimable(Some(expected), at(0)), Err(conflict));
    }
    let aborted = SessionRow { status: SessionStatus::Aborted, ..row };
    assert_eq!(aborted.claimable(None, at(0)), Err(ClaimOutcome::Aborted));
    assert_eq!(aborted.claimable(Some(Version(9)), at(0)), Err(ClaimOutcome::Aborted));
}

#[test]
fn a_repeated_claim_is_alive_while_its_lease_runs() {
    let mut row = claimed(row(), at(0));
    assert_eq!(row.repeated_claim(&run("other"), at(0)), None);
    assert_eq!(row.repeated_claim(&run("r"), at(9_999)), Some(true));
    assert_eq!(row.repeated_claim(&run("r"), at(10_000)), Some(false));
    row.apply(&commit(to(SessionStatus::Idle, 0)), &CommitFacts::default(), at(1)).expect("applied");
    assert_eq!(row.repeated_claim(&run("r"), at(1)), Some(false), "it was released");
}

#[test]
fn a_claim_begins_a_run_and_its_lease() {
    let before = row();
    let mut row = before.clone();
    let claim = row.claim(run("r"), worker(), LEASE, at(7));
    assert_eq!(claim, Claimed { close_lost: None, parent: None });
    let lease = Lease { worker: worker(), ends: at(10_007), granted_ms: 10_000 };
    let expected = SessionRow {
        status: SessionStatus::Active,
        version: Version(2),
        epoch: Epoch(1),
        lease: Some(lease),
        last_claim: Some(run("r")),
        run_open: true,
        alarm: Some(at(10_007)),
        updated_at: at(7),
        ..before
    };
    assert_eq!(row, expected);
}

#[test]
fn a_takeover_counts_closes_the_lost_run_and_ends_its_stream() {
    let mut row = claimed(row(), at(0));
    row.stream = Stream { id: StreamId { run: Epoch(1), number: 1 }, last: 3, open: true };
    let claim = row.claim(run("r2"), worker(), LEASE, at(10_000));
    assert_eq!(claim, Claimed { close_lost: Some(Epoch(1)), parent: Some(Epoch(1)) });
    assert_eq!((row.found, row.attempts, row.epoch), (SessionStatus::Active, 1, Epoch(2)));
    assert!(!row.stream.open, "what a dead run showed is void");
    row.claim(run("r3"), worker(), LEASE, at(20_000));
    assert_eq!(row.attempts, 2);
    row.apply(&commit(None), &CommitFacts::default(), at(20_001)).expect("applied");
    assert_eq!(row.attempts, 0, "a commit of any kind begins the count anew");
}

#[test]
fn a_run_goes_on_from_the_one_before_unless_it_found_the_session_idle() {
    for status in SessionStatus::ALL {
        let mut row = claimed(row(), at(0));
        let end = Commit {
            run: Some(crate::RunEnd { outcome: crate::OutcomeKind::Completed, detail: Payload::new("") }),
            ..commit(to(SessionStatus::Idle, 0))
        };
        row.apply(&end, &CommitFacts::default(), at(1)).expect("applied");
        row.status = status;
        let claim = row.claim(run("r2"), worker(), LEASE, at(2));
        let parent = (status != SessionStatus::Idle).then_some(Epoch(1));
        assert_eq!((claim.parent, claim.close_lost, row.found), (parent, None, status), "{status}");
        assert_eq!(row.attempts, u32::from(status == SessionStatus::Active), "{status}");
    }
}

#[test]
fn a_session_is_due_when_its_alarm_has_rung_for_whoever_serves_it_and_reads_it() {
    let rung = SessionRow { alarm: Some(at(5)), ..row() };
    let named = |queue: &str| Queues::Named(vec![QueueLabel::new(queue).unwrap()]);
    let (own, other) = (rung.key.tenant.clone(), TenantId::new("T").unwrap());
    let due = |row: &SessionRow, queues: &Queues, newest, tenant: Option<&TenantId>, now| {
        row.is_due(queues, StateFormat(newest), tenant, at(now))
    };
    assert!(due(&rung, &Queues::All, 1, None, 5) && due(&rung, &named("q"), 9, Some(&own), 6));
    assert!(!due(&rung, &Queues::All, 1, None, 4), "its alarm has not rung");
    assert!(!due(&row(), &Queues::All, 1, None, 5), "it has none");
    let both = Queues::Named(vec![QueueLabel::new("p").unwrap(), QueueLabel::new("q").unwrap()]);
    assert!(due(&rung, &both, 1, None, 5));
    assert!(!due(&rung, &named("p"), 1, None, 5), "its queue is not served");
    assert!(!due(&rung, &Queues::All, 0, None, 5), "its format is newer");
    assert!(!due(&rung, &Queues::All, 1, Some(&other), 5), "it is another tenant's");

    let stopped = SessionRow { interrupt: Some(stop("i", InterruptKind::Soft)), ..rung.clone() };
    assert!(due(&stopped, &named("p"), 0, None, 5), "a stop may be carried out by anyone");
    assert!(!due(&stopped, &named("p"), 0, Some(&other), 5), "but for no other tenant");
    assert!(!due(&stopped, &Queues::All, 1, None, 4), "and not before its alarm");

    let held = claimed(rung, at(6));
    assert!(!due(&held, &Queues::All, 1, None, 10_005) && due(&held, &Queues::All, 1, None, 10_006));
    let early = SessionRow { alarm: Some(at(6)), ..held };
    assert!(!due(&early, &Queues::All, 1, None, 7), "nobody takes what a lease holds");
    let aborted = SessionRow { status: SessionStatus::Aborted, alarm: Some(at(0)), ..row() };
    assert!(!due(&aborted, &Queues::All, 1, None, 5));
}

#[test]
fn a_renewal_lets_the_lease_run_from_now_and_never_shortens_it() {
    let first = claimed(row(), at(0));
    let mut row = first.clone();
    for shorter in [Duration::from_secs(1), Duration::from_secs(9)] {
        let receipt = row.renew(&first.fence(), shorter, at(1_000)).expect("admitted");
        assert_eq!((receipt.lease_ends, receipt.now), (at(10_000), at(1_000)));
        assert_eq!(row, first, "nothing has changed");
    }
    let receipt = row.renew(&first.fence(), Duration::from_millis(9_001), at(1_000)).expect("admitted");
    assert_eq!(receipt.lease_ends, at(10_001));
    let lease = Lease { worker: worker(), ends: at(10_001), granted_ms: 9_001 };
    let renewed =
        SessionRow { lease: Some(lease), alarm: Some(at(10_001)), updated_at: at(1_000), ..first.clone() };
    assert_eq!(row, renewed, "the version stays, and all else");

    assert!(row.renew(&first.fence(), LEASE, at(30_000)).is_some(), "nobody took it over");
    assert_eq!(row.alarm, Some(at(40_000)));
    let mut row = claimed(row, at(50_000));
    let before = row.clone();
    assert_eq!(row.renew(&first.fence(), LEASE, at(50_000)), None, "somebody did");
    assert_eq!(row, before);
}

#[test]
fn a_fence_is_good_for_one_life_one_run_and_until_its_release() {
    let row = claimed(row(), at(0));
    let fence = row.fence();
    assert!(row.admits(&fence));
    assert!(!row.admits(&Fence { incarnation: Incarnation(Uuid::from_u128(2)), ..fence.clone() }));
    assert!(!row.admits(&Fence { epoch: Epoch(0), ..fence.clone() }));
    assert!(!row.admits(&Fence { epoch: Epoch(2), ..fence.clone() }));
    assert!(!SessionRow { status: SessionStatus::Suspended, ..row.clone() }.admits(&fence));
    assert!(!SessionRow { lease: None, ..row }.admits(&fence));
}

#[test]
fn no_write_of_a_run_is_let_in_after_its_release_nor_in_another_life() {
    let row = SessionRow { interrupt: Some(stop("i", InterruptKind::Soft)), ..claimed(row(), at(0)) };
    let fence = row.fence();
    let life = Fence { incarnation: Incarnation(Uuid::from_u128(2)), ..fence.clone() };
    let mut released = row.clone();
    released
        .apply(&commit(to(SessionStatus::Suspended, 0)), &CommitFacts::default(), at(1))
        .expect("applied");
    let next = commit(None);
    let next = Commit { operation: OperationId::new("next").unwrap(), ..next };
    for (before, fence) in [(row, life), (released, fence)] {
        let mut row = before.clone();
        assert_eq!(row.renew(&fence, LEASE, at(2)), None);
        assert_eq!(row.hand_interrupt(&fence), InterruptCheck::StaleFence);
        let batch = DeltaBatch { stream: 1, first: 1, deltas: vec![Payload::new("d")] };
        assert_eq!(row.stream(&fence, &batch), Err(DeltaOutcome::StaleFence));
        assert_eq!(row.stage(&fence, &Staging::default(), &[]), Err(StageOutcome::StaleFence));
        assert!(matches!(row.admit(&fence, &next), Some(CommitOutcome::StaleFence { .. })));
        assert_eq!(row, before);
    }
}

#[test]
fn only_what_failed_or_was_interrupted_is_moved_and_only_to_suspended() {
    for from in SessionStatus::ALL {
        for status in SessionStatus::ALL {
            let before = SessionRow { status: from, alarm: Some(at(90)), ..row() };
            let mut row = before.clone();
            let cas = |version| StatusCas {
                incarnation: Some(before.incarnation),
                expected_version: Version(version),
                to: status,
                items: vec![],
            };
            for wrong in [0, 2] {
                let conflict = CasOutcome::VersionConflict {
                    expected: Version(wrong),
                    actual: Version(1),
                    status: from,
                };
                assert_eq!(row.compare_and_set(&cas(wrong), at(7)), conflict);
            }
            assert_eq!(row, before);
            let moved = row.compare_and_set(&cas(1), at(7));
            let may = matches!(from, SessionStatus::Failed | SessionStatus::Interrupted);
            if may && status == SessionStatus::Suspended {
                assert_eq!(moved, CasOutcome::Moved { version: Version(2) });
                let expected = SessionRow {
                    status,
                    version: Version(2),
                    alarm: Some(at(7)),
                    updated_at: at(7),
                    ..before
                };
                assert_eq!(row, expected);
            } else {
                assert_eq!(moved, CasOutcome::NotAllowed { from, to: status });
                assert_eq!(row, before);
            }
        }
    }
}
