//! The tests that authors of flows write.

use std::time::Duration;

use holdover_core::message::ResultStatus;
use holdover_core::tool::ToolError;
use holdover_flow::test::{Ended, Test, TestError};
use holdover_flow::{Cx, Flow, FlowBuilder, Step, StepError};

const HOUR: Duration = Duration::from_secs(3_600);
const CHARGE: Step<u32, String> = Step::idempotent("charge");
const REFUND: Step<u32, ()> = Step::idempotent("refund");
const SHIP: Step<u32, String> = Step::at_most_once("ship");

/// Ships an order once it is paid, and once somebody approves it within a day. Undoes it otherwise.
fn order() -> FlowBuilder<u32, String> {
    Flow::builder("order", |cx: Cx, order: u32| async move {
        let mut saga = cx.saga();
        saga.step(&CHARGE, &order, &REFUND).await?;
        if let Err(no) = cx.approve("ship", &order).of(["ann", "bob"]).within(24 * HOUR).await {
            return saga.undo(no).await;
        }
        let colour = cx.ask("which colour?").await?;
        let paid: u32 = match cx.signal("paid").within(100 * HOUR).await {
            Ok(paid) => paid,
            Err(late) => return saga.undo(late).await,
        };
        match cx.step(&SHIP, &order).await {
            Ok(label) => Ok(format!("{label} {colour} {paid}")),
            Err(StepError::InDoubt { .. }) => Ok("somebody looks for the parcel".to_owned()),
            Err(error) => saga.undo(error).await,
        }
    })
    .within(1_000 * HOUR)
}

fn test() -> Test<u32, String> {
    Test::new(order)
        .on(&CHARGE, |order: u32| async move { Ok::<_, ToolError>(format!("paid {order}")) })
        .on(&REFUND, |_: u32| async { Ok::<_, ToolError>(()) })
        .on(&SHIP, |order: u32| async move { Ok::<_, ToolError>(format!("label {order}")) })
}

fn happy() -> Test<u32, String> {
    let test = test().approve("ship", "ann").after(2 * HOUR).answer("which colour?", "red");
    test.signal("paid", &17).unwrap().after(50 * HOUR)
}

#[test]
fn a_flow_ends_in_virtual_time_as_people_decide() {
    let report = happy().run(&7).unwrap();
    assert_eq!(report.value().unwrap(), "label 7 red 17");
    assert!((50 * HOUR..51 * HOUR).contains(&report.elapsed()), "{report:?}");
    assert_eq!((report.sent("charge"), report.sent("ship"), report.sent("refund")), (1, 1, 0));
    let charged = report.steps().remove(0);
    assert_eq!((charged.step.as_str(), charged.argument.as_str()), ("charge", "7"));
    assert_eq!((charged.status, charged.result.as_str()), (ResultStatus::Done, "\"paid 7\""));
}

#[test]
fn the_ends_of_a_flow_are_told_apart() {
    let refused = test().refuse("ship", "bob", "too dear").run(&7).unwrap();
    assert_eq!(refused.ended(), Ended::Failed("ship was rejected: too dear".to_owned()));
    assert_eq!(refused.sent("refund"), 1);
    let late = test().run(&7).unwrap();
    assert_eq!(late.failure().as_deref(), Some("ship timed out"));
    assert!((24 * HOUR..25 * HOUR).contains(&late.elapsed()), "{late:?}");
    let waits = test().approve("ship", "ann").within(500 * HOUR).run(&7).unwrap();
    assert_eq!(waits.ended(), Ended::Waits(vec!["which colour?".to_owned()]));
    assert!(matches!(waits.value(), Err(TestError::NoValue(_))));
    let stopped = test().approve("ship", "ann").stop("enough").after(3 * HOUR).run(&7).unwrap();
    assert_eq!((stopped.ended(), stopped.sent("refund")), (Ended::Stopped, 0));
    let aborted = test().abort("at once").after(HOUR).run(&7).unwrap();
    assert_eq!(aborted.ended(), Ended::Aborted);
}

#[test]
fn a_flow_whose_time_is_over_is_undone() {
    fn short() -> FlowBuilder<u32, String> {
        Flow::builder("short", |cx: Cx, order: u32| async move {
            let mut saga = cx.saga();
            saga.step(&CHARGE, &order, &REFUND).await?;
            match cx.approve("ship", &order).await {
                Ok(()) => Ok("shipped".to_owned()),
                Err(no) => saga.undo(no).await,
            }
        })
        .within(10 * HOUR)
    }
    let test = Test::new(short)
        .on(&CHARGE, |order: u32| async move { Ok::<_, ToolError>(order.to_string()) })
        .on(&REFUND, |_: u32| async { Ok::<_, ToolError>(()) });
    let late = test.run(&7).unwrap();
    let why = late.failure().unwrap();
    assert!(why.starts_with("flow.timed_out: its time of 36000 s is over: "), "{why}");
    assert!((10 * HOUR..11 * HOUR).contains(&late.elapsed()), "{late:?}");
    assert_eq!(late.sent("refund"), 1);
    let mut deaths = 0;
    let looks = test.crash_at_every_write(&7, |report| {
        assert!(report.failure().unwrap().starts_with("flow.timed_out: "), "{report:?}");
        assert!((10 * HOUR..11 * HOUR).contains(&report.elapsed()), "{report:?}");
        assert_eq!((report.calls("charge"), report.calls("refund")), (1, 1), "{report:?}");
        deaths += usize::from(report.died().is_some());
    });
    looks.unwrap();
    assert!(deaths >= 8, "{deaths} deaths");
    let test = test.approve("ship", "ann").after(9 * HOUR);
    let mut deaths = 0;
    let looks = test.crash_at_every_write(&7, |report| {
        assert_eq!(report.value().unwrap(), "shipped");
        assert_eq!((report.calls("charge"), report.sent("refund")), (1, 0), "{report:?}");
        deaths += usize::from(report.died().is_some());
    });
    looks.unwrap();
    assert!(deaths >= 6, "{deaths} deaths");
}

#[test]
fn a_process_dies_at_each_write_and_the_report_says_so() {
    let mut died = Vec::new();
    let looks = happy().crash_at_every_write(&7, |report| {
        let value = report.value().unwrap();
        let in_doubt = value == "somebody looks for the parcel";
        assert!(value == "label 7 red 17" || (in_doubt && report.died().is_some()), "{report:?}");
        assert_eq!((report.calls("charge"), report.sent("refund")), (1, 0), "{report:?}");
        assert!(report.sent("ship") <= 1, "{report:?}");
        died.extend(report.died());
    });
    looks.unwrap();
    let writes = died.iter().filter(|(_, after)| *after).count();
    assert!(writes >= 8 && died.len() == 2 * writes, "{died:?}");
    assert_eq!(died.first(), Some(&(1, false)));
}

#[test]
fn a_test_that_cannot_be_carried_out_says_why() {
    let test = test().approve("ship", "eve");
    let refused = test.run(&7).unwrap_err();
    assert!(matches!(&refused, TestError::Refused { what, .. } if what.contains("eve")), "{refused}");
    let unnamed = Test::new(order).signal("no such name!", &1).err().unwrap();
    assert!(matches!(unnamed, TestError::Signal { .. }), "{unnamed}");
    let unbound = Test::new(order).run(&7).unwrap();
    assert!(unbound.failure().unwrap().contains("charge"), "{unbound:?}");
}
