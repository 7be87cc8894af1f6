//! Redis.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::install::Program;
use crate::port;
use crate::process::Process;
use crate::tls::{Certificate, Tls};

const SERVER: Program = Program { name: "redis-server", package: "redis-server", folders: &[] };

/// What every server of a test has: nothing acknowledged is lost when its process dies, or its machine.
const SETTINGS: [(&str, &str); 6] = [
    ("bind", "127.0.0.1"),
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("maxmemory-policy", "noeviction"),
    ("save", ""),
    ("daemonize", "no"),
];

/// How long one question to a server may take while it starts.
const ASK: Duration = Duration::from_secs(1);

/// A Redis server with its data.
#[derive(Debug)]
pub struct Redis {
    process: Process,
    program: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    /// The port of the server whose replica it is.
    replica_of: Option<u16>,
    tls: Option<Tls>,
}

impl Redis {
    pub(crate) fn launch(folder: &Folder, settings: &[(&str, &str)]) -> Result<Self, LaunchError> {
        let mut server = Self::new(folder, settings)?;
        server.start()?;
        Ok(server)
    }

    /// The same, listening on a port for TLS too.
    pub(crate) fn launch_with_tls(
        folder: &Folder,
        settings: &[(&str, &str)],
        certificate: &Certificate,
    ) -> Result<Self, LaunchError> {
        let mut server = Self::new(folder, settings)?;
        server.tls = Some(Tls { port: port::free()?, certificate: certificate.clone() });
        server.start()?;
        Ok(server)
    }

    /// A replica that has all that `of` has.
    pub(crate) fn launch_replica(folder: &Folder, of: &Self) -> Result<Self, LaunchError> {
        let mut server = Self::new(folder, &[])?;
        server.replica_of = Some(of.port);
        server.start()?;
        server.wait_until_in_step()?;
        Ok(server)
    }

    fn new(folder: &Folder, settings: &[(&str, &str)]) -> Result<Self, LaunchError> {
        let program = SERVER.find()?;
        let folder = folder.server("redis")?;
        let owned = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Ok(Self {
            process: Process::new("redis", folder),
            program,
            port: port::free()?,
            settings: owned.collect(),
            replica_of: None,
            tls: None,
        })
    }

    /// Sets what it has from its next start on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Starts it on its data and its port, after it was killed, and waits until it has read its data.
    pub fn start(&mut self) -> Result<(), LaunchError> {
        let mut command = Command::new(&self.program);
        command.args(["--port", &self.port.to_string()]).arg("--dir").arg(self.process.folder());
        let own = SETTINGS.iter().map(|(name, value)| (*name, *value));
        let asked = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(asked) {
            command.arg(format!("--{name}")).arg(value);
        }
        for (name, value) in self.tls.iter().flat_map(Tls::settings) {
            command.arg(format!("--{name}")).arg(value);
        }
        if let Some(master) = self.replica_of {
            command.args(["--replicaof", "127.0.0.1", &master.to_string()]);
        }
        let port = self.port;
        self.process.start(command, move || ask(port, "PING").is_some_and(|line| line == "+PONG"))
    }

    /// Its process, to be killed or stopped.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Where it listens, on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How to connect to it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// How to connect to it by TLS, if it listens for that.
    pub fn tls_url(&self) -> Option<String> {
        self.tls_port().map(|port| format!("rediss://127.0.0.1:{port}"))
    }

    pub(crate) fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(|tls| tls.port)
    }

    /// The file with the authority (PEM) that signed its certificate, if it has one.
    pub fn authority(&self) -> Option<PathBuf> {
        self.tls.as_ref().map(|tls| tls.certificate.authority())
    }

    pub(crate) fn is_started(&self) -> bool {
        self.process.is_started()
    }

    /// Waits until it has copied what its master has.
    pub(crate) fn wait_until_in_step(&mut self) -> Result<(), LaunchError> {
        self.wait_for("INFO replication", "master_link_status:up")
    }

    /// The port of its master, if it is a replica.
    pub(crate) fn master(&self) -> Option<u16> {
        let lines = ask_lines(self.port, "INFO replication");
        lines.iter().find_map(|line| line.strip_prefix("master_port:")?.parse().ok())
    }

    /// Waits until the server's answer to `command` holds a line that is `wanted`.
    pub(crate) fn wait_for(
        &mut self,
        command: &'static str,
        wanted: &'static str,
    ) -> Result<(), LaunchError> {
        let port = self.port;
        self.process.wait_until(move || ask_lines(port, command).iter().any(|line| line == wanted))
    }
}

/// The first line of the answer to one inline command. None if there is no answer.
fn ask(port: u16, command: &str) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(ASK)).ok()?;
    stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line.trim_end().to_owned())
}

/// Every line of the answer to one inline command, after which the server is asked to hang up.
fn ask_lines(port: u16, command: &str) -> Vec<String> {
    let lines = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(ASK)).ok()?;
        stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).ok()?;
        Some(BufReader::new(stream).lines().map_while(Result::ok).collect())
    };
    lines().unwrap_or_default()
}
