//! Tests of archives, which a server on loopback serves.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Mutex;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::super::bundle::{sha256, unpack};
use super::*;

/// An HTTP server on loopback that gives one answer to every request, and keeps the heads of the requests.
struct Server {
    url: String,
    answer: Arc<Mutex<Vec<u8>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn with(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/skills.tar.gz?key=secret", listener.local_addr().unwrap());
        let server = Self { url, answer: Arc::new(Mutex::new(answer)), heads: Arc::default() };
        let (answer, heads) = (Arc::clone(&server.answer), Arc::clone(&server.heads));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
                assert!(!head.is_empty());
                heads.lock().unwrap().push(head.join("\n"));
                let answer = answer.lock().unwrap().clone();
                // A client that has seen enough hangs up.
                let _ = stream.write_all(&answer);
            }
        });
        server
    }

    fn of(archive: &[u8]) -> Self {
        Self::with(answer(archive, archive.len()))
    }

    fn source(&self, archive: &[u8]) -> SkillSource {
        SkillSource::archive("shared", &self.url, &sha256(archive)).unwrap()
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

fn answer(body: &[u8], length: usize) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Returns an archive with these files. A path may be one that no sane program writes.
fn tar_gz(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn archive() -> Vec<u8> {
    let files = [
        ("all/README.md", "x"),
        ("all/pdf/SKILL.md", PDF),
        ("all/pdf/more/forms.md", "Forms."),
        ("b/c", "y"),
    ];
    tar_gz(&files)
}

#[tokio::test]
async fn c12_an_archive_is_fetched_once_and_then_nobody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path().join("a/b"));
    let archive = archive();
    let server = Server::of(&archive);
    let source = server.source(&archive).within("all").unwrap();
    // Two at the same time share the download.
    let (one, two) =
        tokio::join!(Skills::fetch([source.clone()], &cache), Skills::fetch([source.clone()], &cache));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((names(&one), names(&two)), (vec!["shared/pdf".to_owned()], vec!["shared/pdf".to_owned()]));
    assert_eq!((server.requests(), kept(&cache)), (1, 1));
    let pins = one.pins().to_vec();
    assert_eq!(pins[0].digest(), Some(sha256(&archive).as_str()));
    drop((one, two));

    *server.answer.lock().unwrap() = b"HTTP/1.1 503 Busy\r\n\r\n".to_vec();
    // As another process does it, which has read the pins from a store.
    let stored = serde_json::to_string(&pins).unwrap();
    let again = Skills::pinned(serde_json::from_str(&stored).unwrap(), cache.clone()).unwrap();
    assert_eq!(again.pins(), pins);
    assert_eq!(again.index()[0].description, "Reads PDF");
    assert_eq!(run(&again, json!({ "name": "shared/pdf" })).await.unwrap(), "Use it so.", "before a turn");
    provision(&again).await.unwrap();
    assert_eq!(run(&again, json!({ "name": "shared/pdf" })).await.unwrap(), "Use it so.");
    let forms = json!({ "name": "shared/pdf", "file": "./more/forms.md" });
    assert_eq!(run(&again, forms).await.unwrap(), "Forms.");
    for file in ["../README.md", "/etc/hostname", "more", "README.md"] {
        run(&again, json!({ "name": "shared/pdf", "file": file })).await.unwrap_err();
    }
    assert!(run(&again, json!({ "name": "pdf" })).await.unwrap_err().contains("there are: shared/pdf"));
    let told = format!("skills: shared sha256:{}", sha256(&archive));
    assert_eq!(again.provisioner().describe(), Some(told));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn c12_a_source_without_its_content_ends_the_turn_and_is_named_with_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    let archive = archive();
    let server = Server::of(&archive);
    let source = server.source(&archive).within("all").unwrap();
    let pins = Skills::fetch([source], &cache).await.unwrap().pins().to_vec();
    // Another machine, whose cache is empty, without a network.
    let other = tempfile::tempdir().unwrap();
    *server.answer.lock().unwrap() = b"HTTP/1.1 503 Busy\r\n\r\n".to_vec();
    let skills = Skills::pinned(pins.clone(), SkillCache::at(other.path())).unwrap();
    assert_eq!(names(&skills), ["shared/pdf"], "the index is the recorded one");
    let error = provision(&skills).await.unwrap_err();
    let address = server.url.trim_end_matches("?key=secret");
    let told = format!("source \"shared\": {address}: the server answers 503 Service Unavailable");
    assert_eq!((error.code.as_str(), error.detail.as_str()), ("skills.unreachable", told.as_str()));
    assert!(skills.provisioner().is_transient(&error), "another attempt may succeed");
    let line = run(&skills, json!({ "name": "shared/pdf" })).await.unwrap_err();
    assert!(line.starts_with("not run yet: source"), "{line}");
    // It comes back, and the same session goes on.
    *server.answer.lock().unwrap() = answer(&archive, archive.len());
    provision(&skills).await.unwrap();
    assert_eq!(run(&skills, json!({ "name": "shared/pdf" })).await.unwrap(), "Use it so.");
    // A pin that was never read is refused.
    let unread = SkillPin::from(pins[0].source().clone());
    let error = Skills::pinned(vec![unread], cache).unwrap_err();
    assert!(error.to_string().ends_with("was not read yet"), "{error}");
}

