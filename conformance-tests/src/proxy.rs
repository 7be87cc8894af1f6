//! A proxy to a backend. The suite can cut its connections before a request, inside it, or inside its answer.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::JoinSet;

/// The maximum number of bytes that are carried at a time.
const CHUNK: usize = 16 << 10;

/// The maximum length of a marker, in bytes.
const MARKER_BYTES_MAX: usize = 256;

/// Loopback addresses that lead to a backend for as long as this value lives. Bytes are forwarded unchanged until a
/// case cuts a connection; then both ends see the connection end.
#[derive(Default)]
pub struct Proxy {
    plan: Current,
    connections: Connections,
    doors: Mutex<JoinSet<()>>,
}

/// The current plan, if there is one.
type Current = Arc<Mutex<Option<Arc<Plan>>>>;
type Connections = Arc<Mutex<JoinSet<()>>>;

impl Proxy {
    /// Opens a loopback address that leads to `backend`. Give it to the store in place of the backend's address. A
    /// backend of several nodes needs one address for each node.
    ///
    /// # Panics
    /// If `backend` cannot be resolved, or no address is free.
    pub async fn to(&self, backend: impl ToSocketAddrs) -> SocketAddr {
        let found = tokio::net::lookup_host(backend).await;
        let backend: Vec<SocketAddr> = must(found, "the backend's address").collect();
        let listener = must(TcpListener::bind(("127.0.0.1", 0)).await, "a loopback address");
        let address = must(listener.local_addr(), "its own address");
        let (plan, connections) = (Arc::clone(&self.plan), Arc::clone(&self.connections));
        lock(&self.doors).spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (plan, backend) = (Arc::clone(&plan), backend.clone());
                let mut connections = lock(&connections);
                while connections.try_join_next().is_some() {}
                connections.spawn(async move {
                    if let Ok(backend) = TcpStream::connect(&*backend).await {
                        carry(client, backend, plan).await;
                    }
                });
            }
        });
        address
    }

    /// Plans a cut of the connection on which a client sends the next bytes. From then on, the bytes of that connection
    /// are counted, and it is cut at `cut`. `marker` is text that only one request contains. The proxy looks for it in
    /// all requests for as long as the plan lives.
    pub(crate) fn plan(&self, cut: Cut, marker: &str) -> Planned {
        let plan = Arc::new(Plan { cut, marker: marker.into(), seen: Mutex::default() });
        *lock(&self.plan) = Some(Arc::clone(&plan));
        Planned { plan, current: Arc::clone(&self.plan) }
    }

    /// Cuts every open connection. Returns how many there were.
    pub(crate) async fn cut_all(&self) -> usize {
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        connections.abort_all();
        let mut cut = 0;
        while let Some(ended) = connections.join_next().await {
            cut += usize::from(ended.is_err_and(|error| error.is_cancelled()));
        }
        cut
    }
}

/// The point at which a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Nowhere,
    /// At the next byte after this many bytes of the request have reached the backend.
    Request(usize),
    /// At the next byte after this many bytes of the answer have reached the client.
    Answer(usize),
}

/// A plan for a connection. Dropping it ends the plan.
pub(crate) struct Planned {
    plan: Arc<Plan>,
    current: Current,
}

/// The bytes that a planned connection has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) request_bytes: usize,
    pub(crate) answer_bytes: usize,
    /// The number of bytes that the client sent on the connection, including those that were not forwarded.
    pub(crate) sent_bytes: usize,
    /// Set if the connection was cut.
    pub(crate) cut: bool,
    /// Set if the client sent the marker on the connection.
    pub(crate) marked: bool,
    /// Set if the marker came on another connection after the cut.
    pub(crate) again: bool,
    taken: bool,
    over: bool,
}

impl Seen {
    /// Returns true if the request was sent on the connection that was cut. `whole` is an uncut run: if its marker was
    /// seen, the marker must be seen here too; on a wire that cannot be read, as many bytes must have been sent.
    pub(crate) fn carried(&self, whole: &Self) -> bool {
        if whole.marked { self.marked } else { self.sent_bytes >= whole.request_bytes }
    }

