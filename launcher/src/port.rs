//! Free ports for servers.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use crate::error::LaunchError;

/// The lowest port that is chosen.
const FIRST: u16 = 10_240;

/// The smallest range of ports to choose from.
const CHOICE_MIN: u16 = 1024;

/// The file with the range of ports that the system assigns automatically.
const EPHEMERAL: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The number of ports that are tried before the system is asked to assign one.
const TRIES_MAX: usize = 256;

/// The ports that this process has chosen. None is chosen twice, because its server may be dead for a while and need it
/// again.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Returns a free loopback port outside the range that the system assigns automatically. If no such port is found, the
/// system assigns one.
///
/// Another program could be assigned a port of that range before the server uses it. And while a server is dead, a
/// client that reconnects could be assigned the server's port as its own, and connect to itself.
pub fn free() -> Result<u16, LaunchError> {
    let choice = ephemeral_first().saturating_sub(FIRST);
    if choice >= CHOICE_MIN {
        for _ in 0..TRIES_MAX {
            let random = RandomState::new().hash_one(()) % u64::from(choice);
            let port = FIRST + u16::try_from(random).unwrap_or(0);
            let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
            if is_free && GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
                return Ok(port);
            }
        }
    }
    // No port outside the range was found, so the system assigns one.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(LaunchError::at("127.0.0.1:0"))?;
    Ok(listener.local_addr().map_err(LaunchError::at("127.0.0.1:0"))?.port())
}

/// Returns the first port that the system assigns automatically; zero if this is unknown.
fn ephemeral_first() -> u16 {
    let range = std::fs::read_to_string(EPHEMERAL).unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn no_connection_is_given_the_port_of_a_server() {
        let (first, ports) = (ephemeral_first(), (0..64).map(|_| free().unwrap()).collect::<BTreeSet<u16>>());
        // Otherwise the system assigns ports from so large a range that too few are left to choose from.
        if first.saturating_sub(FIRST) >= CHOICE_MIN {
            assert_eq!(ports.len(), 64, "each once, though no server holds it yet");
            assert!(ports.iter().all(|port| *port < first), "{first}: {ports:?}");
        }
    }
}
