//! The connection to the server or the cluster. Many tasks share it, and it reconnects by itself.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::try_join_all;
use redis::aio::{
    AsyncPushSender, ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection,
};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, IntoConnectionInfo, ProtocolVersion, PushInfo, PushKind,
    RedisError, RedisResult, ServerErrorKind, TlsCertificates, Value,
};
use rustls::crypto::CryptoProvider;
use tokio::time::Instant;

use crate::args::Args;
use crate::error::{Fault, is_break, may_run_soon};
use crate::options::RedisOptions;
use crate::script::Script;
use crate::trust::Breaks;

/// The number of attempts to restore a lost connection before a command fails.
const RECONNECTS_MAX: usize = 5;

/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The shortest pause between two attempts.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// The number of commands that may wait for one connection. Further callers wait to queue theirs.
const QUEUE_MAX: usize = 256;

/// The number of channels of a cluster that are subscribed to at once.
const SUBSCRIBED_AT_ONCE: usize = 64;

/// A connection. Clones share it.
#[derive(Clone)]
pub(crate) struct Wire {
    connection: Connection,
    timeout: Duration,
    breaks: Breaks,
}

#[derive(Clone)]
enum Connection {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Wire {
    pub(crate) async fn connect(options: &RedisOptions) -> RedisResult<Self> {
        let breaks = Breaks::default();
        let noting = breaks.clone();
        // This also hears the loss of an idle connection, which is restored automatically.
        let hear = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                noting.note();
            }
            Ok::<(), redis::aio::SendError>(())
        };
        let connection = if options.cluster {
            let client = cluster_builder(options).push_sender(hear).build()?;
            Connection::Cluster(client.get_async_connection().await?)
        } else {
            Connection::Single(manager(options, hear).await?)
        };
        Ok(Self { connection, timeout: options.operation_timeout, breaks })
    }

    /// Returns the count of events after which another server may answer.
    pub(crate) fn breaks(&self) -> &Breaks {
        &self.breaks
    }

    /// Returns the time limit of one operation.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs a script, without a check of the server's settings. The keys must lie in one slot.
    ///
    /// A command that the server refused to run (it loads its data, the slot has moved) is retried within the time
    /// limit of one operation. A command that was sent but not answered is never sent twice.
    pub(crate) async fn run(&self, script: &Script, keys: &[&str], args: &Args) -> Result<Value, Fault> {
        let mut pauses = Pauses::within(self.timeout);
        loop {
            match self.try_run(script, keys, args).await {
                Err(error) if may_run_soon(&error) && pauses.pause().await => {}
                answer => return Ok(answer?),
            }
        }
    }

    /// Runs a script, once.
    pub(crate) async fn try_run(&self, script: &Script, keys: &[&str], args: &Args) -> RedisResult<Value> {
        match self.send(&command("EVALSHA", &script.sha, keys, args)).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                // The source is sent to the node that does not have the script; that node keeps it.
                self.send(&command("EVAL", &script.source, keys, args)).await
            }
            answer => answer,
        }
    }

    /// Sends a command to the server, or to every connected master of the cluster, and returns the answers by
    /// address. A caller that needs all masters must check whether one is missing.
    pub(crate) async fn ask_all(&self, command: &Cmd) -> RedisResult<BTreeMap<String, Value>> {
        match &self.connection {
            Connection::Single(_) => Ok(BTreeMap::from([(String::new(), self.send(command).await?)])),
            Connection::Cluster(cluster) => {
                let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                let answer = cluster.clone().route_command(command.clone(), masters).await;
                match self.noted(answer.and_then(Value::extract_error))? {
                    Value::Map(by_node) => by_address(by_node),
                    _ => Err(unknown_answer("no answers by nodes")),
                }
            }
        }
    }

    async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        let answer = match &self.connection {
            Connection::Single(manager) => manager.clone().send_packed_command(command).await,
            Connection::Cluster(cluster) => in_cluster(cluster.clone(), command).await,
        };
        self.noted(answer.and_then(Value::extract_error))
    }

    fn noted(&self, answer: RedisResult<Value>) -> RedisResult<Value> {
        if answer.as_ref().is_err_and(is_break) {
            self.breaks.note();
        }
        answer
    }
}

fn by_address(by_node: Vec<(Value, Value)>) -> RedisResult<BTreeMap<String, Value>> {
    let address = |node| match node {
        Value::BulkString(address) => String::from_utf8(address).ok(),
        Value::SimpleString(address) => Some(address),
        _ => None,
    };
    let mut answers = BTreeMap::new();
    for (node, answer) in by_node {
        let node = address(node).ok_or_else(|| unknown_answer("an answer of no node"))?;
        answers.insert(node, answer);
    }
    Ok(answers)
}

fn unknown_answer(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, what))
}

/// The pauses between the attempts of one operation. Each is twice as long as the one before, up to a limit.
pub(crate) struct Pauses {
    over: Instant,
    next: Duration,
}

