//! The server that tests use: one for each process.

use std::sync::LazyLock;

use holdover_launcher::{Launcher, Postgres};

/// Names a database that tests may change at will; without it they start a server of their own.
const URL: &str = "HOLDOVER_POSTGRES_URL";

/// A Postgres server for tests.
#[derive(Debug)]
pub struct Server {
    url: String,
    _launched: Option<(Launcher, Postgres)>,
}

static SHARED: LazyLock<Server> = LazyLock::new(|| match std::env::var(URL) {
    Ok(url) => Server { url, _launched: None },
    Err(_) => {
        let launcher = Launcher::new().expect("a folder for servers");
        let postgres = launcher.postgres(&[]).expect("a Postgres server");
        Server { url: postgres.url(), _launched: Some((launcher, postgres)) }
    }
});

impl Server {
    /// The one that all tests of this process share: the database that `HOLDOVER_POSTGRES_URL` names, or a
    /// server that is started now and ends with the process.
    ///
    /// # Panics
    /// When no server can be had.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// How to connect to its database.
    pub fn url(&self) -> &str {
        &self.url
    }
}