    /// Reduces the length of the request to the number of bytes that were enough for an answer. The old length may have
    /// counted bytes that a client sends after an operation, for example that its connection is free. `missed` counts
    /// how often this happened before; each time twice as much is taken off, so that a long message is passed in a few
    /// steps.
    pub(crate) fn shorten(&mut self, seen: &Self, missed: u32) {
        if seen.carried(self) {
            let beyond = 1_usize.checked_shl(missed).unwrap_or(usize::MAX) - 1;
            self.request_bytes = self.request_bytes.min(seen.request_bytes.saturating_sub(beyond)).max(1);
        }
    }

    /// Replaces the lengths by those of `seen`, a later run of the same operation that was not cut. Ignores a run
    /// without an answer, and a run without the marker if the marker was seen before: these bytes were of another
    /// client.
    pub(crate) fn learn(&mut self, seen: &Self) {
        let both = seen.request_bytes > 0 && seen.answer_bytes > 0;
        if both && (seen.marked || !self.marked) {
            *self = *seen;
        }
    }
}

impl Planned {
    pub(crate) fn seen(&self) -> Seen {
        *lock(&self.plan.seen)
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        lock(&self.plan.seen).over = true;
        *lock(&self.current) = None;
    }
}

struct Plan {
    cut: Cut,
    marker: Vec<u8>,
    seen: Mutex<Seen>,
}

/// The direction in which bytes go.
#[derive(Clone, Copy)]
enum Way {
    ToBackend,
    ToClient,
}

impl Plan {
    /// Takes the plan for a connection. Returns true if it was still free.
    fn take(&self) -> bool {
        !std::mem::replace(&mut lock(&self.seen).taken, true)
    }

    /// Looks for the marker in what a client sends. `own` says whether the connection is the one that this plan took.
    fn look(&self, sent: &Sent, own: bool) {
        let marked = sent.shows(&self.marker);
        let mut seen = lock(&self.seen);
        if own {
            seen.sent_bytes += sent.new;
            seen.marked |= marked;
        } else {
            seen.again |= seen.cut && marked;
        }
    }

    /// Returns how many of the next `bytes` may pass in this direction, and counts them as passed. If the result is
    /// less than `bytes`, the caller cuts the connection after them.
    fn pass(&self, way: Way, bytes: usize) -> usize {
        let mut seen = lock(&self.seen);
        let (so_far, most) = match (way, self.cut) {
            (Way::ToBackend, Cut::Request(most)) => (seen.request_bytes, most),
            (Way::ToClient, Cut::Answer(most)) => (seen.answer_bytes, most),
            (Way::ToBackend | Way::ToClient, _) => (0, usize::MAX),
        };
        let pass = bytes.min(most.saturating_sub(so_far));
        seen.cut |= pass < bytes;
        match way {
            Way::ToBackend => seen.request_bytes += pass,
            Way::ToClient => seen.answer_bytes += pass,
        }
        pass
    }
}

/// Forwards bytes in both directions until one end closes or a plan cuts.
async fn carry(client: TcpStream, backend: TcpStream, current: Current) {
    // Without `nodelay`, the last bytes before a cut could wait for more.
    let _ = (client.set_nodelay(true), backend.set_nodelay(true));
    let ((from_client, to_client), (from_backend, to_backend)) = (client.into_split(), backend.into_split());
    let connection = Connection { plan: Mutex::default(), current };
    tokio::select! {
        () = connection.pump(Way::ToBackend, from_client, to_backend) => {}
        () = connection.pump(Way::ToClient, from_backend, to_client) => {}
    }
}

struct Connection {
    plan: Mutex<Option<Arc<Plan>>>,
    current: Current,
}

/// The newest bytes that a client has sent. Older bytes are kept because a marker may begin in them.
#[derive(Default)]
struct Sent {
    bytes: Vec<u8>,
    /// The number of bytes at the end that are new.
    new: usize,
}