impl Pauses {
    pub(crate) fn within(timeout: Duration) -> Self {
        Self { over: Instant::now() + timeout, next: PAUSE_MIN }
    }

    /// Waits before another attempt. Returns false if the time is over.
    pub(crate) async fn pause(&mut self) -> bool {
        let another = Instant::now() + self.next < self.over;
        if another {
            tokio::time::sleep(self.next).await;
            self.next = (self.next * 2).min(PAUSE_MAX);
        }
        another
    }
}

/// Sends a command to the node of its slot. While the slot moves, sends it to the node that the first node names.
async fn in_cluster(mut cluster: ClusterConnection, command: &Cmd) -> RedisResult<Value> {
    let answer = cluster.req_packed_command(command).await.and_then(Value::extract_error);
    let error = match answer {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Ask) => error,
        answer => return answer,
    };
    let node = error.redirect_node().and_then(|(address, _)| address.rsplit_once(':'));
    let Some((host, port)) = node.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?))) else {
        return Err(error);
    };
    let mut asked = redis::pipe();
    asked.cmd("ASKING").add_command(command.clone());
    let mut answers =
        cluster.route_pipeline(asked, 1, 1, SingleNodeRoutingInfo::ByAddress { host, port }).await?;
    answers.pop().ok_or_else(|| unknown_answer("no answer to an asked command"))
}

fn command(name: &str, script: &str, keys: &[&str], args: &Args) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(keys.len());
    for key in keys {
        command.arg(*key);
    }
    for arg in args.list() {
        command.arg(arg.as_slice());
    }
    command
}

fn client(options: &RedisOptions) -> RedisResult<Client> {
    choose_cryptography(options);
    let info = options.nodes.first().map_or("", String::as_str).into_connection_info()?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    let info = info.set_redis_settings(settings);
    match certificates(options) {
        Some(certificates) => Client::build_with_tls(info, certificates),
        None => Client::open(info),
    }
}

/// Returns the authority that signs the servers' certificates, if the options name one.
fn certificates(options: &RedisOptions) -> Option<TlsCertificates> {
    let authority = options.authority.clone()?;
    Some(TlsCertificates { client_tls: None, root_cert: Some(authority) })
}

/// Chooses a cryptography provider for TLS, unless the process has one. Without one, the TLS crate panics if it
/// cannot decide.
fn choose_cryptography(options: &RedisOptions) {
    if options.speaks_tls() && CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same moment; either choice is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

async fn manager(options: &RedisOptions, hear: impl AsyncPushSender) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_response_timeout(Some(options.operation_timeout))
        .set_connection_timeout(Some(options.connect_timeout))
        .set_min_delay(PAUSE_MIN)
        .set_max_delay(PAUSE_MAX)
        .set_number_of_retries(RECONNECTS_MAX)
        .set_pipeline_buffer_size(QUEUE_MAX)
        .set_push_sender(hear);
    ConnectionManager::new_with_config(client(options)?, config).await
}

fn cluster_builder(options: &RedisOptions) -> ClusterClientBuilder {
    choose_cryptography(options);
    // The client would resend a write whose answer was lost. Safe retries are made here instead.
    let builder = ClusterClient::builder(options.nodes.iter().map(String::as_str))
        .use_protocol(ProtocolVersion::RESP3)
        .connection_timeout(options.connect_timeout)
        .response_timeout(options.operation_timeout)
        .retries(0);
    match certificates(options) {
        Some(certificates) => builder.certs(certificates),
        None => builder,
    }
}

/// A connection that only listens.
pub(crate) enum Listener {
    Single(#[expect(dead_code, reason = "it listens as long as it lives")] MultiplexedConnection),
    Cluster(#[expect(dead_code, reason = "it listens as long as it lives")] ClusterConnection),
}

impl Listener {
    /// Listens to sharded channels. `hear` receives the messages, and the loss of the connection.
    pub(crate) async fn open(
        options: &RedisOptions,
        hear: impl AsyncPushSender,
        channels: &[String],
    ) -> RedisResult<Self> {
        if options.cluster {
            let client = cluster_builder(options).push_sender(hear).build()?;
            let connection = client.get_async_connection().await?;
            for channels in channels.chunks(SUBSCRIBED_AT_ONCE) {
                let subscribed = channels.iter().map(|channel| {
                    let mut connection = connection.clone();
                    async move { connection.ssubscribe(channel).await }
                });
                try_join_all(subscribed).await?;
            }
            return Ok(Self::Cluster(connection));
        }
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(options.operation_timeout))
            .set_connection_timeout(Some(options.connect_timeout))
            .set_push_sender(hear);
        let client = client(options)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let mut subscribing = redis::pipe();
        for channel in channels {
            subscribing.cmd("SSUBSCRIBE").arg(channel);
        }
        for answer in connection.send_packed_commands(&subscribing, 0, channels.len()).await? {
            answer.extract_error()?;
        }
        Ok(Self::Single(connection))
    }
}
