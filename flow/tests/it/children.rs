//! Flows and agents that a flow runs in sessions of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover_core::store::{SessionStatus, StateStore};
use holdover_core::tool::ToolError;
use holdover_flow::{Child, Cx, Flow, FlowBuilder, FlowError, Step, StepCx, StepError, Stop};
use holdover_runtime_local::{AgentError, SubAgent};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Process, mortal, runtime, start, store, tenant, until, work_and_inherit};
use crate::places::{Place, dies_on_a_server, postgres, redis};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parcel {
    number: u32,
    /// A long text: what code is told is not cut.
    note: String,
}

const PACK: Step<u32, u32> = Step::idempotent("pack");
const SHIP: Child<Parcel, String> = Child::new("ship");

/// Packs a parcel and returns its label. A parcel 13 is refused, and a parcel above 1,000 waits for an hour.
async fn ship(cx: Cx, parcel: Parcel) -> Result<String, Stop> {
    let packed = cx.step(&PACK, &parcel.number).await?;
    if parcel.number == 13 {
        return Err(Stop::failed("no such street"));
    }
    if parcel.number > 1_000 {
        cx.sleep(Duration::from_secs(3_600)).await?;
    }
    Ok(format!("{packed} {}", parcel.note))
}

/// How often a parcel was packed under each key.
type Packed = Arc<Mutex<BTreeMap<String, u32>>>;

fn shipping(packed: &Packed) -> FlowBuilder<Parcel, String> {
    Flow::builder("shipping", ship).with(Arc::clone(packed)).on(&PACK, |cx: StepCx, number: u32| async move {
        *cx.get::<Packed>()?.lock().unwrap().entry(cx.idempotency_key().to_owned()).or_default() += 1;
        Ok::<u32, ToolError>(number)
    })
}

fn parcels(numbers: impl IntoIterator<Item = u32>) -> Vec<Parcel> {
    numbers.into_iter().map(|number| Parcel { number, note: "x".repeat(20_000) }).collect()
}

#[tokio::test(start_paused = true)]
async fn a_flow_runs_other_flows_and_gets_their_whole_values() {
    async fn order(cx: Cx, numbers: Vec<u32>) -> Result<Vec<String>, Stop> {
        let first = cx.flow(&SHIP, &parcels([numbers[0]])[0]).await?;
        let mut labels = cx.map(&SHIP, &parcels(numbers[1..].iter().copied())).all_or_error().await?;
        labels.insert(0, first);
        assert_eq!(cx.map(&SHIP, &[]).all_or_error().await?, Vec::<String>::new());
        Ok(labels)
    }
    let packed = Packed::default();
    let flow = Flow::builder("order", order).child(&SHIP, shipping(&packed)).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let numbers: Vec<u32> = (100..130).collect();
    let run = runtime.execute(flow.execute(tenant(), &numbers).unwrap()).await.unwrap();
    let labels = run.output::<Vec<String>>().await.unwrap();
    let expected: Vec<String> =
        numbers.iter().map(|number| format!("{number} {}", "x".repeat(20_000))).collect();
    assert!(labels == expected, "{} labels", labels.len());
    assert_eq!(packed.lock().unwrap().len(), 30);
}

/// The values of sixty children are larger than one result may be.
#[tokio::test(start_paused = true)]
async fn values_that_are_too_large_together_cost_the_largest_ones_only() {
    async fn order(cx: Cx, numbers: Vec<u32>) -> Result<Vec<String>, Stop> {
        let mut inputs = parcels(numbers);
        inputs[7].note = "y".repeat(100_000);
        let ends = cx.map(&SHIP, &inputs).await?;
        Ok(ends
            .into_iter()
            .map(|end| end.map_or_else(|error| error.to_string(), |label| label[..5].to_owned()))
            .collect())
    }
    let flow = Flow::builder("order", order).child(&SHIP, shipping(&Packed::default())).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let numbers: Vec<u32> = (100..160).collect();
    let run = runtime.execute(flow.execute(tenant(), &numbers).unwrap()).await.unwrap();
    let ends = run.output::<Vec<String>>().await.unwrap();
    assert!(ends[7].starts_with("step ship[8] failed: what it returned has 100006 bytes"), "{}", ends[7]);
    let lost = ends.iter().filter(|end| end.contains("1048576 are allowed")).count();
    assert_eq!(lost, 8, "as few as possible: {ends:?}");
    for (end, number) in ends.iter().zip(numbers).filter(|(end, _)| !end.starts_with("step")) {
        assert_eq!(*end, format!("{number} x"));
    }
}

