//! The memory store behind a TCP connection. The frames on the connection stand for requests and answers,
//! which stay in this process. The module also has the faults that such a store can have.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Level, Proxy, StoreHarness, StoreInfo, VirtualClock,
};
use holdover_store::{
    Answer, Capabilities, CommitSurvives, Layer, Layered, Request, Retry, StateStore, StoreError,
    StoreErrorKind,
};
use holdover_store_memory::{Limits, MemoryStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A request begins with its number, followed by the name of its session or tenant. The content of an answer
/// does not matter.
const REQUEST_BYTES: usize = 256;
const ANSWER_BYTES: usize = 48;
const NUMBER_BYTES: usize = 8;

/// The fault of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nothing,
    /// Every lost call is reported as `Retry::Later`: it changed nothing.
    SaysLater,
    /// Every lost call is reported as `Retry::Never`.
    SaysNever,
    /// A lost call is sent again. If it is a commit or a delivery, it gets a new id.
    AsksAnew,
    /// Every commit and delivery gets a new id before it is sent.
    ForgetsIds,
    /// The server acts before the whole request has arrived; a lost call is then reported as without effect.
    ActsEarly,
    /// After a lost connection, the client never opens another.
    StaysDown,
    /// The client sends only a greeting through the proxy, and its requests directly to the server.
    GoesAround,
    /// Not a fault: the frames name no session or tenant, as if they were encrypted.
    Sealed,
}

pub(crate) type Wired = Layered<MemoryStore, Client>;

/// The requests and answers in flight, by number.
#[derive(Default)]
struct Mail {
    next: AtomicU64,
    requests: Mutex<HashMap<u64, Request>>,
    answers: Mutex<HashMap<u64, Result<Answer, StoreError>>>,
}

/// The server that performs the requests. It ends when it is dropped.
struct Server {
    address: SocketAddr,
    mail: Arc<Mail>,
    store: MemoryStore,
    task: AbortHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start(store: MemoryStore, wrong: Wrong) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (address, mail) = (listener.local_addr().unwrap(), Arc::<Mail>::default());
        let (serves, performs) = (Arc::clone(&mail), Arc::new(store.clone()) as Arc<dyn StateStore>);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, Arc::clone(&serves), Arc::clone(&performs), wrong));
            }
        });
        Self { address, mail, store, task: task.abort_handle() }
    }

    fn client(&self, address: SocketAddr, wrong: Wrong) -> Wired {
        let (mail, connection) = (Arc::clone(&self.mail), tokio::sync::Mutex::default());
        let (around, lost) = (self.address, AtomicU64::new(0));
        Layered::new(self.store.clone(), Client { address, around, mail, connection, wrong, lost })
    }
}

async fn serve(mut client: TcpStream, mail: Arc<Mail>, store: Arc<dyn StateStore>, wrong: Wrong) {
    let mut number = [0; NUMBER_BYTES];
    while client.read_exact(&mut number).await.is_ok() {
        let request = || mail.requests.lock().unwrap().remove(&u64::from_be_bytes(number));
        if wrong == Wrong::ActsEarly
            && let Some(request) = request()
        {
            let answer = request.perform(&store).await;
            mail.answers.lock().unwrap().insert(u64::from_be_bytes(number), answer);
        }
        if client.read_exact(&mut [0; REQUEST_BYTES - NUMBER_BYTES]).await.is_err() {
            return;
        }
        if let Some(request) = request() {
            let answer = request.perform(&store).await;
            mail.answers.lock().unwrap().insert(u64::from_be_bytes(number), answer);
        }
        if client.write_all(&[7; ANSWER_BYTES]).await.is_err() {
            return;
        }
    }
}

/// Returns the name of the request's session, or of the tenant that it is about.
fn named(request: &Request) -> String {
    match request {
        Request::ClaimDue(due) => due.tenant.as_ref().map(ToString::to_string),
        Request::Purge(rule) => rule.tenant.as_ref().map(ToString::to_string),
        _ => request.key().map(ToString::to_string),
    }
    .unwrap_or_default()
}

fn frame(number: u64, names: &str) -> [u8; REQUEST_BYTES] {
    let mut frame = [0; REQUEST_BYTES];
    let (head, body) = frame.split_at_mut(NUMBER_BYTES);
    head.copy_from_slice(&number.to_be_bytes());
    body.iter_mut().zip(names.bytes()).for_each(|(place, byte)| *place = byte);
    frame
}

/// Sends a request and waits for the answer.
async fn cross(connection: &mut TcpStream, frame: [u8; REQUEST_BYTES]) -> std::io::Result<()> {
    connection.write_all(&frame).await?;
    connection.read_exact(&mut [0; ANSWER_BYTES]).await.map(drop)
}

/// The client's side of the connection.
pub(crate) struct Client {
    address: SocketAddr,
    /// The address of the server itself, not of a proxy.
    around: SocketAddr,
    mail: Arc<Mail>,
    connection: tokio::sync::Mutex<Option<TcpStream>>,
    wrong: Wrong,
    lost: AtomicU64,
}

