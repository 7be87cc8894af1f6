//! The flow in virtual time: people decide late, or not at all, and the process dies at each write.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdover::flow::FlowBuilder;
use holdover::flow::test::{Ended, Test};
use holdover::prelude::*;
use holdover_example_order::flow::{
    APPROVAL, CHARGE, LABEL, Order, PACK, PUT_BACK, Parcel, REFUND, RESERVE, Receipt, SHIP, flow, shipping,
};
use holdover_example_order::shop::{Bank, Carrier};

fn order(cents: i64) -> Order {
    Order { id: 7, article: "lamp".to_owned(), cents, parcels: vec![3, 2] }
}

/// The flow of a parcel without a carrier.
fn parcels() -> FlowBuilder<Parcel, String> {
    shipping(&Arc::new(Carrier::open(Path::new("nowhere"))))
        .on(&PACK, |_: Parcel| async { Ok::<_, ToolError>(()) })
        .on(&LABEL, |parcel: Parcel| async move { Ok::<_, ToolError>(format!("label {}", parcel.number)) })
}

/// The flow of an order without its services.
fn test() -> Test<Order, Receipt> {
    let nowhere = Path::new("nowhere");
    Test::new(move || flow(&Arc::new(Bank::open(nowhere)), &Arc::new(Carrier::open(nowhere))))
        .on(&RESERVE, |_: Order| async { Ok::<_, ToolError>(95) })
        .on(&PUT_BACK, |_: Order| async { Ok::<_, ToolError>(100) })
        .on(&CHARGE, |order: Order| async move { Ok::<_, ToolError>(order.cents.to_string()) })
        .on(&REFUND, |_: Order| async { Ok::<_, ToolError>(()) })
        .change(|order| order.child(&SHIP, parcels()))
}

#[test]
fn a_large_order_waits_for_ann_or_bob() {
    let report = test().approve("ship", "bob").after(APPROVAL / 2).run(&order(90_000)).unwrap();
    assert_eq!(report.value().unwrap().labels, ["label 1", "label 2"]);
    assert!(report.elapsed() >= APPROVAL / 2, "{report:?}");
    let small = test().run(&order(900)).unwrap();
    assert_eq!(small.value().unwrap().paid, "900");
}

#[test]
fn what_was_done_is_undone_if_nobody_approves_or_the_customer_stops() {
    let late = test().run(&order(90_000)).unwrap();
    assert_eq!(late.ended(), Ended::Failed("ship timed out".to_owned()));
    assert_eq!((late.sent("refund"), late.sent("put_back")), (1, 1));
    let stopped =
        test().stop("the customer called").after(Duration::from_secs(60)).run(&order(90_000)).unwrap();
    assert_eq!(stopped.ended(), Ended::Stopped);
    assert_eq!((stopped.sent("refund"), stopped.sent("put_back"), stopped.sent("label")), (1, 1, 0));
}

#[test]
fn an_order_survives_a_death_at_each_write() {
    let mut deaths = 0;
    let looked = test().approve("ship", "ann").crash_at_every_write(&order(90_000), |report| {
        assert_eq!((report.calls("reserve"), report.calls("charge")), (1, 1), "{report:?}");
        assert!(report.sent("label") == report.calls("label"), "{report:?}: no label is bought twice");
        match report.ended() {
            Ended::Returned(_) => {
                assert_eq!(report.calls("refund") + report.calls("put_back"), 0, "{report:?}")
            }
            // A label is in doubt.
            Ended::Failed(_) => {
                assert_eq!((report.calls("refund"), report.calls("put_back")), (1, 1), "{report:?}")
            }
            other => panic!("{other:?}: {report:?}"),
        }
        deaths += usize::from(report.died().is_some());
    });
    looked.unwrap();
    assert!(deaths >= 20, "{deaths} deaths");
}