#[tokio::test(start_paused = true)]
async fn each_child_ends_by_itself_or_the_first_failure_ends_all() {
    async fn each(cx: Cx, numbers: Vec<u32>) -> Result<Vec<String>, Stop> {
        let ends = cx.map(&SHIP, &parcels(numbers)).await?;
        Ok(ends
            .into_iter()
            .map(|end| end.map_or_else(|error| error.to_string(), |label| label[..4].to_owned()))
            .collect())
    }
    async fn all(cx: Cx, numbers: Vec<u32>) -> Result<Vec<String>, Stop> {
        match cx.map(&SHIP, &parcels(numbers)).all_or_error().await {
            Err(StepError::Failed { step, why }) => Ok(vec![step, why]),
            other => panic!("{other:?}"),
        }
    }
    let packed = Packed::default();
    let each = Flow::builder("each", each).child(&SHIP, shipping(&packed)).build().unwrap();
    let all = Flow::builder("all", all).child(&SHIP, shipping(&packed)).build().unwrap();
    let runtime = runtime(store(), &[each.agent(), all.agent()]);
    let began = tokio::time::Instant::now();
    let run = runtime.execute(all.execute(tenant(), &vec![1_001, 13, 1_002]).unwrap()).await.unwrap();
    let told = run.output::<Vec<String>>().await.unwrap();
    assert_eq!(told, ["ship[2]", "flow.failed: no such street"]);
    assert!(began.elapsed() < Duration::from_secs(60), "the others are stopped");
    let run = runtime.execute(each.execute(tenant(), &vec![11, 13, 15]).unwrap()).await.unwrap();
    let ends = run.output::<Vec<String>>().await.unwrap();
    assert_eq!(ends, ["11 x", "step ship[2] failed: flow.failed: no such street", "15 x"]);
}

#[tokio::test(start_paused = true)]
async fn children_end_when_their_time_is_over_or_nobody_waits_for_them() {
    const LATE: Child<Parcel, String> = Child::new("ship").timeout(Duration::from_secs(600));
    async fn late(cx: Cx, number: u32) -> Result<String, Stop> {
        let call = cx.flow(&LATE, &parcels([number])[0]);
        holdover_flow::select! {
            end = call => match end {
                Err(StepError::TimedOut { step }) => Ok(format!("{step} was late")),
                other => panic!("{other:?}"),
            },
            slept = cx.sleep(Duration::from_secs(if number == 2_000 { 60 } else { 6_000 })) => {
                slept?;
                Ok("slept".to_owned())
            }
        }
    }
    let flow = Flow::builder("late", late).child(&LATE, shipping(&Packed::default())).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    for (number, told, longest) in [(2_000, "slept", 120), (2_001, "ship was late", 700)] {
        let began = tokio::time::Instant::now();
        let run = runtime.execute(flow.execute(tenant(), &number).unwrap()).await.unwrap();
        assert_eq!(run.output::<String>().await.unwrap(), told);
        assert!(began.elapsed() < Duration::from_secs(longest), "{:?}", began.elapsed());
    }
}