impl Client {
    async fn ask(&self, request: Request) -> Result<Answer, StoreError> {
        let operation = request.operation();
        let key = request.key().cloned();
        let lost = |retry| {
            let error = StoreError::new(StoreErrorKind::Unavailable, operation, "the connection was lost");
            let error = error.retry(retry);
            match &key {
                Some(key) => error.on(key),
                None => error,
            }
        };
        if self.wrong == Wrong::StaysDown && self.lost.load(Ordering::SeqCst) > 0 {
            return Err(lost(Retry::Later));
        }
        let mut held = self.connection.lock().await;
        // The connection is taken out, so a call that is dropped midway leaves no partial answer for the
        // next.
        let mut connection = match held.take() {
            Some(connection) => connection,
            None => TcpStream::connect(self.address).await.map_err(|_| lost(Retry::Later))?,
        };
        if self.wrong == Wrong::GoesAround {
            if cross(&mut connection, frame(u64::MAX, "")).await.is_ok() {
                *held = Some(connection);
            }
            connection = TcpStream::connect(self.around).await.unwrap();
        }
        let number = self.mail.next.fetch_add(1, Ordering::SeqCst);
        let names = if self.wrong == Wrong::Sealed { String::new() } else { named(&request) };
        self.mail.requests.lock().unwrap().insert(number, request);
        if cross(&mut connection, frame(number, &names)).await.is_err() {
            self.lost.fetch_add(1, Ordering::SeqCst);
            return Err(lost(match self.wrong {
                Wrong::SaysLater | Wrong::ActsEarly => Retry::Later,
                Wrong::SaysNever => Retry::Never,
                Wrong::Nothing
                | Wrong::AsksAnew
                | Wrong::ForgetsIds
                | Wrong::StaysDown
                | Wrong::GoesAround
                | Wrong::Sealed => Retry::OutcomeUnknown,
            }));
        }
        if self.wrong != Wrong::GoesAround {
            *held = Some(connection);
        }
        self.mail.answers.lock().unwrap().remove(&number).unwrap()
    }

    /// Gives the commit or delivery in `request` an id that was not used before.
    fn anew(&self, mut request: Request) -> Request {
        let number = self.mail.next.fetch_add(1, Ordering::SeqCst);
        match &mut request {
            Request::Commit(_, commit) => commit.operation = format!("anew-{number}").parse().unwrap(),
            Request::Deliver(_, item) => item.key = format!("anew-{number}").parse().unwrap(),
            _ => {}
        }
        request
    }
}

#[async_trait]
impl Layer for Client {
    async fn around(&self, request: Request, _: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let request = if self.wrong == Wrong::ForgetsIds { self.anew(request) } else { request };
        let again = (self.wrong == Wrong::AsksAnew).then(|| self.anew(request.clone()));
        match (self.ask(request).await, again) {
            (Err(error), Some(again)) if error.retry == Retry::OutcomeUnknown => self.ask(again).await,
            (answer, _) => answer,
        }
    }

    fn capabilities(&self, store: &dyn StateStore) -> Capabilities {
        Capabilities { commit_survives: CommitSurvives::ProcessKill, ..store.capabilities() }
    }
}

/// The harness for the suite.
pub(crate) struct WiredHarness {
    clock: VirtualClock,
    wrong: Wrong,
    /// True if a peer that should go through a proxy does.
    goes_through: bool,
}

impl WiredHarness {
    pub(crate) fn new(wrong: Wrong) -> Self {
        Self { clock: VirtualClock::new(), wrong, goes_through: true }
    }

    /// Creates a harness whose peers bypass the proxy.
    pub(crate) fn past_the_proxy() -> Self {
        Self { goes_through: false, ..Self::new(Wrong::Nothing) }
    }
}

#[async_trait]
impl StoreHarness for WiredHarness {
    type Store = Wired;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("wired", "1")
    }

    async fn fresh(&self) -> Instance<Wired> {
        let limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };
        let server = Server::start(MemoryStore::with(self.clock.clone(), limits), self.wrong).await;
        Instance::guarded(server.client(server.address, Wrong::Nothing), server)
    }

    async fn peer(&self, of: &Instance<Wired>) -> Wired {
        let server = of.guard::<Server>().unwrap();
        server.client(server.address, Wrong::Nothing)
    }

    async fn reopen(&self, of: Instance<Wired>) -> Instance<Wired> {
        let (_, server) = of.into_parts::<Server>();
        let server = server.unwrap();
        Instance::guarded(server.client(server.address, Wrong::Nothing), server)
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    async fn peer_through(&self, of: &Instance<Wired>, proxy: &Proxy) -> Option<Wired> {
        let server = of.guard::<Server>().unwrap();
        let address = proxy.to(server.address).await;
        Some(server.client(if self.goes_through { address } else { server.address }, self.wrong))
    }

    fn gaps(&self) -> Vec<Gap> {
        vec![
            Gap::capability(Capability::ChildProcess, "it is a test"),
            Gap::level(Level::Distributed, "it is a test"),
        ]
    }
}
