//! PgBouncer, the transaction pooler that many Postgres installations use.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::install::Program;
use crate::port;
use crate::postgres::{DATABASE, Postgres, USER};
use crate::process::{Process, RunAs};

const SERVER: Program = Program { name: "pgbouncer", package: "pgbouncer", folders: &["/usr/sbin"] };

/// A PgBouncer in transaction mode. It opens at most 8 connections to the server, and accepts up to 500 from clients.
#[derive(Debug)]
pub struct PgBouncer {
    process: Process,
    port: u16,
}

impl PgBouncer {
    pub(crate) fn launch(folder: &Folder, postgres: &Postgres) -> Result<Self, LaunchError> {
        let program = SERVER.find()?;
        let run_as = RunAs::not_root("pgbouncer")?;
        let folder = folder.server("pgbouncer")?;
        run_as.own(&folder)?;
        let port = port::free()?;
        let settings = folder.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n{DATABASE} = host=127.0.0.1 port={} user={USER} dbname={DATABASE}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 8\nmax_client_conn = 500\n",
            postgres.port(),
        );
        let mut file = std::fs::File::create(&settings).map_err(LaunchError::at(&settings))?;
        file.write_all(text.as_bytes()).map_err(LaunchError::at(&settings))?;
        let mut command = run_as.command(&program);
        command.arg(&settings);
        let mut process = Process::new("pgbouncer", folder);
        process.start(command, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())?;
        Ok(Self { process, port })
    }

    /// Returns the process, so that a test can kill or pause it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the URL of the database, through PgBouncer.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{DATABASE}", self.port)
    }
}
