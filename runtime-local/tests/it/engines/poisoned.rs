//! A session that kills every process that runs it. The engine asks one process after the other, until the turn is given up.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::letter::LetterCause;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, PageRequest, Request, SessionStatus, StateStore, StoreError,
};
use holdover_runtime_local::{Agents, Next, Runtime};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::fake::{Fake, HEARTBEAT};
use crate::bench::{agent, say, settle, store, tenant};
use crate::script::{Say, Script};

/// A process that does nothing any more once it is dead.
struct Mortal(CancellationToken);

#[async_trait]
impl Layer for Mortal {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.0.is_cancelled() {
            return pending().await;
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_kills_its_processes_ends_after_five_deaths_and_the_engine_keeps_nothing_of_it() {
    let mended = Arc::new(AtomicBool::new(false));
    let alive = Arc::new(Mutex::new(CancellationToken::new()));
    // The request to the model kills the process that sends it.
    let model = Script::new({
        let (mended, alive) = (Arc::clone(&mended), Arc::clone(&alive));
        move |_| {
            if mended.load(Ordering::SeqCst) {
                return Say::Text("back again");
            }
            alive.lock().unwrap().cancel();
            Say::Nothing
        }
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let (store, engine) = (store(), Fake::default());
    let agents = || Agents::new().with(Arc::clone(&agent));
    let begun = Arc::new(Mutex::new(Vec::new()));
    let process = {
        let (store, engine, begun, agents) = (store.clone(), engine.clone(), Arc::clone(&begun), agents());
        move || {
            let mut alive = alive.lock().unwrap();
            let mut begun = begun.lock().unwrap();
            if alive.is_cancelled() || begun.is_empty() {
                *alive = CancellationToken::new();
                let store = Layered::<_, Mortal>::new(store.clone(), Mortal(alive.clone()));
                begun.push(Runtime::new(store, agents.clone(), engine.options()));
            }
            begun.last().unwrap().clone()
        }
    };
    let _engine = tokio::spawn({
        let engine = engine.clone();
        async move { engine.work(process).await }
    });
    let front = Runtime::new(store.clone(), agents(), engine.options());
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    let began = Instant::now();
    while front.session(&key).await.unwrap().unwrap().status != SessionStatus::Failed {
        assert!(began.elapsed() < 8 * HEARTBEAT, "{:?}", front.session(&key).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    settle().await;
    assert_eq!(model.asked().len(), 5, "each process died of its request");
    assert_eq!(begun.lock().unwrap().len(), 6, "the sixth process asks nothing");
    let letter = front.dead_letters(&tenant(), PageRequest::default()).await.unwrap().items.remove(0);
    assert_eq!((letter.letter.error.code.as_str(), letter.letter.attempts), ("engine.poisoned", 5));
    assert_eq!(letter.letter.cause, LetterCause::Poisoned);

    // Nothing is left in the engine, and nothing comes.
    let session = front.session(&key).await.unwrap().unwrap();
    assert_eq!((session.alarm, session.epoch.0, engine.open()), (None, 6, Vec::<SessionKey>::new()));
    assert_eq!(engine.told().last(), Some(&Next::Rests));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(front.session(&key).await.unwrap().unwrap(), session);

    // A replay is a wake-up, and the engine serves the session again.
    mended.store(true, Ordering::SeqCst);
    front.replay_letter(&key, letter.id()).await.unwrap();
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    settle().await;
    assert_eq!(engine.open(), Vec::<SessionKey>::new());
}