impl Sent {
    fn add(&mut self, bytes: &[u8]) {
        let old = self.bytes.len().saturating_sub(MARKER_BYTES_MAX);
        self.bytes.drain(..old);
        self.bytes.extend(bytes);
        self.new = bytes.len();
    }

    /// Returns true if the marker ends in the new bytes.
    fn shows(&self, marker: &[u8]) -> bool {
        let from = (self.bytes.len() - self.new).saturating_sub(marker.len().saturating_sub(1));
        let new = self.bytes.get(from..).unwrap_or_default();
        !marker.is_empty() && new.windows(marker.len()).any(|window| window == marker)
    }
}

impl Connection {
    async fn pump(&self, way: Way, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let (mut buffer, mut sent) = (vec![0; CHUNK], Sent::default());
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let plan = self.plan(way);
            match way {
                Way::ToBackend => {
                    sent.add(buffer.get(..read).unwrap_or_default());
                    self.look(plan.as_ref(), &sent);
                }
                Way::ToClient => {}
            }
            let pass = plan.map_or(read, |plan| plan.pass(way, read));
            let Some(bytes) = buffer.get(..pass) else { return };
            if to.write_all(bytes).await.is_err() || pass < read {
                return;
            }
        }
    }

    /// Looks for the marker of the current plan.
    fn look(&self, own: Option<&Arc<Plan>>, sent: &Sent) {
        let current = lock(&self.current).clone();
        if let Some(current) = current {
            current.look(sent, own.is_some_and(|own| Arc::ptr_eq(own, &current)));
        }
    }

    /// Returns the plan of this connection. A request takes the current plan if no connection has it.
    fn plan(&self, way: Way) -> Option<Arc<Plan>> {
        let mut plan = lock(&self.plan);
        plan.take_if(|plan| lock(&plan.seen).over);
        match way {
            Way::ToBackend => {
                if let Some(current) = lock(&self.current).as_ref().filter(|current| current.take()) {
                    *plan = Some(Arc::clone(current));
                }
            }
            Way::ToClient => {}
        }
        plan.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn must<T>(result: std::io::Result<T>, what: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("a proxy needs {what}: {error}"),
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("connections", &lock(&self.connections).len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a backend that answers every five bytes with five more.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut bytes = [0; 5];
                    while client.read_exact(&mut bytes).await.is_ok() {
                        client.write_all(&bytes.map(|byte| byte + 1)).await.unwrap();
                    }
                });
            }
        });
        address
    }

    /// Asks once on a new connection. Returns the bytes that came back and the record of the plan.
    async fn ask(proxy: &Proxy, address: SocketAddr, cut: Cut) -> (Vec<u8>, Seen) {
        let mut client = TcpStream::connect(address).await.unwrap();
        let planned = proxy.plan(cut, "345");
        client.write_all(b"12345").await.unwrap();
        let mut answer = Vec::new();
        let mut byte = [0];
        while answer.len() < 5 && client.read_exact(&mut byte).await.is_ok() {
            answer.extend(byte);
        }
        (answer, planned.seen())
    }

    #[tokio::test]
    async fn a_plan_cuts_where_it_says_and_says_so() {
        let proxy = Proxy::default();
        let address = proxy.to(echo().await).await;
        let seen = |request_bytes, answer_bytes, cut| {
            let asked = Seen { sent_bytes: 5, marked: true, taken: true, ..Seen::default() };
            Seen { request_bytes, answer_bytes, cut, ..asked }
        };
        let whole = b"23456".to_vec();
        assert_eq!(ask(&proxy, address, Cut::Nowhere).await, (whole.clone(), seen(5, 5, false)));
        assert_eq!(ask(&proxy, address, Cut::Request(0)).await, (vec![], seen(0, 0, true)));
        assert_eq!(ask(&proxy, address, Cut::Request(4)).await, (vec![], seen(4, 0, true)));
        assert_eq!(ask(&proxy, address, Cut::Request(5)).await, (whole.clone(), seen(5, 5, false)));
        assert_eq!(ask(&proxy, address, Cut::Answer(0)).await, (vec![], seen(5, 0, true)));
        assert_eq!(ask(&proxy, address, Cut::Answer(4)).await, (whole[..4].to_vec(), seen(5, 4, true)));
    }

    #[test]
    fn what_was_cut_stays_cut_whatever_comes_after_it() {
        let plan = Plan { cut: Cut::Request(2), marker: Vec::new(), seen: Mutex::default() };
        assert_eq!(plan.pass(Way::ToBackend, 5), 2);
        // The other direction had already started.
        assert_eq!(plan.pass(Way::ToClient, 5), 5);
        assert!(lock(&plan.seen).cut);
    }

    #[test]
    fn a_marker_is_seen_once_however_it_is_cut_up() {
        let mut sent = Sent::default();
        let shows = [&b"xx3"[..], b"4", b"5", b"45", b"345"].map(|bytes| {
            sent.add(bytes);
            sent.shows(b"345")
        });
        assert_eq!(shows, [false, false, true, false, true]);
    }

    #[tokio::test]
    async fn a_request_that_comes_again_after_the_cut_is_seen() {
        let proxy = Proxy::default();
        let address = proxy.to(echo().await).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        let planned = proxy.plan(Cut::Request(2), "345");
        first.write_all(b"12345").await.unwrap();
        assert_eq!(first.read(&mut [0]).await.unwrap_or_default(), 0, "it was cut");
        assert!(planned.seen().marked && !planned.seen().again);
        for asked in [b"other", b"12345"] {
            assert!(!planned.seen().again);
            second.write_all(asked).await.unwrap();
            second.read_exact(&mut [0; 5]).await.unwrap();
        }
        assert!(planned.seen().again);
    }

    #[tokio::test]
    async fn a_plan_that_was_dropped_cuts_nothing_and_every_connection_can_be_cut() {
        let proxy = Proxy::default();
        let address = proxy.to(echo().await).await;
        drop(proxy.plan(Cut::Request(0), "345"));
        assert_eq!(ask(&proxy, address, Cut::Nowhere).await.0, b"23456");
        let mut client = TcpStream::connect(address).await.unwrap();
        let mut answer = [0; 5];
        client.write_all(b"12345").await.unwrap();
        client.read_exact(&mut answer).await.unwrap();
        assert!(proxy.cut_all().await >= 1);
        assert_eq!(client.read(&mut answer).await.unwrap_or_default(), 0);
        assert_eq!(proxy.cut_all().await, 0, "none is left");
    }

    fn went(request_bytes: usize, answer_bytes: usize, marked: bool) -> Seen {
        Seen { request_bytes, answer_bytes, sent_bytes: request_bytes, marked, ..Seen::default() }
    }

    #[test]
    fn a_word_behind_a_request_is_passed_in_steps_that_double() {
        let mut whole = went(100, 10, true);
        let lengths = (0..4).map(|missed| {
            let all_but_its_last = went(whole.request_bytes - 1, 10, true);
            whole.shorten(&all_but_its_last, missed);
            whole.request_bytes
        });
        assert_eq!(lengths.collect::<Vec<_>>(), [99, 97, 93, 85]);
        whole.shorten(&went(1, 10, false), 0);
        assert_eq!(whole.request_bytes, 85, "what somebody else said on that connection says nothing");
        whole.shorten(&went(3, 10, true), 63);
        assert_eq!(whole.request_bytes, 1, "something is left to cut");
    }

    #[test]
    fn a_length_is_learned_from_the_operation_alone() {
        let mut whole = went(100, 10, true);
        whole.learn(&went(90, 0, true));
        whole.learn(&went(90, 9, false));
        assert_eq!(whole, went(100, 10, true));
        whole.learn(&went(90, 9, true));
        assert_eq!(whole, went(90, 9, true));
        // A wire that cannot be read.
        let mut unread = went(100, 10, false);
        unread.learn(&went(90, 9, false));
        assert_eq!(unread, went(90, 9, false));
    }
}
