//! The validation finds every kind of fault in a table.
//!
//! Requirements: C02, D04, D20, D21.

use super::super::table::{BOUNDS, Bound, NATURES, Nature, ROWS, Row, SESSION, Table, TableError};
use super::super::{InputKind as I, StateKind as S};

type Natures = Vec<(S, Nature<'static>)>;

fn check(change: impl Fn(&mut Vec<Row<'static>>, &mut Natures, &mut Vec<Bound>)) -> Vec<TableError> {
    let (mut rows, mut natures, mut bounds) = (ROWS.to_vec(), NATURES.to_vec(), BOUNDS.to_vec());
    change(&mut rows, &mut natures, &mut bounds);
    Table { rows: &rows, natures: &natures, bounds: &bounds, ..SESSION }
        .validate()
        .expect_err("a broken table")
        .0
}

/// Requirements: D04.
#[test]
fn the_table_of_this_version_is_sound() {
    super::table::validate().expect("sound");
}

/// Requirements: D20.
#[test]
fn a_missing_target_is_found() {
    let broken = check(|rows, _, _| rows[0].to = &[]);
    assert!(broken.contains(&TableError::MissingTarget(S::Idle, I::TurnRequested)), "{broken:?}");
    let broken = check(|_, natures, _| natures.retain(|(state, _)| *state != S::BackingOff));
    assert!(broken.contains(&TableError::MissingTarget(S::Streaming, I::ModelFailed)), "{broken:?}");
}

/// Requirements: D20.
#[test]
fn a_dead_end_is_found_also_when_only_an_error_leads_out() {
    let broken = check(|rows, _, _| {
        rows.retain(|row| (row.from, row.on) != (S::BackingOff, I::TimerRang));
    });
    assert!(broken.contains(&TableError::DeadEnd(S::BackingOff)), "{broken:?}");
}

/// Requirements: C02, D04, D21.
#[test]
fn a_missing_failure_edge_is_found() {
    // A failure during teardown does not change its course, and at rest nothing can fail.
    let may_fail =
        |(state, nature): &&(S, Nature<'static>)| *nature != Nature::Rest && *state != S::TearingDown;
    for (state, _) in NATURES.iter().filter(may_fail) {
        let broken = check(|rows, _, _| rows.retain(|row| (row.from, row.on) != (*state, I::Failed)));
        assert_eq!(broken, [TableError::NoFailureEdge(*state)]);
    }
}

#[test]
fn a_parked_state_that_nothing_wakes_is_found() {
    let broken = check(|_, natures, _| {
        for (state, nature) in natures.iter_mut().filter(|(state, _)| *state == S::Confirming) {
            assert_eq!(*state, S::Confirming);
            *nature = Nature::Parked { woken_by: &[], answered_by: Some(I::Call) };
        }
    });
    assert!(broken.contains(&TableError::NoWakeUp(S::Confirming)), "{broken:?}");
}

/// Requirements: D21.
#[test]
fn a_state_whose_answer_leads_nowhere_is_found() {
    let broken = check(|rows, _, _| {
        rows.retain(|row| (row.from, row.on) != (S::Confirming, I::Call));
    });
    assert!(broken.contains(&TableError::NoAnswer(S::Confirming)), "{broken:?}");
}

/// The seventh trap (`core/tests/steps/traps.rs`): a validator that stops at the first of several faults.
///
/// Requirements: D21.
#[test]
fn trap_a_validator_finds_all_that_is_wrong_at_once() {
    let broken = check(|rows, natures, bounds| {
        rows.retain(|row| (row.from, row.on) != (S::Thinking, I::Failed));
        rows.retain(|row| (row.from, row.on) != (S::BackingOff, I::TimerRang));
        rows[0].to = &[];
        for (_, nature) in natures.iter_mut().filter(|(state, _)| *state == S::Confirming) {
            *nature = Nature::Parked { woken_by: &[], answered_by: Some(I::Steered) };
        }
        bounds.clear();
    });
    for expected in [
        TableError::MissingTarget(S::Idle, I::TurnRequested),
        TableError::DeadEnd(S::BackingOff),
        TableError::NoFailureEdge(S::Thinking),
        TableError::NoWakeUp(S::Confirming),
        TableError::NoAnswer(S::Confirming),
    ] {
        assert!(broken.contains(&expected), "{expected}: {broken:?}");
    }
    assert!(broken.iter().any(|one| matches!(one, TableError::UnboundedCycle(_))), "{broken:?}");
}

#[test]
fn a_cycle_that_nothing_bounds_is_found() {
    let broken = check(|_, _, bounds| {
        bounds.retain(|bound| bound.state != S::Steering && bound.state != S::Streaming);
    });
    assert!(broken.iter().any(|one| matches!(one, TableError::UnboundedCycle(_))), "{broken:?}");
}

#[test]
fn the_cycle_that_nothing_bounds_is_named_without_what_only_leads_to_it() {
    let broken = check(|_, _, bounds| {
        bounds.retain(|bound| bound.state != S::Steering && bound.state != S::Streaming);
    });
    // Provisioning leads into the cycle and is not part of it.
    let cycle = vec![S::Thinking, S::Streaming, S::Executing, S::Steering];
    assert_eq!(broken, [TableError::UnboundedCycle(cycle)]);
    assert_eq!(
        broken[0].to_string(),
        "machine table: nothing bounds the cycle through thinking, streaming, executing, steering"
    );
}

#[test]
fn a_pair_that_is_listed_twice_is_found() {
    let broken = check(|rows, _, _| rows.push(rows[0]));
    assert!(broken.contains(&TableError::Twice(S::Idle, I::TurnRequested)), "{broken:?}");
}

#[test]
fn a_state_that_nothing_leads_to_is_found() {
    let broken = check(|rows, _, _| rows.retain(|row| ![S::Streaming, S::Compacting].contains(&row.from)));
    assert!(broken.contains(&TableError::Unreached(S::BackingOff)), "{broken:?}");
    let broken = check(|_, natures, _| natures.retain(|(state, _)| *state != S::Idle));
    assert!(broken.contains(&TableError::NoFirst(S::Idle)), "{broken:?}");
}
