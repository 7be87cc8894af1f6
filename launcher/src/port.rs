//! Free ports.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::LaunchError;

/// A loopback port that nobody listens on at this moment.
pub(crate) fn free() -> Result<u16, LaunchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(LaunchError::at("127.0.0.1:0"))?;
    Ok(listener.local_addr().map_err(LaunchError::at("127.0.0.1:0"))?.port())
}
