//! Faults between a store and its server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The message of a client that asks for nothing but a sign of life, on its own.
const SYNC: &[u8] = b"S\0\0\0\x04";

/// Carries bytes to a server, and its answers back unless they are held.
pub(crate) struct Relay {
    address: SocketAddr,
    hold: watch::Sender<bool>,
    holds: Arc<AtomicBool>,
    last_words: Arc<Mutex<Option<Vec<u8>>>>,
    exchanges: Arc<AtomicU64>,
    door: JoinHandle<()>,
}

impl Relay {
    /// One that leads to this port. `options`: whether it passes on the options that a connection begins with.
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

    /// How often, on all connections together, a client has asked something after the server had the last word. That the
    /// pool asks of a connection which comes back to it whether it is still there is nobody's exchange.
    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::SeqCst)
    }

    /// In place of the next answer the server seems to die over what it was asked, with an error of this code.
    pub(crate) fn panic_next(&self, code: &str) {
        let fields: Vec<u8> = [("S", "PANIC"), ("V", "PANIC"), ("C", code), ("M", "it died")]
            .iter()
            .flat_map(|(field, value)| [field.as_bytes(), value.as_bytes(), b"\0"].concat())
            .chain([0])
            .collect();
        let length = u32::try_from(fields.len() + 4).unwrap();
        *self.last_words.lock().unwrap() = Some([b"E", &length.to_be_bytes()[..], &fields].concat());
    }

    /// From now on answers are held.
    pub(crate) fn hold(&self) {
        self.holds.store(false, Ordering::SeqCst);
        self.hold.send_replace(true);
    }

    /// Whether an answer is held.
    pub(crate) fn holds(&self) -> bool {
        self.holds.load(Ordering::SeqCst)
    }

    /// Loses what is held, and its connections with it; what comes later goes on.
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
    /// What is said in place of an answer, if that is all that is still said.
    fn last_words(&self) -> Option<Vec<u8>> {
        self.last_words.lock().unwrap().take()
    }

    /// Whether an answer may pass. If not, returns when it is lost.
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

/// The first message of a client: its length, the protocol, then names and values, each ended by a zero.
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

/// What is said on one connection.
struct Talk {
    /// Whether something was asked, and not answered yet.
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
