//! The process of a flow dies at each of its writes, and another one goes on: in memory, and on a SQLite file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use holdover_core::message::ResultStatus;
use holdover_core::store::{SessionStatus, StateStore};
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, StepError, Stop};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Process, mortal, start, until, work_and_inherit};
use crate::places::{Place, dies_on_a_server, postgres, redis};

/// The effects that services have seen, by their keys: how often, and of which step.
#[derive(Clone, Default)]
struct World(Arc<Mutex<BTreeMap<String, (u32, String)>>>);

impl World {
    fn note(&self, step: &str, key: &str) {
        let mut seen = self.0.lock().unwrap();
        seen.entry(key.to_owned()).or_insert((0, step.to_owned())).0 += 1;
    }

    /// Returns the number of times that each different effect of this step was seen.
    fn of(&self, step: &str) -> Vec<u32> {
        let seen = self.0.lock().unwrap();
        seen.values().filter(|(_, name)| name == step).map(|(count, _)| *count).collect()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    id: u32,
    parcels: u32,
    /// The time in which somebody must approve it.
    seconds: u64,
}

const CHARGE: Step<Order, String> = Step::idempotent("charge");
const REFUND: Step<Order, ()> = Step::idempotent("refund");
const SHIP: Step<u32, u32> = Step::at_most_once("ship");
const LOOK: Step<u32, u32> = Step::read_only("look");

async fn order(cx: Cx, order: Order) -> Result<(String, u32), Stop> {
    let mut saga = cx.saga();
    let paid = saga.step(&CHARGE, &order, &REFUND).await?;
    if let Err(no) = cx.approve("ship", &order).of(["ann"]).within(Duration::from_secs(order.seconds)).await {
        return saga.undo(no).await;
    }
    let branches = (0..order.parcels).map(|parcel| {
        let cx = cx.clone();
        async move {
            let seen = cx.step(&LOOK, &parcel).await?;
            match cx.step(&SHIP, &seen).await {
                // Somebody looks for the parcel later.
                Err(StepError::InDoubt { .. }) => Ok(1_000),
                other => other,
            }
        }
    });
    match try_join_all(branches).await {
        Ok(labels) => Ok((paid, labels.iter().sum())),
        Err(error) => saga.undo(error).await,
    }
}

fn flow(place: &Place, world: &World) -> Flow<Order, (String, u32)> {
    async fn charge(cx: StepCx, order: Order) -> Result<String, ToolError> {
        cx.get::<World>()?.note("charge", cx.idempotency_key());
        Ok(format!("paid {}", order.id))
    }
    async fn refund(cx: StepCx, _: Order) -> Result<(), ToolError> {
        cx.get::<World>()?.note("refund", cx.idempotency_key());
        Ok(())
    }
    async fn ship(cx: StepCx, parcel: u32) -> Result<u32, ToolError> {
        cx.get::<World>()?.note("ship", cx.idempotency_key());
        Ok(parcel)
    }
    async fn look(parcel: u32) -> Result<u32, ToolError> {
        Ok(parcel + 1)
    }
    place
        .keeps("order", Flow::builder("order", order))
        .version("3")
        .on(&CHARGE, charge)
        .on(&REFUND, refund)
        .on(&SHIP, ship)
        .on(&LOOK, look)
        .with(world.clone())
        .build()
        .unwrap()
}

/// What becomes of the approval.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Says {
    Yes,
    No,
    Nothing,
    Stop,
}

/// The effects of one story, or of all stories of a sweep in which a process died.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    deaths: u32,
    charged: u32,
    refunded: u32,
    shipped: u32,
    in_doubt: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.deaths += other.deaths;
        self.charged += other.charged;
        self.refunded += other.refunded;
        self.shipped += other.shipped;
        self.in_doubt += other.in_doubt;
    }
}

