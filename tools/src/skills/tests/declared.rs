//! Tests of folders, namespaces, catalogs, and sources as text.

use serde_json::json;

use super::*;
use crate::testing::Fixture;

#[test]
fn c12_the_name_of_a_source_is_the_namespace_of_its_skills() {
    let fixture = Fixture::new(&[("a/pdf/SKILL.md", PDF), ("b/pdf/SKILL.md", PDF)]);
    let folder = |name: &str| SkillSource::folder(fixture.folder.path().join(name));
    let cache = SkillCache::at("/nonexistent");
    let open = |sources: Vec<SkillSource>| {
        let opened = Skills::pinned(sources.into_iter().map(SkillPin::from).collect(), cache.clone());
        opened.map_err(|error| error.to_string().replace(&fixture.folder.path().display().to_string(), ""))
    };
    let team = || folder("b").named("team").unwrap();
    let skills = open(vec![folder("a"), folder("a").named("house").unwrap(), team()]).unwrap();
    assert_eq!(names(&skills), ["pdf", "house/pdf", "team/pdf"]);
    assert_eq!(skills.provisioner().describe(), None, "a folder has no digest");
    let error = open(vec![folder("a"), folder("b")]).unwrap_err();
    assert_eq!(error, "/b/pdf/SKILL.md: the skill in /a/pdf is called \"pdf\", too");
    let error = open(vec![team(), folder("a").named("team").unwrap()]).unwrap_err();
    assert_eq!(error, "source \"team\": /a: the source at /b has the same name");
    let error = open(vec![folder("c").named("team").unwrap()]).unwrap_err();
    assert!(error.starts_with("source \"team\": /c: "), "{error}");
}

#[test]
fn c12_sources_with_names_are_bounded_and_folders_without_are_not() {
    let fixture = Fixture::new(&[]);
    let folder = |number: usize| {
        let folder = fixture.folder.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        let text = format!("---\nname: s{number}\ndescription: One\n---\nBody");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
        SkillSource::folder(folder)
    };
    let plain = (0..70).map(folder);
    let named = (100..165).map(|number| folder(number).named(&format!("n{number}")).unwrap());
    let mut pins: Vec<SkillPin> = plain.chain(named).map(SkillPin::from).collect();
    let open = |pins: Vec<SkillPin>| Skills::pinned(pins, SkillCache::at("/nonexistent"));
    let error = open(pins.clone()).unwrap_err();
    assert_eq!(error.name.as_deref(), Some("n164"));
    assert_eq!(error.why, "there are more than 64 sources with names");
    pins.pop();
    assert_eq!(names(&open(pins).unwrap()).len(), 134);
}

#[test]
fn c12_a_catalog_has_a_default_list_and_an_agent_may_name_others() {
    let catalog: SkillCatalog = serde_json::from_value(json!({
        "default": ["house"],
        "source": [{ "name": "team", "folder": "t" }, { "name": "house", "folder": "h" }],
    }))
    .unwrap();
    catalog.check().unwrap();
    let selected = |names: Option<&[&str]>| {
        let names: Option<Vec<String>> = names.map(|names| names.iter().map(|&name| name.into()).collect());
        let found = catalog.clone().beneath(Path::new("/f")).select(names.as_deref());
        found.map(|found| found.iter().map(SkillSource::address).collect::<Vec<_>>())
    };
    assert_eq!(selected(None).unwrap(), ["/f/h"]);
    assert_eq!(selected(Some(&["team", "house"])).unwrap(), ["/f/t", "/f/h"]);
    assert_eq!(selected(Some(&[])).unwrap(), [""; 0]);
    let error = selected(Some(&["hous"])).unwrap_err();
    assert_eq!(error.to_string(), "hous: there is no source of this name; there are: team, house");
    let source = || SkillSource::folder("a").named("a").unwrap();
    for (sources, default) in [
        (vec![SkillSource::folder("a")], vec![]),
        (vec![source(), source()], vec![]),
        (vec![source()], vec!["b"]),
    ] {
        SkillCatalog::new(sources, default).unwrap_err();
    }
}

