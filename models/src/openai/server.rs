//! A server for tests: one reply, on loopback.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does with the one request it takes.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: String,
    pub(super) then: Then,
}

pub(super) enum Then {
    /// Ends the body as it should.
    End,
    /// Closes the connection in the middle of the body.
    Cut,
    /// Sends nothing more and waits for the client to go.
    Hang,
}

impl Reply {
    /// A stream of these chunks, without an end of its own.
    pub(super) fn sse(chunks: &[Value]) -> Self {
        let body = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        Self { status: 200, headers: vec![("content-type", "text/event-stream")], body, then: Then::End }
    }

    pub(super) fn then_line(mut self, line: &str) -> Self {
        self.body.push_str(line);
        self.body.push_str("\n\n");
        self
    }

    pub(super) fn done(self) -> Self {
        self.then_line("data: [DONE]")
    }

    pub(super) fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    pub(super) fn error(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json")];
        Self { status, headers, body: body.to_string(), then: Then::End }
    }

    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// The request as it came.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) head: String,
    pub(super) body: Value,
}

/// A server that takes one request and replies; its address, and what it saw once it is through.
pub(super) async fn serve(reply: Reply) -> (String, JoinHandle<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let seen = read_request(&mut socket).await;
        let mut head = format!("HTTP/1.1 {} Whatever\r\ntransfer-encoding: chunked\r\n", reply.status);
        for (name, value) in reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let chunk = if reply.body.is_empty() {
            String::new()
        } else {
            format!("{:x}\r\n{}\r\n", reply.body.len(), reply.body)
        };
        socket.write_all(format!("{head}\r\n{chunk}").as_bytes()).await.unwrap();
        match reply.then {
            Then::End => socket.write_all(b"0\r\n\r\n").await.unwrap(),
            Then::Cut => {}
            Then::Hang => {
                // Ends once the client has gone.
                let _ = socket.read(&mut [0; 1]).await;
            }
        }
        seen
    });
    (base_url, serving)
}

async fn read_request(socket: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = socket.read(&mut chunk).await.unwrap();
        assert!(count > 0, "the client went before it had asked");
        bytes.extend_from_slice(&chunk[..count]);
        let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..at].to_vec()).unwrap().to_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if bytes.len() >= at + 4 + length {
            return Seen { head, body: serde_json::from_slice(&bytes[at + 4..]).unwrap() };
        }
    }
}