/// Plays the order with this process until it dies, and with an heir from then on. Returns its effects.
async fn story(place: &Place, parcels: u32, process: Arc<Process>, says: Says) -> Tally {
    let told = format!("{process:?}, {says:?}");
    let world = World::default();
    let flow = flow(place, &world);
    let first = place.runtime(mortal(&place.open().await, &process), flow.agent());
    let heir = place.runtime(place.open().await, flow.agent());
    let seconds = if says == Says::Nothing { 4 } else { 600 };
    let key = start(&heir, &flow, &Order { id: 7, parcels, seconds }).await;
    let works = work_and_inherit(&first, &process, &heir);
    let pending = async {
        until(&heir, &key, SessionStatus::Suspended, &told).await;
        loop {
            // The session is also suspended, for a moment, if its run died and left it.
            if let Some(pending) = bench::pending_of(&heir, &key).await.pop() {
                break pending;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    match says {
        Says::Yes => drop(heir.approve(&key, &pending.await, "ann").await.unwrap()),
        Says::No => drop(heir.deny(&key, &pending.await, "ann").await.unwrap()),
        Says::Nothing => {}
        Says::Stop => {
            pending.await;
            heir.interrupt(&key, "enough").await.unwrap();
        }
    }
    let end = match says {
        Says::Yes => SessionStatus::Idle,
        Says::No | Says::Nothing => SessionStatus::Failed,
        Says::Stop => SessionStatus::Interrupted,
    };
    until(&heir, &key, end, &told).await;
    drop(works);

    let died = process.died.is_cancelled();
    let (charged, refunded, shipped) = (world.of("charge"), world.of("refund"), world.of("ship"));
    let again = 1 + u32::from(died);
    assert_eq!(charged.len(), 1, "{told}: one order is charged under one key");
    assert!(charged[0] <= again, "{told}: charged {} times", charged[0]);
    assert_eq!(bench::ended(&heir, &key, "charge").await, [ResultStatus::Done], "{told}");
    assert!(shipped.iter().all(|times| *times == 1), "{told}: a parcel was shipped twice");
    let (mut shipped_surely, mut in_doubt, mut sum) = (0, 0, 0);
    for result in bench::results(&heir, &key).await.iter().filter(|result| result.tool == "ship") {
        match result.status {
            ResultStatus::Done => {
                shipped_surely += 1;
                sum += result.content.parse::<u32>().unwrap();
            }
            ResultStatus::InDoubt => {
                in_doubt += 1;
                sum += 1_000;
            }
            other => panic!("{told}: {other:?}"),
        }
    }
    match says {
        Says::Yes => {
            assert_eq!(shipped_surely + in_doubt, parcels, "{told}: each parcel has one end");
            let (least, most) = (shipped_surely as usize, (shipped_surely + in_doubt) as usize);
            assert!((least..=most).contains(&shipped.len()), "{told}: {} were shipped", shipped.len());
            assert!(in_doubt == 0 || died, "{told}: nobody died");
            assert!(refunded.is_empty(), "{told}");
            assert_eq!(bench::text(&heir, &key).await, format!("[\"paid 7\",{sum}]"), "{told}");
        }
        Says::No | Says::Nothing | Says::Stop => {
            assert_eq!((shipped.len(), shipped_surely + in_doubt), (0, 0), "{told}: nothing is shipped");
            assert_eq!(refunded.len(), 1, "{told}: one refund under one key");
            assert!(refunded[0] <= again, "{told}: refunded {} times", refunded[0]);
            assert_eq!(bench::ended(&heir, &key, "refund").await, [ResultStatus::Done], "{told}");
        }
    }
    Tally {
        deaths: died.into(),
        charged: charged.iter().sum(),
        refunded: refunded.iter().sum(),
        shipped: shipped.iter().sum(),
        in_doubt,
    }
}

/// Plays the order with a death before and after each write. Returns the sum of the stories with a death.
async fn sweep(place: &Place, parcels: u32, says: Says) -> Tally {
    let mut sum = Tally::default();
    for after in [false, true] {
        for at in 1.. {
            let tally = story(place, parcels, Process::dying(at, after), says).await;
            if tally.deaths == 0 {
                break;
            }
            sum.add(tally);
        }
    }
    sum
}

/// Asserts that the sweep was long enough, that few deaths let a charge or a refund be sent twice, and that few
/// parcels are in doubt.
///
/// How many writes a story has depends on the store and on time, because results that come together share one. So a
/// sweep may miss the one write that brings a parcel into doubt.
fn check(sum: &Tally, deaths_min: u32, parcels: u32, says: Says) {
    assert!(sum.deaths >= deaths_min, "{says:?}: the story has become shorter: {sum:?}");
    let seldom_twice = |times: u32| (sum.deaths..=sum.deaths + 3).contains(&times);
    assert!(seldom_twice(sum.charged), "{says:?}: few deaths lie between the charge and its result: {sum:?}");
    if says == Says::Yes {
        assert!(2 * sum.in_doubt < sum.deaths * parcels, "{sum:?}");
        assert!(sum.shipped + sum.in_doubt >= sum.deaths * parcels, "{sum:?}");
    } else {
        assert!(seldom_twice(sum.refunded), "{says:?}: {sum:?}");
    }
}

/// Lets the process die instead of the first result of each step with an effect.
async fn dies_with_the_results(place: &Place, parcels: u32) {
    let died_with = async |tool, says| story(place, parcels, Process::dying_instead_of(tool), says).await;
    let usual = Tally { deaths: 1, charged: 1, ..Tally::default() };
    assert_eq!(died_with("charge", Says::Yes).await, Tally { charged: 2, shipped: parcels, ..usual });
    assert_eq!(died_with("refund", Says::No).await, Tally { refunded: 2, ..usual });
    let shipped = died_with("ship", Says::Yes).await;
    assert!((1..=parcels).contains(&shipped.in_doubt), "{shipped:?}");
    assert_eq!(shipped, Tally { shipped: parcels, in_doubt: shipped.in_doubt, ..usual });
}

async fn all_ends(place: &Place, parcels: u32) {
    check(&sweep(place, parcels, Says::Yes).await, 12, parcels, Says::Yes);
    dies_with_the_results(place, parcels).await;
}

async fn one_parcel(place: &Place) {
    all_ends(place, 1).await;
    for says in [Says::No, Says::Nothing, Says::Stop] {
        check(&sweep(place, 1, says).await, 10, 1, says);
    }
}

#[tokio::test(start_paused = true)]
async fn an_order_of_several_parcels_survives_a_death_at_each_write() {
    all_ends(&Place::memory(), 3).await;
}

#[tokio::test(start_paused = true)]
async fn an_order_of_several_parcels_survives_a_death_at_each_write_to_a_file() {
    all_ends(&Place::file(), 3).await;
}

#[tokio::test(start_paused = true)]
async fn an_order_is_shipped_or_undone_whatever_dies() {
    one_parcel(&Place::memory()).await;
}

#[tokio::test(start_paused = true)]
async fn an_order_on_a_file_is_shipped_or_undone_whatever_dies() {
    one_parcel(&Place::file()).await;
}

/// Plays the order on a server, with all deaths at the same time.
async fn on_a_server(store: Arc<dyn StateStore>) {
    let ends = [Says::Yes, Says::No, Says::Nothing, Says::Stop].map(async |says| {
        let story = |place: Place, process| async move {
            let tally = story(&place, 1, process, says).await;
            (tally, tally.deaths > 0)
        };
        let mut sum = Tally::default();
        dies_on_a_server(16, &store, story).await.into_iter().for_each(|tally| sum.add(tally));
        check(&sum, 10, 1, says);
    });
    let place = Place::on(&store);
    futures::join!(join_all(ends), dies_with_the_results(&place, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_on_postgres_is_shipped_or_undone_whatever_dies() {
    on_a_server(postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_on_redis_is_shipped_or_undone_whatever_dies() {
    on_a_server(redis().await).await;
}
