//! A test server on loopback that gives one reply.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The reaction of the server to its one request.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    /// The body, in pieces that are sent one by one.
    pieces: Vec<Vec<u8>>,
    then: Then,
}

pub(crate) enum Then {
    /// Ends the body correctly.
    End,
    /// Closes the connection in the middle of the body.
    Cut,
    /// Resets the connection.
    Reset,
    /// Sends nothing more and waits until the client disconnects.
    Hang,
    /// Sends this text every 5 ms until the client disconnects.
    Repeat(String),
    /// Sends nothing, not even a head, and waits until the client disconnects.
    Never,
}

impl Reply {
    /// Returns a stream of these pieces, which are sent one by one.
    pub(crate) fn stream<B: AsRef<[u8]>>(pieces: impl IntoIterator<Item = B>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "text/event-stream".to_owned())],
            pieces: pieces.into_iter().map(|piece| piece.as_ref().to_owned()).collect(),
            then: Then::End,
        }
    }

    /// Returns a stream of these chunks, without an end mark.
    pub(crate) fn sse(chunks: &[Value]) -> Self {
        Self::stream(chunks.iter().map(|chunk| format!("data: {chunk}\n\n")))
    }

    /// Returns a stream of these events, each named by its `type`.
    pub(crate) fn events(events: &[Value]) -> Self {
        Self::stream(
            events
                .iter()
                .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())),
        )
    }

    pub(crate) fn then_line(mut self, line: &str) -> Self {
        self.pieces.push(format!("{line}\n\n").into_bytes());
        self
    }

    pub(crate) fn done(self) -> Self {
        self.then_line("data: [DONE]")
    }

    pub(crate) fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    pub(crate) fn error(status: u16, body: &Value) -> Self {
        Self::page("application/json", &body.to_string()).status(status)
    }

    /// Returns a complete body that is not a stream.
    pub(crate) fn page(kind: &str, body: &str) -> Self {
        Self { headers: vec![("content-type", kind.to_owned())], ..Self::stream([body]) }
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    async fn send(self, socket: &mut TcpStream) {
        if let Then::Never = self.then {
            return until_gone(socket).await;
        }
        let mut head = format!("HTTP/1.1 {} Whatever\r\ntransfer-encoding: chunked\r\n", self.status);
        for (name, value) in self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        socket.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            socket.write_all(&chunk(piece)).await.unwrap();
        }
        match self.then {
            Then::End => socket.write_all(b"0\r\n\r\n").await.unwrap(),
            Then::Cut | Then::Never => {}
            Then::Reset => socket.set_zero_linger().unwrap(),
            Then::Hang => until_gone(socket).await,
            Then::Repeat(text) => {
                while socket.write_all(&chunk(text.as_bytes())).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
    }
}

fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

async fn until_gone(socket: &mut TcpStream) {
    // An error also means that the client has disconnected.
    let _ = socket.read(&mut [0; 1]).await;
}

/// The received request, with its head in lower case.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Starts a server that takes one request and replies. Returns the server's address, and a task that returns the
/// request after the reply.
pub(crate) async fn serve(reply: Reply) -> (String, JoinHandle<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let seen = read_request(&mut socket).await.expect("the client asks");
        reply.send(&mut socket).await;
        seen
    });
    (base_url, serving)
}

/// Returns the address of a server that accepts no more connections while the second returned value is alive.
pub(crate) async fn full() -> (String, (TcpListener, Vec<TcpStream>)) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(waiting) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        queued.push(waiting.unwrap());
    }
    (format!("http://{address}/v1"), (listener, queued))
}

/// Reads the next request. Returns `None` if the client disconnected before it had sent a whole request.
pub(crate) async fn read_request(socket: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = socket.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..at].to_vec()).unwrap().to_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if bytes.len() >= at + 4 + length {
            return Some(Seen { head, body: serde_json::from_slice(&bytes[at + 4..]).unwrap() });
        }
    }
}
