//! Tests of the life of a sandbox, from its boot to its removal.

use std::fs;

use holdover_tools::{Exit, Job, LocalSandboxes, SandboxError, SandboxOptions, SandboxProvider};

use crate::ground::{Ground, LIVES_ON, Witness, has_walls, prints, ran, session, until};

#[tokio::test(flavor = "multi_thread")]
async fn c11_a_sandbox_is_booted_by_its_first_use_and_its_files_stay_until_it_is_freed() {
    let ground = Ground::new();
    let sandboxes = ground.open();
    assert!(ground.left().is_empty());
    let first = sandboxes.enter(&session("a")).await.unwrap();
    assert!(first.is_new());
    prints(&*first, "echo kept >note; echo temporary >$TMPDIR/note").await;
    assert_eq!(fs::read_to_string(first.workspace().join("note")).unwrap(), "kept\n");
    drop(first);
    // A second handle on the root finds the same sandbox, as another process would.
    let elsewhere = ground.open();
    let again = elsewhere.enter(&session("a")).await.unwrap();
    assert!(!again.is_new());
    assert_eq!(prints(&*again, "cat note $TMPDIR/note; pwd >&2").await, "kept\ntemporary");
    let other = sandboxes.enter(&session("b")).await.unwrap();
    assert!(other.is_new() && other.workspace() != again.workspace());
    drop((again, other));
    elsewhere.free(&session("a")).await.unwrap();
    sandboxes.free(&session("b")).await.unwrap();
    sandboxes.free(&session("never there")).await.unwrap();
    assert!(ground.left().is_empty(), "{:?}", ground.left());
    assert!(sandboxes.enter(&session("a")).await.unwrap().is_new());
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_what_is_freed_leaves_no_process_and_no_file() {
    let ground = Ground::new();
    let sandboxes = ground.open();
    let key = session("a");
    let sandbox = sandboxes.enter(&key).await.unwrap();
    // Behind walls, the process dies with its command; in a plain folder, it dies when the sandbox is freed.
    ran(&*sandbox, "mkdir shut; touch shut/file; chmod 0 shut; ln -s / out").await;
    ran(&*sandbox, LIVES_ON).await;
    let mut witness = Witness::of(sandbox.workspace());
    assert!(has_walls(&sandboxes) || witness.sees_them());
    drop(sandbox);
    sandboxes.free(&key).await.unwrap();
    witness.saw_their_end();
    assert!(ground.left().is_empty(), "{:?}", ground.left());
    assert!(fs::metadata("/").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_a_boot_that_fails_half_way_leaves_nothing() {
    let ground = Ground::new();
    // The stand-in passes the check for bubblewrap, and fails when the sandbox is booted.
    let seen = ground.path().join("seen");
    let stand_in = ground.stand_in(&format!(
        "case \"$*\" in *--bind*) ls {root} >{seen}; echo 'bwrap: no more namespaces' >&2; exit 1;; esac",
        root = ground.root().display(),
        seen = seen.display(),
    ));
    let options = ground.options().bubblewrap(stand_in);
    let sandboxes = LocalSandboxes::open(&options).unwrap();
    assert_eq!(sandboxes.describe(), "sandbox: bubblewrap, no network");
    let Err(error) = sandboxes.enter(&session("a")).await else { panic!("it cannot be booted") };
    assert!(matches!(&error, SandboxError::Boot(why) if why.contains("no more namespaces")), "{error}");
    // The failure came in the middle of the boot.
    assert!(fs::read_to_string(seen).unwrap().contains(".boot"));
    assert!(ground.left().is_empty(), "{:?}", ground.left());
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_what_is_left_alone_is_swept_and_what_is_in_use_is_not() {
    let ground = Ground::new();
    let at_once = ground.options().idle_seconds(0);
    let (brief, patient) = (LocalSandboxes::open(&at_once).unwrap(), ground.open());
    assert_eq!(SandboxOptions::default().idle_seconds, 300);
    let used = brief.enter(&session("brief")).await.unwrap();
    drop(patient.enter(&session("patient")).await.unwrap());
    patient.sweep().await.unwrap();
    assert_eq!(prints(&*used, "echo here").await, "here");
    drop(used);
    patient.sweep().await.unwrap();
    assert!(brief.enter(&session("brief")).await.unwrap().is_new());
    assert!(!patient.enter(&session("patient")).await.unwrap().is_new());
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_nobody_need_ask_for_the_sweep() {
    let ground = Ground::new();
    let sandboxes = LocalSandboxes::open(&ground.options().idle_seconds(0)).unwrap();
    drop(sandboxes.enter(&session("a")).await.unwrap());
    // The sweep needs no handle, either.
    drop(sandboxes);
    until(|| ground.left().is_empty().then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_is_to_be_kept_outlives_its_turn_and_its_processes_do_not() {
    let ground = Ground::new();
    let options = ground.options().keep(true).idle_seconds(0);
    let sandboxes = LocalSandboxes::open(&options).unwrap();
    let sandbox = sandboxes.enter(&session("a")).await.unwrap();
    ran(&*sandbox, "echo kept >note").await;
    drop(sandbox);
    sandboxes.free(&session("a")).await.unwrap();
    sandboxes.sweep().await.unwrap();
    let again = sandboxes.enter(&session("a")).await.unwrap();
    assert!(!again.is_new());
    assert_eq!(prints(&*again, "cat note").await, "kept");
    // Without `keep`, the session gets another workspace.
    let other = ground.open();
    assert!(other.enter(&session("a")).await.unwrap().is_new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_or_is_dropped_dies_with_all_it_started() {
    let ground = Ground::new();
    let sandboxes = ground.open();
    let sandbox = sandboxes.enter(&session("a")).await.unwrap();
    let job =
        |limit| Job { limit, ..Job::shell("mkfifo made; exec 3<>made; mv made pipe; sleep 1000 & wait") };
    let workspace = sandbox.workspace().to_owned();
    let witness = tokio::task::spawn_blocking(move || Witness::of(&workspace));
    {
        let running = sandbox.run(job(std::time::Duration::from_secs(600)));
        let mut witness = tokio::select! {
            ran = running => panic!("it runs until it is dropped: {ran:?}"),
            seen = witness => seen.unwrap(),
        };
        let _ = witness.sees_them();
        witness
    }
    .saw_their_end();
    let over =
        sandbox.run(Job { limit: std::time::Duration::from_millis(200), ..Job::shell("sleep 1000") }).await;
    assert_eq!(over.unwrap().exit, Exit::TimeOver);
}

#[test]
fn a_root_that_is_no_folder_or_anothers_is_refused() {
    let ground = Ground::new();
    fs::write(ground.root(), "a file").unwrap();
    let refused = LocalSandboxes::open(&ground.options()).err().unwrap().to_string();
    assert!(refused.contains("sandboxes: is not a folder"), "{refused}");
    fs::remove_file(ground.root()).unwrap();
    std::os::unix::fs::symlink("/", ground.root()).unwrap();
    assert!(LocalSandboxes::open(&ground.options()).is_err());
}