/// Ships parcels as children, with this process until it dies. Returns true if it died.
async fn with_a_death(place: &Place, process: Arc<Process>) -> bool {
    async fn order(cx: Cx, numbers: Vec<u32>) -> Result<usize, Stop> {
        let one = cx.flow(&SHIP, &parcels([numbers[0]])[0]);
        let many = cx.map(&SHIP, &parcels(numbers[1..].iter().copied())).all_or_error();
        let (one, many) = holdover_flow::join!(one, many);
        Ok(one?.len().min(1) + many?.len())
    }
    let packed = Packed::default();
    let flow = place.keeps("order", Flow::builder("order", order));
    let flow = flow.child(&SHIP, place.keeps("ship", shipping(&packed))).build().unwrap();
    let first = place.runtime(mortal(&place.open().await, &process), flow.agent());
    let heir = place.runtime(place.open().await, flow.agent());
    let key = start(&heir, &flow, &vec![1, 2, 3]).await;
    let works = work_and_inherit(&first, &process, &heir);
    until(&heir, &key, SessionStatus::Idle, "ships").await;
    drop(works);
    assert_eq!(bench::text(&heir, &key).await, "3", "{process:?}");
    let packed = packed.lock().unwrap();
    let twice_at_most = packed.values().all(|times| *times <= 2);
    assert!(packed.len() == 3 && twice_at_most, "{process:?}: packed {packed:?}");
    process.died.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn children_of_a_flow_survive_a_death_at_each_write() {
    for after in [false, true] {
        let mut at = 1;
        while with_a_death(&Place::memory(), Process::dying(at, after)).await {
            at += 1;
        }
        assert!(at > 10, "{at} writes: the story has become shorter");
    }
}

async fn on_a_server(store: Arc<dyn StateStore>) {
    let story = |place: Place, process| async move { ((), with_a_death(&place, process).await) };
    assert!(dies_on_a_server(32, &store, story).await.len() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn children_of_a_flow_survive_deaths_on_postgres() {
    on_a_server(postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_of_a_flow_survive_deaths_on_redis() {
    on_a_server(redis().await).await;
}

/// A model that answers with its task.
struct Echo;

#[async_trait]
impl Model for Echo {
    fn name(&self) -> &str {
        "test:echo"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let holdover_core::message::Message::User(task) = &**request.messages.last().unwrap() else {
            return Err(ModelError::transient("no task", None));
        };
        let parts = vec![AnswerPart::Text(format!("about {}", task.text))];
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let answer = ModelAnswer { parts, stop: StopReason::EndTurn, usage };
        Ok(futures::stream::iter([Ok(ModelEvent::Finished(answer))]).boxed())
    }
}

/// Code may have made more decisions than a model may take steps, and its agents still get theirs.
#[tokio::test(start_paused = true)]
async fn agents_of_a_flow_answer_with_texts_also_late_in_the_flow() {
    const LOOK: Step<u32, u32> = Step::read_only("look");
    async fn research(cx: Cx, topics: Vec<String>) -> Result<Vec<String>, Stop> {
        for number in 0..200_u32 {
            cx.step(&LOOK, &number).await?;
        }
        let mut found = vec![cx.agent("researcher", "all").await?];
        found.extend(cx.agent_each("researcher", topics).all_or_error().await?);
        Ok(found)
    }
    let agent = || SubAgent::new("researcher", "Researches a topic");
    let flow = Flow::builder("research", research)
        .on(&LOOK, |number: u32| async move { Ok::<u32, ToolError>(number) })
        .agent(agent().model(Echo).fan_out_max(10))
        .build()
        .unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let topics = ["a", "b", "c"].map(str::to_owned).to_vec();
    let run = runtime.execute(flow.execute(tenant(), &topics).unwrap()).await.unwrap();
    let found = run.output::<Vec<String>>().await.unwrap();
    assert_eq!(found, ["about all", "about a", "about b", "about c"]);
    let without = Flow::builder("research", research).agent(agent()).build().unwrap_err();
    assert!(
        matches!(without, FlowError::Agent(AgentError::NoModel { agent }) if agent == "research>researcher")
    );
}
