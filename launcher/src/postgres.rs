//! A Postgres server for tests.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::install::Program;
use crate::port;
use crate::process::{Process, RunAs};

/// The folders in which Debian keeps the programs of each version.
const FOLDERS: &[&str] = &["/usr/lib/postgresql/*/bin"];
const PACKAGE: &str = "postgresql";
const INITDB: Program = Program { name: "initdb", package: PACKAGE, folders: FOLDERS };
const SERVER: Program = Program { name: "postgres", package: PACKAGE, folders: FOLDERS };
const IS_READY: Program = Program { name: "pg_isready", package: PACKAGE, folders: FOLDERS };

/// The only user, who has no password.
pub(crate) const USER: &str = "holdover";
pub(crate) const DATABASE: &str = "postgres";

/// The settings of every server. `fsync`, `full_page_writes` and `synchronous_commit` stay on.
const SETTINGS: [(&str, &str); 5] = [
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", ""),
    ("max_connections", "300"),
    ("shared_buffers", "64MB"),
    ("logging_collector", "off"),
];

/// A Postgres server with its data.
#[derive(Debug)]
pub struct Postgres {
    process: Process,
    run_as: RunAs,
    program: PathBuf,
    is_ready: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
}

impl Postgres {
    pub(crate) fn launch(folder: &Folder, settings: &[(&str, &str)]) -> Result<Self, LaunchError> {
        let initdb = INITDB.find()?;
        let run_as = RunAs::not_root("postgres")?;
        let folder = folder.server("postgres")?;
        run_as.own(&folder)?;
        let data = folder.join("data");
        let made = run_as
            .command(&initdb)
            .args([
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--username",
                USER,
                "--pgdata",
            ])
            .arg(&data)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .map_err(LaunchError::at(&initdb))?;
        LaunchError::unless_well("postgres", "initdb", made.status, &made.stderr)?;
        let owned = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut server = Self {
            process: Process::new("postgres", folder),
            run_as,
            program: SERVER.find()?,
            is_ready: IS_READY.find()?,
            port: port::free()?,
            settings: owned.collect(),
        };
        server.start()?;
        Ok(server)
    }

    /// Starts the server on its data and its port, for example after it was killed. Waits until it accepts
    /// connections.
    pub fn start(&mut self) -> Result<(), LaunchError> {
        let mut command = self.run_as.command(&self.program);
        command.arg("-D").arg(self.process.folder().join("data")).args(["-p", &self.port.to_string()]);
        let own = SETTINGS.iter().map(|(name, value)| format!("{name}={value}"));
        let asked = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        for setting in own.chain(asked) {
            command.args(["-c", &setting]);
        }
        let (is_ready, port) = (self.is_ready.clone(), self.port.to_string());
        let ready = move || {
            let asked = Command::new(&is_ready)
                .args(["-q", "-h", "127.0.0.1", "-U", USER, "-d", DATABASE, "-p", &port])
                .status();
            asked.is_ok_and(|status| status.success())
        };
        self.process.start(command, ready)
    }

    /// Returns the processes, so that a test can kill or pause them.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.process.log()
    }

    /// Returns the URL of the database.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{DATABASE}", self.port)
    }
}
