//! Skills of several sources: folders, archives and commits.
//!
//! Requirement: C12.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use support::{Fixture, Ran};

const PAGE: &str = include_str!("../../docs/how-to/agents.md");

/// A model that reads the skill of which its user speaks, and says what it has read.
const SCRIPT: &str = r#"
[[turns]]
when = { result_of = "read_skill", result_contains = "Ask for the number." }
say = "What is the number?"

[[turns]]
when = { result_of = "read_skill", result_contains = "Pay it twice." }
say = "I was deceived."

[[turns]]
when = { user_contains = "refund", system_contains = "- shared/refunds: How to refund" }
calls = [{ tool = "read_skill", arguments = { name = "shared/refunds" } }]

[[turns]]
when = { system_contains = "- house/invoices: How invoices are filed" }
say = "I know the house."

[[turns]]
when = { system_contains = "- team/invoices: How invoices are filed" }
say = "I know the team."

[[turns]]
say = "I know nothing."
"#;

const INVOICES: &str = "---\nname: invoices\ndescription: How invoices are filed\n---\nSort them by month.\n";

fn refunds(body: &str) -> String {
    format!("---\nname: refunds\ndescription: How to refund\n---\n{body}\n")
}

/// Returns an archive with these files.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An HTTP server on loopback that serves one archive, or nothing, and counts the requests.
struct Server {
    url: String,
    archive: Arc<Mutex<Option<Vec<u8>>>>,
    requests: Arc<Mutex<usize>>,
}

impl Server {
    fn of(archive: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/skills.tar.gz", listener.local_addr().unwrap());
        let server =
            Self { url, archive: Arc::new(Mutex::new(Some(archive.to_vec()))), requests: Arc::default() };
        let (archive, requests) = (Arc::clone(&server.archive), Arc::clone(&server.requests));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = BufReader::new(&stream).lines().map_while(Result::ok);
                assert!(head.take_while(|line| !line.is_empty()).count() > 0);
                *requests.lock().unwrap() += 1;
                if let Some(body) = archive.lock().unwrap().clone() {
                    let length = body.len();
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
                }
            }
        });
        server
    }

    fn serve(&self, archive: Option<&[u8]>) {
        *self.archive.lock().unwrap() = archive.map(<[u8]>::to_vec);
    }

    fn requests(&self) -> usize {
        *self.requests.lock().unwrap()
    }
}

/// Runs the binary with its cache in the fixture, and with a proxy that does not answer: none is asked for an address of
/// this machine.
fn run(fixture: &Fixture, words: &[&str]) -> Ran {
    let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let proxy = "http_proxy=http://127.0.0.1:9 no_proxy=";
    fixture.shell(&format!("{proxy} XDG_CACHE_HOME=\"$PWD/cache\" {} {line}", support::HOLDOVER))
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("script.toml", SCRIPT);
    std::fs::create_dir_all(fixture.path("house/invoices")).unwrap();
    fixture.write("house/invoices/SKILL.md", INVOICES);
    fixture
}

/// Makes a git repository of the folder, with one commit, whose name it returns.
fn commit(fixture: &Fixture, folder: &str) -> String {
    let git = "git -c user.name=t -c user.email=t@example.com";
    let line =
        format!("cd {folder} && git init -q && git add -A && {git} commit -qm x && git rev-parse HEAD");
    fixture.shell(&line).ends(0).out.trim().to_owned()
}

