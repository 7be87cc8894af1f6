//! Tests that a Restate server starts, survives what tests do to it, and leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use holdover_launcher::Launcher;

/// Returns the answer of the admin API at `url`, or `None` if it does not answer.
fn get(url: &str, path: &str) -> Option<String> {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Returns the number of processes that work in `folder`.
fn at_work_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    links.filter(|cwd| cwd.starts_with(folder)).count()
}

#[test]
fn restate_starts_again_on_its_data_and_leaves_nothing_behind() {
    let launcher = Launcher::new().unwrap();
    let (mut server, other) = (launcher.restate().unwrap(), launcher.restate().unwrap());
    assert!(get(&server.admin_url(), "/version").unwrap().contains(&server.ingress_url()));
    server.process().kill();
    assert_eq!(at_work_in(server.process().folder()), 0);
    assert_eq!(get(&server.admin_url(), "/version"), None);
    assert!(get(&other.admin_url(), "/version").is_some(), "another server is not killed");
    server.start().unwrap();
    let log = std::fs::read_to_string(server.process().log()).unwrap();
    assert!(log.matches("has been automatically provisioned").count() == 1, "it kept its data: {log}");
    let folder = launcher.folder().to_owned();
    std::mem::forget((server, other));
    drop(launcher);
    assert_eq!(at_work_in(&folder), 0);
    assert!(!folder.exists());
}
