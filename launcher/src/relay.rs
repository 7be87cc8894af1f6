//! A relay to a server that counts the exchanges over it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Carries bytes to a server and back, as they are, and counts exchanges. Connections that are open live on when it is
/// dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    exchanges: Arc<AtomicU64>,
    closed: Arc<AtomicBool>,
}

impl Relay {
    /// One that leads to this server.
    ///
    /// Errors: the address names no machine, or no port is free.
    pub fn to(server: impl ToSocketAddrs) -> io::Result<Self> {
        let server = server.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (exchanges, closed) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (count, over) = (Arc::clone(&exchanges), Arc::clone(&closed));
        thread::spawn(move || {
            for client in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // A connection that cannot be made is closed: its client sees that.
                let _ = client.and_then(|client| connect(client, server, &count));
            }
        });
        Ok(Self { address, exchanges, closed })
    }

    /// Where clients connect in place of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often a client asked something after the server had the last word, on all connections together. What is asked
    /// in several pieces before an answer comes is one exchange.
    pub fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        // The thread that waits for clients sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

fn connect(client: TcpStream, server: SocketAddr, exchanges: &Arc<AtomicU64>) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
    let (asks, answers) = (Arc::<AtomicBool>::default(), Arc::clone(exchanges));
    let asked = Arc::clone(&asks);
    thread::spawn(move || {
        carry(from_client, server, || {
            if !asked.swap(true, Ordering::SeqCst) {
                answers.fetch_add(1, Ordering::SeqCst);
            }
        });
    });
    thread::spawn(move || carry(from_server, client, || asks.store(false, Ordering::SeqCst)));
    Ok(())
}

/// Until either side ends the connection; `passes` is called before bytes go on.
fn carry(mut from: TcpStream, mut to: TcpStream, passes: impl Fn()) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        passes();
        if bytes.get(..read).is_none_or(|bytes| to.write_all(bytes).is_err()) {
            break;
        }
    }
    // Who is gone already needs no word of it.
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}
