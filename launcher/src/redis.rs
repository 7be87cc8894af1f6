//! A Redis server for tests.

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

/// The settings of every server. An acknowledged write survives the death of the process and of the machine.
const SETTINGS: [(&str, &str); 6] = [
    ("bind", "127.0.0.1"),
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("maxmemory-policy", "noeviction"),
    ("save", ""),
    ("daemonize", "no"),
];

/// The time limit for each read of an answer to a command of the launcher.
const ASK: Duration = Duration::from_secs(1);

/// A Redis server with its data.
#[derive(Debug)]
pub struct Redis {
    process: Process,
    program: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    /// The port of the master, if the server is a replica.
    replica_of: Option<u16>,
    tls: Option<Tls>,
}

impl Redis {
    pub(crate) fn launch(folder: &Folder, settings: &[(&str, &str)]) -> Result<Self, LaunchError> {
        let mut server = Self::new(folder, settings)?;
        server.start()?;
        Ok(server)
    }

    /// Starts a server that also listens for TLS.
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

    /// Starts a replica of `of` and waits until it has copied the data.
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

    /// Adds a setting, which takes effect at the next start.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Starts the server on its data and its port, for example after it was killed. Waits until it has loaded its
    /// data.
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

    /// Returns the process, so that a test can kill or pause it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Returns the URL of the server for TLS, if it listens for TLS.
    pub fn tls_url(&self) -> Option<String> {
        self.tls_port().map(|port| format!("rediss://127.0.0.1:{port}"))
    }

    pub(crate) fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(|tls| tls.port)
    }

    /// Returns the path of the PEM file with the authority that signed the certificate, if the server listens for TLS.
    pub fn authority(&self) -> Option<PathBuf> {
        self.tls.as_ref().map(|tls| tls.certificate.authority())
    }

    pub(crate) fn is_started(&self) -> bool {
        self.process.is_started()
    }

    /// Waits until the replica has copied the data of its master.
    pub(crate) fn wait_until_in_step(&mut self) -> Result<(), LaunchError> {
        self.wait_for("INFO replication", "master_link_status:up")
    }

    /// Returns the port of the master, if the server is a replica.
    pub(crate) fn master(&self) -> Option<u16> {
        let lines = ask_lines(self.port, "INFO replication");
        lines.iter().find_map(|line| line.strip_prefix("master_port:")?.parse().ok())
    }

    /// Waits until the server's answer to `command` contains the line `wanted`.
    pub(crate) fn wait_for(
        &mut self,
        command: &'static str,
        wanted: &'static str,
    ) -> Result<(), LaunchError> {
        let port = self.port;
        self.process.wait_until(move || ask_lines(port, command).iter().any(|line| line == wanted))
    }
}

/// Returns the first line of the answer to one inline command, or `None` if the server cannot be reached or does not
/// answer in time.
fn ask(port: u16, command: &str) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(ASK)).ok()?;
    stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line.trim_end().to_owned())
}

/// Returns every line of the answer to one inline command, or no line if there is no answer. A `QUIT` after the command
/// makes the server close the connection.
fn ask_lines(port: u16, command: &str) -> Vec<String> {
    let lines = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(ASK)).ok()?;
        stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).ok()?;
        Some(BufReader::new(stream).lines().map_while(Result::ok).collect())
    };
    lines().unwrap_or_default()
}