#[test]
fn c12_a_source_is_a_path_or_a_table_and_a_faulty_one_is_refused() {
    let (sha, commit) = ("a".repeat(64), "b".repeat(40));
    for good in [
        json!("/skills"),
        json!({ "name": "a", "folder": "/skills" }),
        json!({ "name": "a", "folder": "skills", "url": "https://example.com/a.tar.gz", "sha256": sha }),
        json!({ "name": "a", "url": "http://127.0.0.1:8080/a", "sha256": sha }),
        json!({ "name": "a", "url": "http://[::1]:8080/a", "sha256": sha }),
        json!({ "name": "a", "git": "/repository", "commit": commit }),
    ] {
        let source: SkillSource = serde_json::from_value(good.clone()).unwrap();
        assert_eq!(serde_json::to_value(&source).unwrap(), good);
        assert_eq!(serde_json::to_value(SkillPin::from(source)).unwrap(), good, "before it is read");
    }
    for (bad, why) in [
        (json!({ "name": "a" }), "give folder, url or git"),
        (json!({ "folder": "a", "mode": 1 }), "unknown field `mode`"),
        (json!({ "name": "A", "folder": "a" }), "write at most 64 lower-case letters"),
        (json!({ "name": "", "folder": "a" }), "write at most 64 lower-case letters"),
        (json!({ "url": "https://e.com/a", "sha256": sha }), "give the source a name"),
        (json!({ "name": "a", "url": "https://e.com/a" }), "sha256: is missing"),
        (json!({ "name": "a", "url": "https://e.com/a", "sha256": "abc" }), "sha256: write the 64"),
        (json!({ "name": "a", "url": "http://e.com/a", "sha256": sha }), "http:// is only for this machine"),
        (json!({ "name": "a", "url": "http://127.0.0.1.e.com/a", "sha256": sha }), "http:// is only for"),
        (json!({ "name": "a", "url": "file:///a", "sha256": sha }), "has no host"),
        (json!({ "name": "a", "url": "https://u:secret@e.com/a", "sha256": sha }), "url: contains a user or"),
        (json!({ "name": "A", "url": "https://u:secret@e.com/a", "sha256": sha }), "url: contains a user or"),
        (json!({ "name": "a", "url": "https://u:secret@e.com/a", "sha256": "0" }), "url: contains a user or"),
        (
            json!({ "name": "a", "url": "https://e.com/a", "sha256": sha, "folder": "../b" }),
            "folder: \"../b\"",
        ),
        (json!({ "name": "a", "git": "/r" }), "commit: is missing"),
        (json!({ "name": "a", "git": "/r", "commit": "main" }), "commit: write all 40"),
        (json!({ "name": "a", "git": "/r", "commit": commit, "url": "https://e.com" }), "either url or git"),
        (json!({ "name": "a", "folder": "/r", "commit": commit }), "a folder is not pinned"),
    ] {
        let error = serde_json::from_value::<SkillSource>(bad.clone()).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("secret"), "{bad}: {error}");
    }
}

fn open(files: &[(&str, &str)]) -> Result<Skills, String> {
    let fixture = Fixture::new(files);
    let opened = Skills::open([fixture.folder.path()]);
    opened.map_err(|error| error.to_string().replace(&fixture.folder.path().display().to_string(), ""))
}

#[test]
fn a_folder_is_a_skill_or_holds_some() {
    let one = "---\nname: one\ndescription: The first\n---\nBody";
    let two = "---\nname: two\ndescription: The second\n---\nBody";
    assert_eq!(names(&open(&[("SKILL.md", one), ("b/SKILL.md", two)]).unwrap()), ["one"]);
    let files = [("z/SKILL.md", one), ("a/SKILL.md", two), ("a/notes.md", ""), ("README.md", "")];
    assert_eq!(names(&open(&files).unwrap()), ["two", "one"]);
}

#[test]
fn what_is_wrong_is_named_with_its_path() {
    let one = "---\nname: one\ndescription: The first\n---\nBody";
    let long = "x".repeat(FILE_BYTES_MAX as usize);
    let large = format!("{one}{long}");
    for (files, why) in [
        (&[("README.md", "")][..], ": holds no SKILL.md, and no folder that does"),
        (&[("a/SKILL.md", "Body")], "/a/SKILL.md: line 1: does not begin with ---"),
        (&[("a/SKILL.md", &large)], "/a/SKILL.md: has more than 131072 bytes"),
        (&[("a/SKILL.md", one), ("b/SKILL.md", one)], "/b/SKILL.md: the skill in /a is called \"one\", too"),
    ] {
        assert_eq!(open(files).unwrap_err(), why);
    }
}
