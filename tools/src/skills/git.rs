//! Files of a commit, read with the program `git`.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::SkillErrorKind;
use super::bundle::{FILES_BYTES_MAX, FILES_MAX, Files, check_bounds};
use super::source::normal;

/// The time limit for one command.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum length of a list of files, in bytes.
const LIST_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// The maximum length of a line before each file's content.
const LINE_BYTES_MAX: u64 = 128;
/// The maximum length of an error that is shown, in bytes.
const ERROR_BYTES_MAX: u64 = 4 * 1024;

/// A reason why a commit cannot be read.
type Wrong = (SkillErrorKind, String);

/// A file in the list of a commit.
struct Listed {
    path: String,
    object: String,
    bytes: u64,
}

/// Returns the files beneath `folder` at `commit`, by their paths relative to it.
///
/// Reads objects only, with `git ls-tree` and `git cat-file`: no work tree, no hook, no filter, no replacement object,
/// and nothing from a remote. Fails if an entry is neither a file nor a folder, or if a bound is exceeded.
pub(super) async fn read(repository: &Path, commit: &str, folder: &str) -> Result<Files, Wrong> {
    let tree = format!("{commit}^{{commit}}:{folder}");
    let list =
        git(repository, ["ls-tree", "-r", "-z", "-l", "--full-tree", &tree], b"", LIST_BYTES_MAX).await?;
    let invalid = |why: String| (SkillErrorKind::Invalid, why);
    let list =
        String::from_utf8(list).map_err(|_| invalid("a path in the commit is not UTF-8".to_owned()))?;
    let mut listed = Vec::new();
    let mut size = 0_u64;
    for line in list.split_terminator('\0') {
        let one = entry(line).map_err(invalid)?;
        size = size.saturating_add(one.bytes);
        check_bounds(listed.len() + 1, size).map_err(invalid)?;
        listed.push(one);
    }
    let asked: String = listed.iter().map(|one| format!("{}\n", one.object)).collect();
    let most = size.saturating_add(listed.len() as u64 * LINE_BYTES_MAX);
    let content = git(repository, ["cat-file", "--batch"], asked.as_bytes(), most).await?;
    split(&listed, &content).ok_or_else(|| {
        (SkillErrorKind::Unreadable, "git cat-file: its output is not what its documentation says".to_owned())
    })
}

/// Reads a line of `git ls-tree -l`: mode, type, object, size, tab, path.
fn entry(line: &str) -> Result<Listed, String> {
    let unreadable = || format!("git ls-tree: cannot read {line:?}");
    let (head, path) = line.split_once('\t').ok_or_else(unreadable)?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let [mode, kind, object, bytes] = words[..] else { return Err(unreadable()) };
    if kind != "blob" || !mode.starts_with("100") {
        return Err(format!("the commit's entry {path:?} is neither a file nor a folder"));
    }
    let path = normal(path).ok_or_else(|| format!("the commit has an entry {path:?}"))?;
    Ok(Listed { path, object: object.to_owned(), bytes: bytes.parse().map_err(|_| unreadable())? })
}

/// Splits the output of `git cat-file --batch` into the files that were asked for.
fn split(listed: &[Listed], mut content: &[u8]) -> Option<Files> {
    let mut files = Files::new();
    for Listed { path, object, bytes } in listed {
        let head = format!("{object} blob {bytes}\n");
        content = content.strip_prefix(head.as_bytes())?;
        let (file, rest) = content.split_at_checked(usize::try_from(*bytes).ok()?)?;
        content = rest.strip_prefix(b"\n")?;
        files.insert(path.clone(), file.to_vec());
    }
    content.is_empty().then_some(files)
}

/// Runs `git` in a repository with `input`, and returns its output of at most `most` bytes.
async fn git(
    repository: &Path,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    input: &[u8],
    most: u64,
) -> Result<Vec<u8>, Wrong> {
    let mut command = Command::new("git");
    command.args(["--no-pager", "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-C"]);
    command.arg(repository).args(words);
    // Git sets such variables for hooks; they would name another repository.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_NO_REPLACE_OBJECTS", "1");
    // No protocol is allowed, whatever the repository's configuration says: older versions fetch missing objects from a
    // remote all the same, and the address of a remote can name a program.
    command.env("GIT_ALLOW_PROTOCOL", "");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let unreachable = |why: String| (SkillErrorKind::Unreachable, why);
    let lost = |error: io::Error| unreachable(format!("git: {error}"));
    let run = async {
        let mut child = command.spawn()?;
        let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(stdin) = &mut stdin {
                // A program that has failed reads no more; its error is reported instead.
                let _ = stdin.write_all(input).await;
            }
            drop(stdin.take());
        };
        let ((), output, error) = tokio::join!(write, up_to(stdout, most), up_to(stderr, ERROR_BYTES_MAX));
        let (output, error) = (output?, error?);
        if output.len() as u64 > most {
            child.start_kill()?;
        }
        Ok::<(ExitStatus, Vec<u8>, Vec<u8>), io::Error>((child.wait().await?, output, error))
    };
    let ended = tokio::time::timeout(GIT_TIMEOUT, run).await;
    let (status, output, error) = ended
        .map_err(|_| unreachable(format!("git: did not end within {} s", GIT_TIMEOUT.as_secs())))?
        .map_err(lost)?;
    if output.len() as u64 > most {
        let why = format!("has more than {FILES_MAX} files or {FILES_BYTES_MAX} bytes");
        return Err((SkillErrorKind::Invalid, why));
    }
    if !status.success() {
        let error = String::from_utf8_lossy(&error);
        let line = error.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        return Err(unreachable(format!("git: {}", line.trim_start_matches("fatal: "))));
    }
    Ok(output)
}

/// Reads at most one byte more than `most`.
async fn up_to(from: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(most.saturating_add(1)).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
