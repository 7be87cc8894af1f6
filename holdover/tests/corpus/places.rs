//! The places of stores. A store is opened in a place, saved to a file, and restored from it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use holdover::store::{
    PostgresOptions, PostgresStore, RedisOptions, RedisStore, SqliteOptions, SqliteStore, StateStore,
};
use holdover_launcher as launcher;
use holdover_launcher::Launcher;
use tempfile::TempDir;

/// A place for a store, such as a folder or a server. A new place is empty.
#[async_trait]
pub(crate) trait Place: Sized + Sync {
    /// The name of the file in which a release keeps a store of this kind.
    const FILE: &'static str;
    type Store: StateStore;

    async fn new() -> Self;

    async fn open(&self) -> Arc<Self::Store>;

    async fn close(&self, store: Arc<Self::Store>);

    /// Saves the contents of this place to a file.
    fn leave(&self, file: &Path);

    /// Restores the contents of this place from a file.
    fn put_back(&self, file: &Path);
}

pub(crate) struct Sqlite(TempDir);

impl Sqlite {
    fn file(&self) -> PathBuf {
        self.0.path().join("holdover.db")
    }
}

#[async_trait]
impl Place for Sqlite {
    const FILE: &'static str = "store.sqlite";
    type Store = SqliteStore;

    async fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn open(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(SqliteOptions::new(self.file())).await.unwrap())
    }

    async fn close(&self, store: Arc<SqliteStore>) {
        store.close().await;
    }

    fn leave(&self, file: &Path) {
        std::fs::copy(self.file(), file).unwrap();
    }

    fn put_back(&self, file: &Path) {
        std::fs::copy(file, self.file()).unwrap();
    }
}

pub(crate) struct Postgres {
    server: launcher::Postgres,
    _launcher: Launcher,
}

#[async_trait]
impl Place for Postgres {
    const FILE: &'static str = "postgres.sql";
    type Store = PostgresStore;

    async fn new() -> Self {
        let launcher = Launcher::new().unwrap();
        Self { server: launcher.postgres(&[]).unwrap(), _launcher: launcher }
    }

    async fn open(&self) -> Arc<PostgresStore> {
        let options = PostgresOptions::from_url(&self.server.url()).unwrap();
        Arc::new(PostgresStore::open(options).await.unwrap())
    }

    async fn close(&self, store: Arc<PostgresStore>) {
        store.close().await;
    }

    fn leave(&self, file: &Path) {
        let url = self.server.url();
        let dump = output("pg_dump", &["--no-owner", "--no-privileges", "--schema=holdover", &url]);
        // An older psql does not know the `\restrict` lines of a newer pg_dump.
        let lines = dump.lines().filter(|line| !line.starts_with('\\') || *line == r"\.");
        std::fs::write(file, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn put_back(&self, file: &Path) {
        let file = file.to_str().unwrap();
        output("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, &self.server.url()]);
    }
}

pub(crate) struct Redis {
    server: launcher::Redis,
    _launcher: Launcher,
}

#[async_trait]
impl Place for Redis {
    const FILE: &'static str = "redis.txt";
    type Store = RedisStore;

    async fn new() -> Self {
        let launcher = Launcher::new().unwrap();
        Self { server: launcher.redis(&[("appendonly", "yes")]).unwrap(), _launcher: launcher }
    }

    async fn open(&self) -> Arc<RedisStore> {
        Arc::new(RedisStore::open(RedisOptions::from_url(&self.server.url()).unwrap()).await.unwrap())
    }

    async fn close(&self, _: Arc<RedisStore>) {}

    fn leave(&self, file: &Path) {
        std::fs::write(file, commands(&self.server.url()).concat()).unwrap();
    }

    fn put_back(&self, file: &Path) {
        run_commands(&["-u", &self.server.url()], file);
    }
}

pub(crate) struct Cluster {
    cluster: launcher::RedisCluster,
    nodes: Vec<String>,
    _launcher: Launcher,
}

#[async_trait]
impl Place for Cluster {
    const FILE: &'static str = "redis-cluster.txt";
    type Store = RedisStore;

    async fn new() -> Self {
        let launcher = Launcher::new().unwrap();
        let mut cluster = launcher.redis_cluster().unwrap();
        let nodes = cluster.nodes().iter().map(|node| node.url()).collect();
        Self { cluster, nodes, _launcher: launcher }
    }

    async fn open(&self) -> Arc<RedisStore> {
        Arc::new(RedisStore::open(RedisOptions::from_url(&self.cluster.url()).unwrap()).await.unwrap())
    }

    async fn close(&self, _: Arc<RedisStore>) {}

    fn leave(&self, file: &Path) {
        let commands: String = self.nodes.iter().flat_map(|node| commands(node)).collect();
        std::fs::write(file, commands).unwrap();
    }

    fn put_back(&self, file: &Path) {
        run_commands(&["-c", "-u", &self.nodes[0]], file);
    }
}

/// Returns the output of a program, which must succeed.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect(program);
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the commands that restore every key of a server, one on each line, in the form that `redis-cli` reads. A key
/// that expires gets the time that it had left.
fn commands(url: &str) -> Vec<String> {
    // With `--no-raw`, texts are printed in quotes and with escapes, in the form that `redis-cli` reads.
    let ask = |command: &[&str]| output("redis-cli", &[&["-u", url, "--no-raw"], command].concat());
    let texts = |answer: String| -> Vec<String> {
        let quoted =
            answer.lines().filter_map(|line| line.split_once('"').map(|(_, rest)| format!("\"{rest}")));
        quoted.collect()
    };
    let mut keys = texts(ask(&["KEYS", "*"]));
    keys.sort();
    let mut made = Vec::new();
    for quoted in keys {
        let key = &quoted[1..quoted.len() - 1];
        let values = match output("redis-cli", &["-u", url, "TYPE", key]).trim() {
            "string" => ("SET", texts(ask(&["GET", key]))),
            "set" => ("SADD", texts(ask(&["SMEMBERS", key]))),
            "hash" => ("HSET", texts(ask(&["HGETALL", key]))),
            "zset" => {
                let mut members = texts(ask(&["ZRANGE", key, "0", "-1", "WITHSCORES"]));
                members.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
                ("ZADD", members)
            }
            kind => panic!("{key} is a {kind}"),
        };
        made.push(format!("{} {quoted} {}\n", values.0, values.1.join(" ")));
        let left = output("redis-cli", &["-u", url, "PTTL", key]);
        if !left.starts_with('-') {
            made.push(format!("PEXPIRE {quoted} {left}"));
        }
    }
    made
}

fn run_commands(arguments: &[&str], file: &Path) {
    let commands = Stdio::from(std::fs::File::open(file).unwrap());
    let output = Command::new("redis-cli").args(arguments).stdin(commands).output().expect("redis-cli");
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = said.lines().find(|line| line.contains("ERR") || line.contains("WRONGTYPE"));
    assert!(output.status.success() && failed.is_none(), "{}: {failed:?}", file.display());
}
