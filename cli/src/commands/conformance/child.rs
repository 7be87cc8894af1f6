//! The child process that cases kill: this program, writing into the data of a case.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use holdover_harnesses::SqliteHarness;

use super::{postgres, redis};
use crate::exit::{Exit, Failure};
use crate::store::{Kind, StoreUrl, VARIABLE};

/// The environment variable that names the data into which this process writes until it is killed.
const PLACE: &str = "HOLDOVER_CONFORMANCE_CHILD";

/// Returns the command that starts this program as a child on `place`. The URL is passed in the environment,
/// because it may hold a password: other users can read arguments, but not the environment.
pub(super) fn program(url: &str, place: impl AsRef<OsStr>) -> Command {
    // If the program cannot be found, the cases that start it fail with that error.
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.arg("conformance").env(VARIABLE, url).env(PLACE, place);
    command
}

/// Writes until it is killed, if this process was started for that. Otherwise returns `None` at once.
pub(super) async fn serve(url: &StoreUrl) -> Option<Result<Exit, Failure>> {
    let place = std::env::var_os(PLACE)?;
    let text = place.to_string_lossy();
    let served = match url.kind() {
        Ok(Kind::Sqlite(_)) => {
            SqliteHarness::serve_child(Path::new(&place)).await;
            Ok(())
        }
        Ok(Kind::Postgres) => postgres::serve(url, &text).await,
        Ok(Kind::Redis | Kind::RedisCluster) => redis::serve(url, &text).await,
        Err(failure) => Err(failure),
    };
    Some(served.map(|()| Exit::Completed))
}
