//! A relay that injects faults between a store and its server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The bytes of a lone `Sync` message, with which the pool checks that a connection is alive.
const SYNC: &[u8] = b"S\0\0\0\x04";

/// A proxy to a server. It can hold back the server's answers.
pub(crate) struct Relay {
    address: SocketAddr,
    hold: watch::Sender<bool>,
    holds: Arc<AtomicBool>,
    last_words: Arc<Mutex<Option<Vec<u8>>>>,
    exchanges: Arc<AtomicU64>,
    door: JoinHandle<()>,
}

impl Relay {
    /// Starts a relay to this port. `options` tells whether to pass on the `options` parameter of a
    /// connection's startup message.
    pub(crate) async fn to(port: u16, options: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (address, hold) = (listener.local_addr().unwrap(), watch::Sender::new(false));
        let holds = Arc::new(AtomicBool::new(false));
        let (exchanges, last_words) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::default()));
        let count = Arc::clone(&exchanges);
        let gate =
            Gate { hold: hold.subscribe(), holds: Arc::clone(&holds), last_words: Arc::clone(&last_words) };
        let door = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, options, gate.clone(), Arc::clone(&count)));
            }
        });
        Self { address, hold, holds, last_words, exchanges, door }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://holdover@{}/postgres?sslmode=disable", self.address)
    }

    /// Returns the number of exchanges on all connections: requests that a client sends after the server was
    /// last to speak. The pool's check of a returned connection does not count.
    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::SeqCst)
    }

    /// Replaces the next answer by a `PANIC` error with this code and closes the connection, as if the server
    /// had died.
    pub(crate) fn panic_next(&self, code: &str) {
        let fields: Vec<u8> = [("S", "PANIC"), ("V", "PANIC"), ("C", code), ("M", "it died")]
            .iter()
            .flat_map(|(field, value)| [field.as_bytes(), value.as_bytes(), b"\0"].concat())
            .chain([0])
            .collect();
        let length = u32::try_from(fields.len() + 4).unwrap();
        *self.last_words.lock().unwrap() = Some([b"E", &length.to_be_bytes()[..], &fields].concat());
    }

    /// Holds back all answers from now on.
    pub(crate) fn hold(&self) {
        self.holds.store(false, Ordering::SeqCst);
        self.hold.send_replace(true);
    }

    /// Returns true if an answer is being held back.
    pub(crate) fn holds(&self) -> bool {
        self.holds.load(Ordering::SeqCst)
    }

    /// Drops the held answers and closes their connections. Later answers pass again.
    pub(crate) fn lose(&self) {
        self.hold.send_replace(false);
        self.holds.store(false, Ordering::SeqCst);
    }
}

#[derive(Clone)]
struct Gate {
    hold: watch::Receiver<bool>,
    holds: Arc<AtomicBool>,
    last_words: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Gate {
    /// Takes the error that replaces the next answer, if there is one.
    fn last_words(&self) -> Option<Vec<u8>> {
        self.last_words.lock().unwrap().take()
    }

    /// Returns true if an answer may pass. Otherwise waits until the answer is dropped, and returns false.
    async fn passes(&mut self) -> bool {
        if !*self.hold.borrow() {
            return true;
        }
        self.holds.store(true, Ordering::SeqCst);
        let _ = self.hold.wait_for(|hold| !hold).await;
        false
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.door.abort();
    }
}

async fn carry(mut client: TcpStream, port: u16, options: bool, gate: Gate, exchanges: Arc<AtomicU64>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let Ok(begin) = begin(&mut client, options).await else { return };
    if server.write_all(&begin).await.is_err() {
        return;
    }
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let talk = Talk { asks: AtomicBool::new(true), exchanges };
    tokio::select! {
        () = ask(from_client, to_server, &talk) => {}
        () = answer(from_server, to_client, &talk, gate) => {}
    }
}

/// Reads the startup message of a client: its length, the protocol, then names and values that end with a zero byte.
/// Returns the message to pass on, without the parameter `options` if that is to be dropped.
async fn begin(client: &mut TcpStream, options: bool) -> std::io::Result<Vec<u8>> {
    let length = client.read_u32().await?;
    let mut message = vec![0; length as usize - 4];
    client.read_exact(&mut message).await?;
    let (protocol, pairs) = message.split_at(4);
    let words: Vec<&[u8]> = pairs.split(|byte| *byte == 0).collect();
    let pairs =
        words.chunks_exact(2).filter(|pair| !pair[0].is_empty() && (options || pair[0] != b"options"));
    let mut kept: Vec<u8> = pairs.flat_map(|pair| [pair[0], b"\0", pair[1], b"\0"].concat()).collect();
    kept.push(0);
    let length = u32::try_from(kept.len() + 8).unwrap();
    Ok([&length.to_be_bytes(), protocol, &kept].concat())
}

/// The state of one connection.
struct Talk {
    /// True while a request waits for its answer.
    asks: AtomicBool,
    exchanges: Arc<AtomicU64>,
}

async fn ask(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, talk: &Talk) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if bytes[..read] != *SYNC && !talk.asks.swap(true, Ordering::SeqCst) {
            talk.exchanges.fetch_add(1, Ordering::SeqCst);
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

async fn answer(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, talk: &Talk, mut gate: Gate) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let asked = talk.asks.swap(false, Ordering::SeqCst);
        if let Some(words) = asked.then(|| gate.last_words()).flatten() {
            let _ = to.write_all(&words).await;
            return;
        }
        if !gate.passes().await || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