#[tokio::test]
async fn c12_what_is_not_the_archive_of_the_digest_is_refused_and_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    let good = archive();
    let other = tar_gz(&[("pdf/SKILL.md", PDF)]);
    let server = Server::of(&good);
    let redirect =
        b"HTTP/1.1 302 Found\r\nLocation: http://example.com/\r\nContent-Length: 0\r\n\r\n".to_vec();
    let cut = &good[..good.len() / 2];
    let mut endless = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    endless.resize(17 << 20, b'x');
    use SkillErrorKind::{Changed, Invalid, Unreachable};
    for (answer, kind, why) in [
        (answer(&other, other.len()), Changed, format!("the archive has the digest {}, not", sha256(&other))),
        (answer(cut, good.len()), Unreachable, "the download ended early".to_owned()),
        (answer(cut, cut.len()), Changed, "the archive has the digest".to_owned()),
        (answer(b"", 17 << 20), Invalid, "the archive has more than 16777216 bytes".to_owned()),
        (endless, Invalid, "the archive has more than 16777216 bytes".to_owned()),
        (b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec(), Unreachable, "the server answers 404".to_owned()),
        (redirect, Unreachable, "a redirect leads away from https".to_owned()),
    ] {
        *server.answer.lock().unwrap() = answer;
        let error = Skills::fetch([server.source(&good)], &cache).await.unwrap_err();
        assert_eq!((error.kind, error.name.as_deref()), (kind, Some("shared")), "{error}");
        assert!(error.why.starts_with(&why) && !error.to_string().contains("secret"), "{error}");
        assert_eq!(kept(&cache), 0, "{error}");
    }
    // An archive that is not valid is not kept either, even if it has the digest.
    let empty = tar_gz(&[("b/c", "y")]);
    *server.answer.lock().unwrap() = answer(&empty, empty.len());
    let error = Skills::fetch([server.source(&empty)], &cache).await.unwrap_err();
    assert_eq!((error.kind, kept(&cache)), (Invalid, 0));
    assert!(error.why.starts_with("holds no SKILL.md"), "{error}");
}

#[tokio::test]
async fn c12_who_waits_for_a_source_that_is_not_reached_shares_the_error_and_who_comes_later_tries_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    let archive = archive();
    let server = Server::with(b"HTTP/1.1 503 Busy\r\n\r\n".to_vec());
    let source = server.source(&archive).within("all").unwrap();
    // All ask before the first attempt ends: this test has one thread.
    let all = (0..20).map(|_| Skills::fetch([source.clone()], &cache));
    for ended in futures::future::join_all(all).await {
        assert_eq!(ended.unwrap_err().why, "the server answers 503 Service Unavailable");
    }
    assert_eq!(server.requests(), 1);
    *server.answer.lock().unwrap() = answer(&archive, archive.len());
    Skills::fetch([source], &cache).await.unwrap();
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn c12_the_query_of_an_address_is_not_told_to_the_target_of_a_redirect() {
    let folder = tempfile::tempdir().unwrap();
    let answer = "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::with(answer.into());
    let url = server.url.replace("127.0.0.1", "localhost");
    let source = SkillSource::archive("shared", &url, &"a".repeat(64)).unwrap();
    let error = Skills::fetch([source], &SkillCache::at(folder.path())).await.unwrap_err();
    assert_eq!((error.kind, error.why.as_str()), (SkillErrorKind::Unreachable, "more than 5 redirects"));
    let heads = server.heads.lock().unwrap();
    assert_eq!(heads.len(), 6);
    assert!(heads[0].contains("?key=secret"), "{heads:?}");
    assert!(heads[1].starts_with("GET /again ") && !heads[1..].concat().contains("secret"), "{heads:?}");
}

#[tokio::test]
async fn c12_a_damaged_file_of_the_cache_is_noticed_and_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    let archive = archive();
    let server = Server::of(&archive);
    let source = server.source(&archive).within("all").unwrap();
    drop(Skills::fetch([source.clone()], &cache).await.unwrap());
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut changed = archive.clone();
    changed[20] ^= 1;
    // A whole archive, but another one.
    let other = tar_gz(&[("all/pdf/SKILL.md", PDF)]);
    for damaged in [&archive[..100], &changed[..], &b""[..], &other[..]] {
        std::fs::write(&file, damaged).unwrap();
        drop(Skills::fetch([source.clone()], &cache).await.unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), archive);
    }
    assert_eq!((server.requests(), kept(&cache)), (5, 1));
}

#[test]
fn c12_no_entry_of_an_archive_leads_out_of_it() {
    for path in ["../x", "a/../../x", "/etc/x", "a\\..\\x"] {
        let error = unpack(&tar_gz(&[("a/SKILL.md", PDF), (path, "x")]), "a").unwrap_err();
        assert!(error.starts_with("the archive has an entry outside of its folder"), "{error}");
    }
    use tar::EntryType;
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Block, EntryType::Fifo] {
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_path("a/x").unwrap();
        header.set_entry_type(kind);
        header.set_link_name("/etc/hostname").unwrap();
        header.set_size(0);
        header.set_cksum();
        archive.append(&header, std::io::empty()).unwrap();
        let bytes = archive.into_inner().unwrap();
        let error = unpack(&bytes, "").unwrap_err();
        assert!(error.ends_with("is neither a file nor a folder"), "{kind:?}: {error}");
        assert!(unpack(&bytes, "b").unwrap_err().starts_with("folder: the archive has no files"));
    }
    let twice = unpack(&tar_gz(&[("a", "1"), ("./a", "2")]), "").unwrap_err();
    assert_eq!(twice, "the archive has two entries \"./a\"");
    let many: Vec<String> = (0..2049).map(|number| format!("f{number}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
    assert_eq!(unpack(&tar_gz(&many), "").unwrap_err(), "has more than 2048 files");
    let whole = tar_gz(&[("a/SKILL.md", PDF)]);
    assert!(unpack(&whole[..whole.len() / 2], "").unwrap_err().starts_with("the archive cannot be read"));
}
