//! A thread that starts processes that must not outlive this process.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Order {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts `command` from a thread that lives as long as this process.
///
/// Linux kills a process that is bound to its parent when the *thread* that started it ends, and threads of an async
/// runtime come and go.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = oneshot::channel();
    let order = Order { command, runtime: Handle::current(), reply };
    let sent = spawner()?.send(order).is_ok();
    if !sent {
        return Err(io::Error::other("the thread that starts processes has ended"));
    }
    answer.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes has ended")))
}

fn spawner() -> io::Result<Sender<Order>> {
    static SPAWNER: OnceLock<Result<Sender<Order>, String>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, ordered) = channel::<Order>();
        let work = move || {
            for Order { mut command, runtime, reply } in ordered {
                let _inside = runtime.enter();
                // A runtime that is shutting down may panic, and this thread also serves other runtimes.
                let begun = catch_unwind(AssertUnwindSafe(|| command.spawn()));
                // If the caller no longer waits for the child, dropping the child kills it.
                let _ = reply
                    .send(begun.unwrap_or_else(|_| Err(io::Error::other("the runtime is shutting down"))));
            }
        };
        let begun = thread::Builder::new().name("holdover-sandbox".to_owned()).spawn(work);
        begun.map(|_| orders).map_err(|error| error.to_string())
    });
    spawner.clone().map_err(io::Error::other)
}
