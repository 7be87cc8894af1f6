//! Several processes change or run a schedule at the same time.

use holdover_schedules::{Schedule, Standing};

use crate::bench::{DAY, HOUR, Held, MINUTE, Program, World, every, name, tenant, until};

#[tokio::test(start_paused = true)]
async fn a_pause_sees_a_resumption_that_a_run_takes_up_while_it_looks() {
    let (store, program) = Program::at("2030-01-01T00:00:00Z");
    let (hourly, tenant) = (name("hourly"), tenant());
    program.add("hourly", &Schedule::new(every(HOUR), program.short())).await;
    let works = program.work();
    tokio::time::sleep(MINUTE).await;
    assert!(program.schedules.pause(&tenant, &hourly).await.unwrap());
    works.stop().await;
    assert!(program.schedules.resume(&tenant, &hourly).await.unwrap());
    let (slow, held) = Held::at(&store, "read_inbox");
    let slow = Program::on(slow, &World::default());
    let run = async {
        held.reached.cancelled().await;
        let works = program.work();
        let key = program.entry("hourly").await.session;
        let taken = async || program.runtime.session(&key).await.unwrap().unwrap().unread == 0;
        until("a run takes the message up", taken).await;
        held.goes_on.cancel();
        works
    };
    let (paused, _works) = tokio::join!(slow.schedules.pause(&tenant, &hourly), run);
    assert!(paused.unwrap(), "it was on");
    assert_eq!(program.entry("hourly").await.standing, Standing::Paused);
    tokio::time::sleep(DAY).await;
    assert!(program.sessions("hourly").await.is_empty());
}
