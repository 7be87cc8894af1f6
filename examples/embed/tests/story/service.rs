//! The real binary, started in a test's own folder, and an HTTP client for it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The maximum wait for anything in these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "waited {} s until {what}", PATIENCE.as_secs());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The speed of the model and the bank.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) word_ms: u64,
    pub(crate) bank_ms: u64,
}

/// The folder with the state that outlives a process.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) async fn start(&self, pace: Pace) -> Service {
        self.start_with(pace, &self.script(pace.word_ms), &[])
    }

    /// Starts the service with this script and these options.
    pub(crate) fn start_with(&self, pace: Pace, script: &Path, options: &[&str]) -> Service {
        let mut child = Command::new(env!("CARGO_BIN_EXE_holdover-example-embed"))
            .args(["--listen", "127.0.0.1:0", "--lease-ms", "1000", "--folder"])
            .arg(self.folder.path().join("desk"))
            .args(["--model", &format!("scripted:{}", script.display())])
            .args(["--bank-ms", &pace.bank_ms.to_string()])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("it says where").to_owned();
        // The client has no default cryptography. Another test may have chosen one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Service { child, url, client: reqwest::Client::new() }
    }

    /// Writes the script of the service for the orders 7 and 8, with this delay before each word. Returns its path.
    pub(crate) fn script(&self, word_ms: u64) -> PathBuf {
        let text = include_str!("../../script.toml");
        let mut turns: Vec<&str> = text.split("[[turns]]").skip(1).collect();
        let otherwise = turns.pop().unwrap();
        let mut script = format!("stream = {{ delay_ms = {word_ms} }}\n");
        for order in ["order 7", "order 8"] {
            for turn in &turns {
                let turn = turn
                    .replace("user_contains = \"refund\", ", "")
                    .replace("order = 7", &order.replace(' ', " = "));
                script += "[[turns]]";
                script += &turn.replace("when = {", &format!("when = {{ user_contains = \"{order}\","));
            }
        }
        script += "[[turns]]";
        script += otherwise;
        let path = self.folder.path().join(format!("script-{word_ms}.toml"));
        std::fs::write(&path, script).unwrap();
        path
    }

    /// Writes a script with this text, and returns its path.
    pub(crate) fn write_script(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("script.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the refunds that the bank has made.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("desk/ledger.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

pub(crate) struct Service {
    child: Child,
    url: String,
    client: reqwest::Client,
}

impl Service {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Kills the service with SIGKILL, and checks that it died from it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        assert_eq!(self.child.wait().unwrap().signal(), Some(9), "killed while it lived");
    }

    pub(crate) fn terminate(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
    }

    pub(crate) async fn ended_within(&mut self, patience: Duration) -> bool {
        self.exit_code_within(patience).await == Some(0)
    }

    /// Returns the exit code, or `None` if the service was killed or is still running.
    pub(crate) async fn exit_code_within(&mut self, patience: Duration) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if began.elapsed() > patience {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Starts a session with a message to the clerk.
    pub(crate) async fn begin(&self, session: &str, message: &str) -> (StatusCode, Value) {
        let new = json!({ "agent": "clerk", "session": session, "message": message });
        self.post("/v1/sessions", new).await
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.client.get(format!("{}{path}", self.url))).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        answer(self.client.post(format!("{}{path}", self.url)).json(&body)).await
    }

    pub(crate) async fn post_once(&self, path: &str, key: &str, body: Value) -> (StatusCode, Value) {
        let key = HeaderValue::from_bytes(key.as_bytes()).unwrap();
        let request = self.client.post(format!("{}{path}", self.url)).header("Idempotency-Key", key);
        answer(request.json(&body)).await
    }

    pub(crate) async fn session(&self, session: &str) -> Value {
        let (status, shown) = self.get(&format!("/v1/sessions/{session}")).await;
        assert_eq!(status, StatusCode::OK, "{shown}");
        shown
    }

    pub(crate) async fn approvals(&self) -> Vec<Value> {
        let (_, page) = self.get("/v1/pending?kind=approval").await;
        assert_eq!(page["next"], Value::Null);
        page["items"].as_array().unwrap().clone()
    }

    /// Waits until the session waits for a call of `tool`, and returns that call.
    pub(crate) async fn waits_for(&self, session: &str, tool: &str) -> Value {
        let waiting = async || {
            let pending = self.session(session).await["pending"]["items"].as_array().unwrap().clone();
            pending.into_iter().find(|call| call["tool"] == tool)
        };
        eventually(&format!("{session} waits for {tool}"), async || waiting().await.is_some()).await;
        waiting().await.unwrap()
    }

    /// Tells the clerk, as soon as it waits for the scan, that the receipt is genuine.
    pub(crate) async fn scan(&self, session: &str) -> StatusCode {
        let asked = self.waits_for(session, "scan_receipt").await;
        self.post(&path_of(&asked, "answer"), json!({ "digest": asked["digest"], "content": "genuine" }))
            .await
            .0
    }

    /// Approves a call, as this person and with these further fields.
    pub(crate) async fn approve(&self, asked: &Value, by: &str, more: &Value) -> (StatusCode, Value) {
        self.decide(asked, "approve", by, more).await
    }

    /// Decides on a call.
    pub(crate) async fn decide(
        &self,
        asked: &Value,
        verb: &str,
        by: &str,
        more: &Value,
    ) -> (StatusCode, Value) {
        let mut body = more.clone();
        body["digest"] = asked["digest"].clone();
        let request = self.client.post(format!("{}{}", self.url, path_of(asked, verb))).header("X-User", by);
        answer(request.json(&body)).await
    }

    pub(crate) async fn completes(&self, session: &str) {
        eventually(&format!("{session} is completed"), async || {
            let shown = self.session(session).await;
            shown["status"] == "idle" && shown["unread"] == 0 && shown["outcome"]["kind"] == "completed"
        })
        .await;
    }

    pub(crate) async fn transcript(&self, session: &str) -> Vec<Value> {
        let (_, shown) = self.get(&format!("/v1/sessions/{session}/messages")).await;
        shown["items"].as_array().unwrap().iter().map(|entry| entry["message"].clone()).collect()
    }

    /// Returns the text of the last answer.
    pub(crate) async fn last_words(&self, session: &str) -> String {
        let last = self.transcript(session).await.pop().unwrap();
        assert_eq!(last["role"], "assistant", "{last}");
        last["parts"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Returns the result of the only call of `tool`.
    pub(crate) async fn result_of(&self, session: &str, tool: &str) -> Value {
        self.only(session, |message| message["role"] == "tool" && message["tool"] == tool).await
    }

    /// Returns the only decision in the transcript.
    pub(crate) async fn decision(&self, session: &str) -> Value {
        self.only(session, |message| message["role"] == "decision").await["decision"].clone()
    }

    async fn only(&self, session: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let transcript = self.transcript(session).await;
        let mut found: Vec<Value> = transcript.iter().filter(|message| fits(message)).cloned().collect();
        assert_eq!(found.len(), 1, "{session}: {transcript:?}");
        found.remove(0)
    }
}

/// Returns the path that takes this answer to the call.
pub(crate) fn path_of(asked: &Value, verb: &str) -> String {
    let (session, id) = (asked["session"].as_str().unwrap(), asked["id"].as_str().unwrap());
    format!("/v1/sessions/{session}/pending/{id}/{verb}")
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (StatusCode, Value) {
    let response = request.timeout(PATIENCE).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}
