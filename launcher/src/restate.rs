//! A Restate server for tests.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::npm::NpmProgram;
use crate::port;
use crate::process::Process;

/// The server is linked statically, so it runs with every C library.
#[cfg(target_arch = "aarch64")]
const PACKAGE: &str = "@restatedev/restate-server-linux-arm64";
#[cfg(not(target_arch = "aarch64"))]
const PACKAGE: &str = "@restatedev/restate-server-linux-x64";

const SERVER: NpmProgram = NpmProgram { package: PACKAGE, version: "1.7.12", program: "bin/restate-server" };

/// The time limit for each answer to a request of the launcher.
const ASK: Duration = Duration::from_secs(1);

/// A Restate server of one node with its data. Its telemetry is off.
#[derive(Debug)]
pub struct Restate {
    process: Process,
    program: PathBuf,
    ingress: u16,
    admin: u16,
}

impl Restate {
    pub(crate) fn launch(folder: &Folder) -> Result<Self, LaunchError> {
        let program = SERVER.find()?;
        let process = Process::new("restate", folder.server("restate")?);
        let (node, ingress, admin) = (port::free()?, port::free()?, port::free()?);
        let settings = process.folder().join("restate.toml");
        std::fs::write(&settings, config(node, ingress, admin)).map_err(LaunchError::at(&settings))?;
        let mut server = Self { process, program, ingress, admin };
        server.start()?;
        Ok(server)
    }

    /// Starts the server on its data and its ports, for example after it was killed. Waits until the ingress and the
    /// admin API answer.
    pub fn start(&mut self) -> Result<(), LaunchError> {
        let mut command = Command::new(&self.program);
        command.args(["--config-file", "restate.toml", "--no-logo"]).env_remove("RESTATE_CONFIG");
        let (ingress, admin) = (self.ingress, self.admin);
        self.process.start(command, move || is_well(ingress, "/restate/health") && is_well(admin, "/health"))
    }

    /// Returns the process, so that a test can kill or pause it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the URL at which handlers are called.
    pub fn ingress_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ingress)
    }

    /// Returns the URL of the admin API.
    pub fn admin_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin)
    }
}

/// Returns the settings of a server with these ports. It sends no telemetry, and uses little memory.
fn config(node: u16, ingress: u16, admin: u16) -> String {
    format!(
        r#"roles = ["http-ingress", "admin", "worker", "log-server", "metadata-server"]
cluster-name = "holdover"
node-name = "holdover"
base-dir = "data"
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-port = {node}
advertised-host = "127.0.0.1"
default-num-partitions = 2
disable-telemetry = true
log-disable-ansi-codes = true
log-format = "compact"
rocksdb-total-memory-size = "256.0 MiB"

[admin]
bind-port = {admin}
disable-web-ui = true

[ingress]
bind-port = {ingress}
"#
    )
}

/// Returns true if the server answers a request for `path` with 200.
fn is_well(port: u16, path: &str) -> bool {
    let answer = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(ASK)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut status = [0; 12];
        stream.read_exact(&mut status).ok()?;
        Some(status)
    };
    answer().is_some_and(|status| &status == b"HTTP/1.1 200")
}
