//! Tests of the files, processes and networks that commands in a sandbox can reach.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use holdover_tools::{Exit, Job, LocalSandboxes, SandboxError, SandboxProvider, Walls, WallsPolicy};

use crate::ground::{Ground, has_walls, prints, ran, session};

#[tokio::test(flavor = "multi_thread")]
async fn commands_see_no_file_outside_and_write_to_none() {
    let ground = Ground::new();
    let sandboxes = ground.open();
    let secret = ground.path().join("secret");
    fs::write(&secret, "the secret").unwrap();
    let sandbox = sandboxes.enter(&session("a")).await.unwrap();
    let neighbour = sandboxes.enter(&session("b")).await.unwrap();
    fs::write(neighbour.workspace().join("note"), "of a neighbour").unwrap();
    let read = ran(&*sandbox, &format!("cat {}", secret.display())).await;
    if !has_walls(&sandboxes) {
        // The sandbox reports that it has no walls, and the command can read the file.
        assert_eq!(read.stdout, "the secret");
        return;
    }
    assert_ne!(read.exit, Exit::Code(0), "{read:?}");
    let note = neighbour.workspace().join("note");
    let refused = [
        format!("cat {}", note.display()),
        format!("ls {}", ground.root().display()),
        "ls /home".to_owned(),
        "ls /root".to_owned(),
        "cat /etc/passwd".to_owned(),
        "cat /etc/shadow".to_owned(),
        "touch /usr/mine".to_owned(),
        "touch /bin/mine".to_owned(),
        "ln -s / up; cat up/etc/shadow".to_owned(),
        "mount -t tmpfs none /usr".to_owned(),
        "ls /sys/kernel".to_owned(),
    ];
    for line in refused {
        let ran = ran(&*sandbox, &line).await;
        assert_ne!(ran.exit, Exit::Code(0), "{line}: {ran:?}");
    }
    assert_eq!(
        prints(&*sandbox, "id -u; hostname; pwd; echo $HOME").await,
        "1000\nsandbox\n/workspace\n/workspace"
    );
    let environment = prints(&*sandbox, "env").await;
    assert!(environment.contains("TERM=dumb") && !environment.contains("CARGO"), "{environment}");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_reach_no_network_unless_it_was_asked_for() {
    let ground = Ground::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!(":{:04X} ", listener.local_addr().unwrap().port());
    for network in [false, true] {
        let sandboxes = LocalSandboxes::open(&ground.options().network(network)).unwrap();
        let key = session(if network { "with" } else { "without" });
        let sandbox = sandboxes.enter(&key).await.unwrap();
        let listening = prints(&*sandbox, "cat /proc/net/tcp").await;
        let cut_off = has_walls(&sandboxes) && !network;
        assert_eq!(listening.contains(&port), !cut_off, "{listening}");
        if cut_off {
            let cards = prints(&*sandbox, "cat /proc/net/dev").await;
            assert!(cards.lines().skip(2).all(|card| card.trim_start().starts_with("lo:")), "{cards}");
        }
        let says = if network { "with network" } else { "no network" };
        assert!(!has_walls(&sandboxes) || sandboxes.describe() == format!("sandbox: bubblewrap, {says}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_see_no_process_outside() {
    let ground = Ground::new();
    let sandboxes = ground.open();
    let sandbox = sandboxes.enter(&session("a")).await.unwrap();
    let seen = prints(&*sandbox, "for one in /proc/[0-9]*; do tr '\\0' ' ' <$one/cmdline; echo; done").await;
    let own = std::env::current_exe().unwrap();
    let own = own.file_name().unwrap().to_string_lossy();
    assert_eq!(seen.contains(&*own), !has_walls(&sandboxes), "{seen}");
    let ours = std::process::id();
    let killed = ran(&*sandbox, &format!("kill -0 {ours}")).await;
    // Behind walls, this number may belong to the command itself, but never to the test.
    assert!(!has_walls(&sandboxes) || ours < 100 || killed.exit != Exit::Code(0), "{killed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_is_said_so_with_walls_and_without() {
    let ground = Ground::new();
    for (walls, id) in [(WallsPolicy::Preferred, "with"), (WallsPolicy::Off, "without")] {
        let sandboxes = LocalSandboxes::open(&ground.options().walls(walls)).unwrap();
        let sandbox = sandboxes.enter(&session(id)).await.unwrap();
        let job = |program: &str, folder: &str| Job {
            program: program.to_owned(),
            args: vec!["-c".to_owned(), "pwd".to_owned()],
            folder: folder.to_owned(),
            ..Job::shell("")
        };
        let missing = sandbox.run(job("no-such-program", "")).await.unwrap_err().to_string();
        assert!(missing.starts_with("no-such-program: could not be started: "), "{missing}");
        let outside = sandbox.run(job("/bin/sh", "../..")).await.unwrap_err().to_string();
        assert!(outside.contains("`..`"), "{outside}");
        fs::create_dir(sandbox.workspace().join("deep")).unwrap();
        let inside = sandbox.run(job("/bin/sh", "deep")).await.unwrap();
        assert!(inside.stdout.trim_end().ends_with("/deep"), "{inside:?}");
    }
}

#[test]
fn walls_that_are_required_are_had_or_refused_and_a_plain_folder_says_that_it_is_one() {
    let ground = Ground::new();
    let missing = ground.path().join("no-bubblewrap");
    let forbidden = ground.stand_in("echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
    for (program, why) in [(missing, "No such file"), (forbidden, "No permissions to create new namespace")] {
        let options = |walls| ground.options().walls(walls).bubblewrap(program.clone());
        let refused = LocalSandboxes::open(&options(WallsPolicy::Required)).err().unwrap();
        assert!(matches!(&refused, SandboxError::NoWalls(said) if said.contains(why)), "{refused}");
        let plain = LocalSandboxes::open(&options(WallsPolicy::Preferred)).unwrap();
        assert!(
            matches!(plain.walls(), Walls::PlainFolder { why: said } if said.contains(why)),
            "{}",
            plain.describe()
        );
    }
    let off = LocalSandboxes::open(&ground.options().walls(WallsPolicy::Off)).unwrap();
    assert_eq!(off.describe(), "sandbox: plain folder, no walls (walls are off)");
    // The open succeeds only on a machine where bubblewrap works.
    let required = ground.options().walls(WallsPolicy::Required);
    assert_eq!(LocalSandboxes::open(&required).is_ok(), has_walls(&ground.open()));
}

/// Copies a program and the libraries that it needs.
fn copy_with_libraries(program: &str, image: &Path) {
    let needed = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(needed.stdout).unwrap();
    let libraries = text.split_whitespace().filter(|word| word.starts_with('/'));
    for place in libraries.chain([program]) {
        let copy = image.join(place.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(place, copy).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_commands_see_the_image_that_was_named_and_not_this_machine() {
    let ground = Ground::new();
    let image = ground.path().join("image");
    copy_with_libraries("/bin/sh", &image);
    fs::create_dir_all(image.join("opt")).unwrap();
    fs::write(image.join("opt/version"), "mine").unwrap();
    let options = ground.options().image(Some(image.clone()));
    let off = options.clone().walls(WallsPolicy::Off);
    assert!(LocalSandboxes::open(&off).is_err(), "this machine is not the image");
    let opened = LocalSandboxes::open(&options);
    assert_eq!(opened.is_ok(), has_walls(&ground.open()));
    let Ok(sandboxes) = opened else { return };
    let sandbox = sandboxes.enter(&session("a")).await.unwrap();
    let line = "read word </opt/version; echo $word; echo x >note; test -e /usr/bin/env || echo no more; echo y >/opt/x";
    let ran = ran(&*sandbox, line).await;
    assert_eq!(ran.stdout, "mine\nno more\n", "{ran:?}");
    assert!(sandbox.workspace().join("note").exists() && !image.join("opt/x").exists());
}
