//! A relay between clients and a server. It counts round trips.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// A relay that forwards bytes to a server and back unchanged, and counts round trips. When the relay is dropped, open
/// connections stay open.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    exchanges: Arc<AtomicU64>,
    closed: Arc<AtomicBool>,
}

impl Relay {
    /// Starts a relay to this server.
    ///
    /// # Errors
    /// The address cannot be resolved, or no port is free.
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
                // If the server cannot be reached, the connection is closed, and the client notices.
                let _ = client.and_then(|client| connect(client, server, &count));
            }
        });
        Ok(Self { address, exchanges, closed })
    }

    /// Returns the address to which clients connect instead of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of round trips on all connections. A round trip begins when a client sends the first bytes of
    /// a connection, or sends bytes after the server has sent some. A request that is sent in several pieces before its
    /// answer counts once.
    pub fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for clients, so that it ends.
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

/// Forwards bytes until either side closes the connection. Calls `passes` before it forwards a piece.
fn carry(mut from: TcpStream, mut to: TcpStream, passes: impl Fn()) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        passes();
        if bytes.get(..read).is_none_or(|bytes| to.write_all(bytes).is_err()) {
            break;
        }
    }
    // A side that has closed the connection already needs no shutdown.
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}
