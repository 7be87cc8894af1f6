//! What may stand between a store and its server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Carries bytes to a server, and its answers back unless they are held.
pub(crate) struct Relay {
    address: SocketAddr,
    hold: watch::Sender<bool>,
    holds: Arc<AtomicBool>,
    door: JoinHandle<()>,
}

impl Relay {
    /// One that leads to this port. `options`: whether it passes on the options that a connection begins with.
    pub(crate) async fn to(port: u16, options: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (address, hold) = (listener.local_addr().unwrap(), watch::Sender::new(false));
        let holds = Arc::new(AtomicBool::new(false));
        let gate = Gate { hold: hold.subscribe(), holds: Arc::clone(&holds) };
        let door = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, options, gate.clone()));
            }
        });
        Self { address, hold, holds, door }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://holdover@{}/postgres?sslmode=disable", self.address)
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
}

impl Gate {
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

async fn carry(mut client: TcpStream, port: u16, options: bool, gate: Gate) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let Ok(begin) = begin(&mut client, options).await else { return };
    if server.write_all(&begin).await.is_err() {
        return;
    }
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = pump(from_client, to_server, None) => {}
        () = pump(from_server, to_client, Some(gate)) => {}
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

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut gate: Option<Gate>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let passes = match &mut gate {
            Some(gate) => gate.passes().await,
            None => true,
        };
        if !passes || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