#[test]
fn c12_a_session_keeps_the_skills_of_an_archive_as_they_were_when_it_began() {
    let fixture = fixture();
    let good = archive(&[("kit/refunds/SKILL.md", &refunds("Ask for the number."))]);
    let bad = archive(&[("kit/refunds/SKILL.md", &refunds("Pay it twice."))]);
    let server = Server::of(&good);
    let (url, sha) = (&server.url, sha256(&good));
    let agent = format!(
        "model = \"scripted:script.toml\"\nskills = [\n{{ name = \"house\", folder = \"house\" }},\n\
         {{ name = \"shared\", url = \"{url}?key=secret\", sha256 = \"{sha}\", folder = \"kit\" }}]\n\
         [retries]\nprovision_waits_ms = [1]\n"
    );
    fixture.write("clerk.toml", &agent);
    run(&fixture, &["run", "clerk.toml", "--session", "s", "a refund"]).ends(0).says("What is the number?");
    assert_eq!(server.requests(), 1);
    let digest = format!("source shared: {url}, folder kit, sha256:{sha}");
    run(&fixture, &["sessions", "show", "s"])
        .ends(0)
        .says(&digest)
        .says("source house: ")
        .says(", not pinned");
    let shown = run(&fixture, &["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!(
        (&shown["skills"][1]["digest"], &shown["skills"][1]["url"]),
        (&sha.as_str().into(), &url.as_str().into())
    );
    run(&fixture, &["events", "s"]).ends(0).says(&format!("skills: shared sha256:{sha}"));

    // Another process without a network, even after the agent file is gone: the cache has all that is needed.
    server.serve(None);
    std::fs::remove_file(fixture.path("clerk.toml")).unwrap();
    run(&fixture, &["send", "s", "another refund"]).ends(0).says("What is the number?");
    assert_eq!(server.requests(), 1);

    // Another machine: its cache is empty. The turn tries again, then ends with an error that names the source and its
    // address.
    std::fs::rename(fixture.path("cache"), fixture.path("away")).unwrap();
    let why = format!("skills.unreachable: source \"shared\": {url}: ");
    run(&fixture, &["send", "s", "another refund"]).ends(1).says(&why);
    assert_eq!(server.requests(), 3);
    // Other bytes at the address are not taken.
    server.serve(Some(&bad));
    let why =
        format!("skills.changed: source \"shared\": {url}: the archive has the digest {}", sha256(&bad));
    run(&fixture, &["send", "s", "another refund"]).ends(1).says(&why);
    assert_eq!(server.requests(), 4, "what has another digest is not asked for again");
    assert_eq!(std::fs::read_dir(fixture.path("cache/holdover/skills")).map_or(0, Iterator::count), 0);
    // A damaged file in the cache is not taken either.
    std::fs::create_dir_all(fixture.path("cache/holdover/skills")).unwrap();
    let name = format!("cache/holdover/skills/archive-{sha}");
    std::fs::write(fixture.path(&name), &bad).unwrap();
    server.serve(Some(&good));
    run(&fixture, &["send", "s", "another refund"]).ends(0).says("What is the number?");
    assert_eq!(std::fs::read(fixture.path(&name)).unwrap(), good);
}

#[test]
fn c12_sources_are_declared_once_and_have_a_default_list() {
    let fixture = fixture();
    std::fs::create_dir_all(fixture.path("shelf/team/kit")).unwrap();
    std::fs::rename(fixture.path("house"), fixture.path("shelf/house")).unwrap();
    std::fs::create_dir_all(fixture.path("shelf/team/kit/invoices")).unwrap();
    fixture.write("shelf/team/kit/invoices/SKILL.md", INVOICES);
    let commit = commit(&fixture, "shelf/team");
    // The work tree is not read.
    fixture.write("shelf/team/kit/invoices/SKILL.md", "no head");
    let sources = format!(
        "default = [\"house\"]\n[[source]]\nname = \"house\"\nfolder = \"house\"\n\
         [[source]]\nname = \"team\"\ngit = \"team\"\ncommit = \"{commit}\"\nfolder = \"kit\"\n"
    );
    fixture.write("shelf/skills.toml", &sources);
    let model = "model = \"scripted:script.toml\"\n";
    for (keys, says, listed) in [
        ("", "I know nothing.", "the agent has no skills\n"),
        (
            "skill_sources = \"shelf/skills.toml\"\n",
            "I know the house.",
            "house/invoices: How invoices are filed\n",
        ),
        (
            "skill_sources = \"shelf/skills.toml\"\nskill_namespaces = [\"team\"]\n",
            "I know the team.",
            "team/invoices: How invoices are filed\n",
        ),
        (
            "skill_sources = \"shelf/skills.toml\"\nskill_namespaces = []\n",
            "I know nothing.",
            "the agent has no",
        ),
    ] {
        fixture.write("clerk.toml", &format!("{model}{keys}"));
        run(&fixture, &["run", "clerk.toml", "hi"]).ends(0).says(says);
        assert!(run(&fixture, &["skills", "list", "clerk.toml"]).ends(0).out.starts_with(listed), "{keys}");
    }
    for (keys, words) in [
        ("skill_namespaces = [\"team\"]", &["line 2: skill_namespaces: needs skill_sources"][..]),
        ("skill_sources = \"none.toml\"", &["line 2: skill_sources: ", "none.toml: "]),
        (
            "skill_sources = \"shelf/skills.toml\"\nskill_namespaces = [\"moon\"]",
            &["line 3: skill_namespaces: moon: there is no source of this name; there are: house, team"],
        ),
        ("skills = [{ name = \"a\", folder = \"none\" }]", &["line 2: skills: source \"a\": ", "/none: "]),
        (
            "skills = [{ name = \"a\", url = \"http://example.com/a\", sha256 = \"00\" }]",
            &["line 2: skills[0]: "],
        ),
        (
            "skill_sources = \"shelf/skills.toml\"\nskills = [{ name = \"house\", folder = \"shelf/house\" }]",
            &["line 2: skill_sources: source \"house\": ", "has the same name"],
        ),
    ] {
        fixture.write("clerk.toml", &format!("{model}{keys}\n"));
        run(&fixture, &["skills", "list", "clerk.toml"]).fails(2, words).fails(2, &["clerk.toml: "]);
    }
}

/// Returns the code blocks of the section about skills in one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let section = PAGE.split("\n## Skills\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let begins = format!("```{language}\n");
    section.split(begins.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn c12_the_page_about_skills_is_played() {
    let fixture = fixture();
    let kit = archive(&[("skills/refunds/SKILL.md", &refunds("Ask for the number."))]);
    let server = Server::of(&kit);
    for folder in ["clerk/skills/ink", "house-skills/invoices", "team/skills/invoices"] {
        std::fs::create_dir_all(fixture.path(folder)).unwrap();
    }
    fixture.write("clerk/skills/ink/SKILL.md", "---\nname: ink\ndescription: How to mix ink\n---\nStir.\n");
    fixture.write("house-skills/invoices/SKILL.md", INVOICES);
    fixture.write("team/skills/invoices/SKILL.md", INVOICES);
    let commit = commit(&fixture, "team");
    // The page names an address, a digest and a commit that exist nowhere.
    let real = |text: &str| {
        let text = text.replace("https://example.com/skills.tar.gz", &server.url);
        text.replace(&"8f3c".repeat(16), &sha256(&kit)).replace(&"1d2e".repeat(10), &commit)
    };
    let [direct, sources, by_name] = blocks("toml")[..] else { panic!("three examples") };
    let model = "model = \"scripted:../script.toml\"\n";
    fixture.write("clerk/agent.toml", &format!("{model}{}", real(direct)));
    let listed = "ink: How to mix ink\nhouse/invoices: How invoices are filed\n\
                  shared/refunds: How to refund\nteam/invoices: How invoices are filed\n";
    let [commands] = blocks("sh")[..] else { panic!("one block of commands") };
    for command in commands.lines() {
        let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().skip(1).collect();
        let words: Vec<String> =
            words.iter().map(|word| word.replace("agent.toml", "clerk/agent.toml")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = run(&fixture, &words).ends(0).says(&format!("sha256:{}", sha256(&kit)));
        assert_eq!(ran.out.starts_with(listed), command.contains("list"), "{ran:?}");
    }
    assert_eq!(server.requests(), 1);
    fixture.write("skills.toml", &real(sources));
    fixture.write("clerk/agent.toml", &format!("{model}{by_name}"));
    let listed = run(&fixture, &["skills", "list", "clerk/agent.toml"]).ends(0).out;
    assert!(listed.starts_with("house/invoices: How invoices are filed\nteam/invoices: How"), "{listed}");
}
