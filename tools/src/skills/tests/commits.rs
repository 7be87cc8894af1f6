//! Tests of commits of git repositories.

use std::process::Command;

use serde_json::json;

use super::super::bundle::Bundle;
use super::*;
use crate::testing::Fixture;

/// A git repository with one commit of `files`.
fn repository(files: &[(&str, &str)]) -> (Fixture, String) {
    let fixture = Fixture::new(files);
    git(&fixture, &["init", "-q"]);
    git(&fixture, &["add", "-A"]);
    git(&fixture, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]);
    let commit = git(&fixture, &["rev-parse", "HEAD"]);
    (fixture, commit)
}

fn git(fixture: &Fixture, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(fixture.folder.path()).args(words).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn c12_a_commit_is_read_and_neither_its_work_tree_nor_a_program_of_its_repository() {
    let (fixture, commit) = repository(&[
        ("kit/pdf/SKILL.md", PDF),
        ("kit/pdf/a.txt", "a\n"),
        (".gitattributes", "* filter=evil\n"),
    ]);
    let path = fixture.folder.path().to_owned();
    let marker = path.join("marker");
    for (key, value) in [
        ("filter.evil.smudge", format!("touch {}; cat", marker.display())),
        ("core.fsmonitor", format!("touch {}", marker.display())),
    ] {
        git(&fixture, &["config", key, &value]);
    }
    std::fs::write(path.join("kit/pdf/SKILL.md"), PDF.replace("Use it so.", "Changed.")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    let source = SkillSource::git("team", &path, &commit).unwrap().within("./kit/").unwrap();
    let skills = Skills::fetch([source.clone()], &cache).await.unwrap();
    assert_eq!(names(&skills), ["team/pdf"]);
    assert_eq!(run(&skills, json!({ "name": "team/pdf" })).await.unwrap(), "Use it so.");
    assert_eq!(run(&skills, json!({ "name": "team/pdf", "file": "a.txt" })).await.unwrap(), "a\n");
    assert!(!marker.exists());
    let pins = skills.pins().to_vec();
    drop(skills);

    // The repository is gone, and the cache has the commit.
    std::fs::rename(path.join(".git"), path.join("gone")).unwrap();
    let again = Skills::fetch([source.clone()], &cache).await.unwrap();
    assert_eq!(again.pins(), pins);
    drop(again);
    // A damaged file is noticed.
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let damaged =
        String::from_utf8(std::fs::read(&file).unwrap()).unwrap().replace("Use it so.", "Use it not");
    std::fs::write(&file, damaged).unwrap();
    let error = Skills::fetch([source.clone()], &cache).await.unwrap_err();
    assert_eq!((error.kind, error.path.as_path()), (SkillErrorKind::Unreachable, path.as_path()));
    assert!(error.why.starts_with("git: not a git repository"), "{error}");
    std::fs::rename(path.join("gone"), path.join(".git")).unwrap();

    // Somebody who may write the cache puts in other files, with their checksum: a recorded digest tells.
    let other =
        Bundle::of([("pdf/SKILL.md".to_owned(), PDF.replace("so", "no").into_bytes())].into()).unwrap();
    cache.write(&source, &other.packed().unwrap()).unwrap();
    std::fs::rename(path.join(".git"), path.join("gone")).unwrap();
    let error = provision(&Skills::pinned(pins.clone(), cache.clone()).unwrap()).await.unwrap_err();
    assert_eq!(error.code, "skills.unreachable");
    std::fs::rename(path.join("gone"), path.join(".git")).unwrap();
    let skills = Skills::pinned(pins.clone(), cache.clone()).unwrap();
    provision(&skills).await.unwrap();
    assert_eq!(run(&skills, json!({ "name": "team/pdf" })).await.unwrap(), "Use it so.");
    drop(skills);
    // A record that fits no content is an error.
    let wrong = serde_json::to_string(&pins).unwrap().replace(pins[0].digest().unwrap(), &"0".repeat(64));
    let skills = Skills::pinned(serde_json::from_str(&wrong).unwrap(), cache).unwrap();
    let error = provision(&skills).await.unwrap_err();
    assert_eq!(error.code, "skills.changed");
    assert!(!skills.provisioner().is_transient(&error), "another attempt finds the same");
}

#[tokio::test]
async fn c12_what_another_repository_has_for_a_commit_is_not_taken() {
    let (fixture, commit) = repository(&[("kit/pdf/SKILL.md", PDF)]);
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    let forged =
        Bundle::of([("pdf/SKILL.md".to_owned(), PDF.replace("so", "no").into_bytes())].into()).unwrap();
    let source = |path: &Path| SkillSource::git("team", path, &commit).unwrap().within("kit").unwrap();
    cache.write(&source(Path::new("/forged")), &forged.packed().unwrap()).unwrap();
    let skills = Skills::fetch([source(fixture.folder.path())], &cache).await.unwrap();
    assert_eq!(run(&skills, json!({ "name": "team/pdf" })).await.unwrap(), "Use it so.");
    assert_eq!(kept(&cache), 2);
}

#[tokio::test]
async fn c12_a_missing_object_is_not_fetched_and_no_program_of_a_remote_runs() {
    let (fixture, commit) = repository(&[("kit/pdf/SKILL.md", PDF)]);
    let path = fixture.folder.path();
    let marker = path.join("marker");
    let remote = format!("ext::touch {}", marker.display());
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", &remote),
        ("protocol.ext.allow", "always"),
    ] {
        git(&fixture, &["config", key, value]);
    }
    let object = git(&fixture, &["rev-parse", "HEAD:kit/pdf/SKILL.md"]);
    let (begin, rest) = object.split_at(2);
    std::fs::remove_file(path.join(".git/objects").join(begin).join(rest)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = SkillSource::git("team", path, &commit).unwrap();
    let error = Skills::fetch([source], &SkillCache::at(folder.path())).await.unwrap_err();
    assert!(error.why.contains(&object), "{error}");
    assert!(!marker.exists());
}

#[tokio::test]
async fn c12_a_commit_that_cannot_be_used_is_named_with_its_repository() {
    let (fixture, _) = repository(&[("kit/pdf/SKILL.md", PDF)]);
    let path = fixture.folder.path();
    std::os::unix::fs::symlink("/etc/hostname", path.join("kit/pdf/link")).unwrap();
    git(&fixture, &["add", "-A"]);
    git(&fixture, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "y"]);
    let commit = git(&fixture, &["rev-parse", "HEAD"]);
    let folder = tempfile::tempdir().unwrap();
    let cache = SkillCache::at(folder.path());
    for (commit, inner, why) in [
        (commit.as_str(), "kit", "the commit's entry \"pdf/link\" is neither a file nor a folder"),
        (commit.as_str(), "nothing", "git: "),
        ("1".repeat(40).as_str(), "kit", "git: "),
        (git(&fixture, &["rev-parse", "HEAD:kit"]).as_str(), "pdf", "git: "),
    ] {
        let source = SkillSource::git("team", path, commit).unwrap().within(inner).unwrap();
        let error = Skills::fetch([source], &cache).await.unwrap_err();
        let begins = format!("source \"team\": {}: {why}", path.display());
        assert!(error.to_string().starts_with(&begins), "{error}");
        assert_eq!(kept(&cache), 0);
    }
}
