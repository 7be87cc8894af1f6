//! Downloads of archives.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, StatusCode, Url};
use rustls::crypto::CryptoProvider;

use super::SkillErrorKind;
use super::source::is_loopback;

/// The maximum size of an archive, in bytes.
const ARCHIVE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit for silence within a download.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The time limit for a download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(180);
/// The maximum number of redirects that are followed.
const REDIRECTS_MAX: usize = 5;

/// Downloads the file at `url`. Follows redirects: the bytes are checked by their digest, so it does not matter who
/// sends them. Never goes from `https://` to `http://`. Does not try again.
pub(super) async fn download(url: &str) -> Result<Vec<u8>, (SkillErrorKind, String)> {
    let unreachable = |why: String| (SkillErrorKind::Unreachable, why);
    let url: Url = url.parse().map_err(|error| (SkillErrorKind::Invalid, format!("url: {error}")))?;
    if CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same time; either choice works.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let here = url.scheme() == "http";
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(STALL_TIMEOUT)
        .timeout(DOWNLOAD_TIMEOUT)
        .redirect(Policy::custom(move |attempt| redirect(attempt, here)))
        .retry(reqwest::retry::never())
        // The digest is that of the archive as it is stored, so nothing may be unpacked on the way.
        .no_gzip()
        // The query may hold a secret, which the target of a redirect must not learn.
        .referer(false);
    if url.host_str().is_some_and(is_loopback) {
        // Neither a proxy nor a resolver may lead away from this machine.
        let this_machine = [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
        builder = builder.no_proxy().resolve_to_addrs("localhost", &this_machine);
    }
    let client = builder.build().map_err(|error| unreachable(format!("no HTTP client: {error}")))?;
    let mut response = client.get(url).send().await.map_err(|error| unreachable(why(&error)))?;
    if response.status() != StatusCode::OK {
        return Err(unreachable(format!("the server answers {}", response.status())));
    }
    let too_large =
        || (SkillErrorKind::Invalid, format!("the archive has more than {ARCHIVE_BYTES_MAX} bytes"));
    if response.content_length().is_some_and(|length| length > ARCHIVE_BYTES_MAX) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(why(&error)))? {
        if bytes.len() as u64 + chunk.len() as u64 > ARCHIVE_BYTES_MAX {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Follows a redirect to `https://`. If the first address was an `http://` address, which is always on this machine, also
/// follows a redirect to `http://` on this machine.
fn redirect(attempt: Attempt<'_>, here: bool) -> reqwest::redirect::Action {
    let to = attempt.url();
    let allowed =
        to.scheme() == "https" || here && to.scheme() == "http" && to.host_str().is_some_and(is_loopback);
    if !allowed {
        return attempt.error("a redirect leads away from https");
    }
    if attempt.previous().len() > REDIRECTS_MAX {
        return attempt.error(format!("more than {REDIRECTS_MAX} redirects"));
    }
    attempt.follow()
}

/// Describes an error without the address, whose query may hold a secret.
fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "the server was silent".to_owned()
    } else if error.is_connect() {
        "the server cannot be reached".to_owned()
    } else if error.is_redirect() {
        match std::error::Error::source(error) {
            Some(reason) => reason.to_string(),
            None => "the redirects cannot be followed".to_owned(),
        }
    } else {
        "the download ended early".to_owned()
    }
}
