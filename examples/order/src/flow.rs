//! The two flows: an order, and the shipping of one parcel.

use std::sync::Arc;
use std::time::Duration;

use holdover::flow::{Child, CommitWith, Cx, Flow, FlowBuilder, Step, StepCx, Stop, TxCx};
use holdover::prelude::*;
use holdover::store::SqliteTransaction;
use holdover::store::rusqlite::params;
use serde::{Deserialize, Serialize};

use crate::shop::{Bank, Carrier};

/// The time in which somebody has to approve an order.
pub const APPROVAL: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Orders of more than this many cents need an approval.
pub const LARGE: i64 = 50_000;

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The number of the order.
    pub id: i64,
    /// The article.
    pub article: String,
    /// The price of the whole order.
    pub cents: i64,
    /// The number of pieces in each parcel.
    pub parcels: Vec<i64>,
}

impl Order {
    /// Returns the number of all pieces.
    pub fn pieces(&self) -> i64 {
        self.parcels.iter().sum()
    }
}

/// A parcel of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// The order.
    pub order: i64,
    /// The number of the parcel in its order, from 1.
    pub number: usize,
    /// The number of pieces.
    pub pieces: i64,
}

/// What the customer gets in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The payment.
    pub paid: String,
    /// The labels of the parcels.
    pub labels: Vec<String>,
}

// Each step says what a crash means for it.
/// Takes the pieces out of the stock.
pub const RESERVE: Step<Order, i64> = Step::transactional("reserve");
/// Puts the pieces back.
pub const PUT_BACK: Step<Order, i64> = Step::transactional("put_back");
/// Charges the card.
pub const CHARGE: Step<Order, String> = Step::idempotent("charge");
/// Pays the money back.
pub const REFUND: Step<Order, ()> = Step::idempotent("refund");
/// Packs a parcel.
pub const PACK: Step<Parcel, ()> = Step::idempotent("pack");
/// Buys the label of a parcel.
pub const LABEL: Step<Parcel, String> = Step::at_most_once("label");
/// Ships a parcel, in a session of its own.
pub const SHIP: Child<Parcel, String> = Child::new("ship");

async fn order(cx: Cx, order: Order) -> Result<Receipt, Stop> {
    let mut saga = cx.saga();
    saga.step(&RESERVE, &order, &PUT_BACK).await?;
    let paid = match saga.step(&CHARGE, &order, &REFUND).await {
        Ok(paid) => paid,
        Err(error) => return saga.undo(error).await,
    };
    if order.cents > LARGE
        && let Err(no) = cx.approve("ship", &order).of(["ann", "bob"]).within(APPROVAL).await
    {
        return saga.undo(no).await;
    }
    let parcels: Vec<Parcel> = (1..)
        .zip(&order.parcels)
        .map(|(number, pieces)| Parcel { order: order.id, number, pieces: *pieces })
        .collect();
    match cx.map(&SHIP, &parcels).all_or_error().await {
        Ok(labels) => Ok(Receipt { paid, labels }),
        Err(error) => saga.undo(error).await,
    }
}

async fn ship(cx: Cx, parcel: Parcel) -> Result<String, Stop> {
    cx.step(&PACK, &parcel).await?;
    Ok(cx.step(&LABEL, &parcel).await?)
}

/// Returns the flow of an order, with its functions. The table `stock` is in the file of the store.
pub fn flow(bank: &Arc<Bank>, carrier: &Arc<Carrier>) -> FlowBuilder<Order, Receipt> {
    Flow::builder("order", order)
        .version("3")
        .with(Arc::clone(bank))
        .on(&RESERVE, |cx, order: Order| {
            let pieces = order.pieces();
            take(cx, order, pieces)
        })
        .on(&PUT_BACK, |cx, order: Order| {
            let pieces = -order.pieces();
            take(cx, order, pieces)
        })
        .on(&CHARGE, charge)
        .on(&REFUND, refund)
        .child(&SHIP, shipping(carrier))
}

/// Returns the flow of a parcel.
pub fn shipping(carrier: &Arc<Carrier>) -> FlowBuilder<Parcel, String> {
    Flow::builder("shipping", ship).with(Arc::clone(carrier)).on(&PACK, pack).on(&LABEL, label)
}

/// Takes pieces out of the stock, in the transaction that stores the value of the step.
async fn take(cx: TxCx, order: Order, pieces: i64) -> Result<CommitWith<i64>, ToolError> {
    let mut tx = cx.begin::<SqliteTransaction>().await?;
    let article = order.article.clone();
    let left = tx.run(move |db| {
        let take =
            "UPDATE stock SET pieces = pieces - ?1 WHERE article = ?2 AND pieces >= ?1 RETURNING pieces";
        db.query_row(take, params![pieces, article], |row| row.get::<_, i64>(0))
    });
    let left = left.await?.map_err(|_| ToolError::failed(format!("too few of {}", order.article)))?;
    Ok(tx.commit_with(left))
}

async fn charge(cx: StepCx, order: Order) -> Result<String, ToolError> {
    // The bank knows the key: a repeat after a crash is no second charge.
    cx.get::<Arc<Bank>>()?.charge(cx.idempotency_key(), order.id, order.cents).map_err(ToolError::failed)
}

async fn refund(cx: StepCx, order: Order) -> Result<(), ToolError> {
    // Whether the charge was in doubt or not: the bank knows if there is something to pay back.
    cx.get::<Arc<Bank>>()?.refund(order.id).map_err(ToolError::failed)
}

async fn pack(cx: StepCx, parcel: Parcel) -> Result<(), ToolError> {
    cx.get::<Arc<Carrier>>()?.pack(cx.idempotency_key(), &parcel).map_err(ToolError::failed)
}

async fn label(cx: StepCx, parcel: Parcel) -> Result<String, ToolError> {
    // A carrier without keys: a label must not be bought twice, so the step is sent at most once.
    cx.get::<Arc<Carrier>>()?.label(&parcel).map_err(ToolError::failed)
}
