//! Finds the files that a message mentions, and reads their digests and sizes.
//!
//! Requirements: B09, G02.

use std::collections::BTreeSet;
use std::io::{self, Read};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::OpenOptions;
use holdover_core::message::{MENTIONS_MAX, Mention, Mentions, NotRead};
use holdover_core::payload::Digest;
use holdover_core::tool::ToolError;
use sha2::{Digest as _, Sha256};

use super::path::RelativePath;
use super::root::{Root, leads_out};
use crate::blocking::{Dropped, blocking};

/// The maximum size of a mentioned file whose digest is read, in bytes.
pub const MENTIONED_FILE_BYTES_MAX: u64 = 64 << 20;

/// The maximum number of bytes that are read for the mentions of one message. A file that would exceed it counts as too
/// large.
pub const MENTIONED_BYTES_MAX: u64 = 256 << 20;

/// The size of the pieces in which a file is read.
const PIECE_BYTES: usize = 64 << 10;

/// The most names in a text that are tried as paths. Only some of the names in a pasted text are files.
const TRIES_MAX: usize = 1_024;

/// The most names that are tried for one word, each with one character less of the punctuation at the end of the word.
const ENDINGS_MAX: usize = 8;

impl Root {
    /// Returns the files beneath this folder that `text` mentions, with their present digests and sizes, in the order
    /// of the text. Only the first [`MENTIONS_MAX`] count, and only the first 1,024 names in a text are tried.
    ///
    /// A mention is `@src/main.rs` or, for any name, `@"with space.txt"`. It does not begin within a word, so an e-mail
    /// address is not a mention. Without quotes, it ends before white space, before one of ``" ' ` < > | , ; : * ? @``, and
    /// before final punctuation that is not part of a file's name. The name of a file that does not exist is a mention only
    /// in quotes, or if the first folder of its path exists. Absolute paths and paths with `..` are not mentions.
    ///
    /// Files of more than [`MENTIONED_FILE_BYTES_MAX`] bytes, files beyond [`MENTIONED_BYTES_MAX`] bytes in total,
    /// folders, and files that cannot be read have no digest; the mention names the reason. Reads on a thread for
    /// blocking work.
    ///
    /// # Errors
    /// Fails if the folder was deleted after it was opened.
    pub async fn mentions_in(&self, text: impl Into<String>) -> Result<Mentions, ToolError> {
        let (root, text) = (self.clone(), text.into());
        blocking(move |dropped| Look::at(&root, dropped)?.mentions(&text)).await
    }

    /// Returns a mention of the file at `path`, relative to this folder, with its present digest and size. If it cannot
    /// be read, the mention names the reason.
    ///
    /// # Errors
    /// Fails if the path is absolute, contains `..` or a control character, names the folder itself, or is longer than
    /// a mention allows, and if the folder was deleted after it was opened.
    pub async fn mention(&self, path: impl Into<String>) -> Result<Mention, ToolError> {
        let (root, path) = (self.clone(), path.into());
        let look = move |dropped: &Dropped| {
            let path = RelativePath::parse_file(&path)?;
            Look::at(&root, dropped)?.mention(&path)
        };
        blocking(look).await
    }
}

/// A look at the files of a root for one message.
struct Look<'a> {
    root: &'a Root,
    dropped: &'a Dropped,
    /// The number of bytes that may still be read.
    left: u64,
}

impl<'a> Look<'a> {
    fn at(root: &'a Root, dropped: &'a Dropped) -> Result<Self, ToolError> {
        root.check_is_there()?;
        Ok(Self { root, dropped, left: MENTIONED_BYTES_MAX })
    }

    fn mentions(&mut self, text: &str) -> Result<Mentions, ToolError> {
        let (mut found, mut paths) = (Vec::new(), BTreeSet::new());
        for named in names(text) {
            if let Some(path) = self.path_of(&named)
                && paths.insert(path.clone())
            {
                found.push(self.mention(&path)?);
            }
            if found.len() == MENTIONS_MAX {
                break;
            }
        }
        Mentions::of(found).map_err(|why| ToolError::Failed(why.to_string()))
    }

    /// Returns the path that a name in a text means, or `None` if the name is no mention.
    fn path_of(&self, named: &Named<'_>) -> Option<RelativePath> {
        let valid = |text: &str| {
            let path = RelativePath::parse_file(text).ok()?;
            Mention::not_read(path.to_string(), NotRead::Missing).is_ok().then_some(path)
        };
        let is_there = |path: &RelativePath| match self.root.dir().metadata(path.as_path()) {
            Ok(_) => true,
            Err(error) => !is_missing(&error),
        };
        match named {
            Named::Quoted(text) => valid(text),
            Named::Plain(text) => {
                if let Some(path) = endings(text).filter_map(valid).find(is_there) {
                    return Some(path);
                }
                let path = valid(endings(text).last()?)?;
                let first = path.to_string().split_once('/')?.0.to_owned();
                self.root.dir().metadata(first).is_ok_and(|first| first.is_dir()).then_some(path)
            }
        }
    }

    fn mention(&mut self, path: &RelativePath) -> Result<Mention, ToolError> {
        let mention = match self.read(path)? {
            Ok((sha256, bytes)) => Mention::file(path.to_string(), sha256, bytes),
            Err(why) => Mention::not_read(path.to_string(), why),
        };
        mention.map_err(|why| ToolError::Failed(why.to_string()))
    }

    /// Returns the digest and the size of a file, or the reason why it has none. Fails only if the call was dropped.
    fn read(&mut self, path: &RelativePath) -> Result<Result<(Digest, u64), NotRead>, ToolError> {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let open = || {
            let file = self.root.dir().open_with(path.as_path(), &options)?;
            let metadata = file.metadata()?;
            io::Result::Ok((file, metadata))
        };
        let (mut file, metadata) = match open() {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(self.why_not_opened(path, &error))),
        };
        let most = self.left.min(MENTIONED_FILE_BYTES_MAX);
        if metadata.is_dir() {
            return Ok(Err(NotRead::Folder));
        } else if !metadata.is_file() {
            return Ok(Err(NotRead::NoFile));
        } else if metadata.len() > most {
            return Ok(Err(NotRead::TooLarge));
        }
        let (mut sha256, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; PIECE_BYTES]);
        loop {
            self.dropped.check()?;
            let count = match file.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Ok(Err(NotRead::Unreadable)),
            };
            bytes += count as u64;
            // The file grows while it is read.
            if bytes > most {
                return Ok(Err(NotRead::TooLarge));
            }
            sha256.update(&piece[..count]);
        }
        self.left -= bytes;
        Ok(Ok((Digest(sha256.finalize().into()), bytes)))
    }

    fn why_not_opened(&self, path: &RelativePath, error: &io::Error) -> NotRead {
        if leads_out(error) {
            return NotRead::Outside;
        } else if is_missing(error) {
            return NotRead::Missing;
        }
        // A socket cannot be opened.
        match self.root.dir().metadata(path.as_path()) {
            Ok(metadata) if metadata.is_dir() => NotRead::Folder,
            Ok(metadata) if !metadata.is_file() => NotRead::NoFile,
            Ok(_) | Err(_) => NotRead::Unreadable,
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

/// A name behind an `@`.
#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    /// The name in quotes.
    Quoted(&'a str),
    /// The word. Punctuation at its end may not belong to it.
    Plain(&'a str),
}

/// Returns the names in a text that may be mentions, at most [`TRIES_MAX`].
fn names(text: &str) -> Vec<Named<'_>> {
    let within_word = |before: char| before.is_ascii_alphanumeric() || "_.+-%/\\@".contains(before);
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>|,;:*?@".contains(c);
    let (mut names, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find('@').map(|found| from + found)
        && names.len() < TRIES_MAX
    {
        from = at + 1;
        if text[..at].chars().next_back().is_some_and(within_word) {
            continue;
        }
        let rest = &text[from..];
        if let Some(quoted) = rest.strip_prefix('"') {
            let line = quoted.lines().next().unwrap_or_default();
            if let Some((name, _)) = line.split_once('"') {
                from += name.len() + 2;
                names.push(Named::Quoted(name));
            }
            continue;
        }
        let name = &rest[..rest.find(ends).unwrap_or(rest.len())];
        if !name.is_empty() {
            names.push(Named::Plain(name));
        }
    }
    names
}

/// Returns the names that a word may stand for: the word, then the word without the last character of the punctuation at
/// its end, without the last two, and so on, up to [`ENDINGS_MAX`] names, and finally the word without this punctuation.
fn endings<'a>(word: &'a str) -> impl Iterator<Item = &'a str> {
    let is_name = |c: char| c.is_alphanumeric() || "_-/~+#$%&=".contains(c);
    let shorter = move |word: &&'a str| word.strip_suffix(|c: char| !is_name(c));
    let whole = word.trim_end_matches(|c: char| !is_name(c));
    std::iter::successors(Some(word), shorter)
        .take(ENDINGS_MAX)
        .chain([whole])
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::Fixture;

    fn fixture() -> Fixture {
        Fixture::new(&[
            ("README", "read me"),
            ("src/main.rs", "fn main() {}"),
            ("src/a.b.rs", ""),
            ("app/[id]/(group).tsx", "x"),
            ("with space.txt", "spaced"),
            ("ü/straße.md", "ß"),
        ])
    }

    async fn paths(fixture: &Fixture, text: &str) -> Vec<String> {
        let mentions = fixture.root.mentions_in(text).await.unwrap();
        mentions.iter().map(|mention| mention.path().to_owned()).collect()
    }

    #[tokio::test]
    async fn b09_files_are_found_in_a_text_with_their_digests_and_sizes() {
        let fixture = fixture();
        let text = "Compare @src/main.rs with @\"with space.txt\".";
        let mentions = fixture.root.mentions_in(text).await.unwrap();
        let file = |path: &str, content: &str| {
            Mention::file(path, Digest::of(content.as_bytes()), content.len() as u64).unwrap()
        };
        let both = [file("src/main.rs", "fn main() {}"), file("with space.txt", "spaced")];
        assert_eq!(mentions, Mentions::of(both).unwrap());
        assert_eq!(
            fixture.root.mention("./src//main.rs").await.unwrap(),
            file("src/main.rs", "fn main() {}")
        );
    }

    #[tokio::test]
    async fn b09_only_names_of_what_is_there_are_mentions_and_punctuation_is_no_part_of_them() {
        let fixture = fixture();
        for (text, expected) in [
            ("@README", &["README"][..]),
            ("(@README), `@src/main.rs`: see @src/main.rs's end", &["README", "src/main.rs"]),
            ("@src/main.rs:12 and @src/a.b.rs... @README?!", &["src/main.rs", "src/a.b.rs", "README"]),
            ("@app/[id]/(group).tsx).", &["app/[id]/(group).tsx"]),
            ("@README!!!!!!!!!!!!!!!!!!!! @!!!", &["README"]),
            (&format!("@{}", "x".repeat(300)), &[]),
            ("siehe @ü/straße.md。", &["ü/straße.md"]),
            ("@./src/../src/main.rs @../README @/etc/passwd @. @ @\"\" @\"never", &[]),
            ("@./src//main.rs", &["src/main.rs"]),
            ("@src/ and @src", &["src"]),
            ("ann@README me.x@src/main.rs a+b@README @@README", &[]),
            ("@alice, use @angular/core and @app.route", &[]),
            ("@src/mian.rs, @\"gone.txt\" and @README.", &["src/mian.rs", "gone.txt", "README"]),
            ("@README,@src/main.rs;@README", &["README", "src/main.rs"]),
            ("@\"a\nb\" @\"README\" @\"../x\"", &["README"]),
            ("@\"with @README.txt\"", &["with @README.txt"]),
        ] {
            assert_eq!(paths(&fixture, text).await, expected, "{text:?}");
        }
        let why = |mention: &Mention| mention.why_not_read();
        let mentions = fixture.root.mentions_in("@src/mian.rs @src").await.unwrap();
        let whys: Vec<_> = mentions.iter().map(why).collect();
        assert_eq!(whys, [Some(NotRead::Missing), Some(NotRead::Folder)]);
    }

    #[tokio::test]
    async fn b09_what_leads_out_is_no_file_or_is_too_large_has_no_digest() {
        let outside = Fixture::new(&[("secret.txt", "secret")]);
        let fixture = fixture();
        let here = fixture.folder.path();
        symlink(outside.folder.path().join("secret.txt"), here.join("link.txt")).unwrap();
        symlink(outside.folder.path(), here.join("linked")).unwrap();
        symlink("src/main.rs", here.join("inside.rs")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(here.join("socket")).unwrap();
        let large = std::fs::File::create(here.join("large")).unwrap();
        large.set_len(MENTIONED_FILE_BYTES_MAX + 1).unwrap();
        let text = "@link.txt @linked/secret.txt @inside.rs @socket @large";
        let mentions = fixture.root.mentions_in(text).await.unwrap();
        let found: Vec<_> = mentions
            .iter()
            .map(|mention| (mention.path(), mention.bytes(), mention.why_not_read()))
            .collect();
        assert_eq!(
            found,
            [
                ("link.txt", None, Some(NotRead::Outside)),
                ("linked/secret.txt", None, Some(NotRead::Outside)),
                ("inside.rs", Some(12), None),
                ("socket", None, Some(NotRead::NoFile)),
                ("large", None, Some(NotRead::TooLarge)),
            ]
        );
        for bad in ["../x", "/etc/passwd", ".", "a\nb", &"x".repeat(1025)] {
            let line = fixture.root.mention(bad).await.unwrap_err().to_string();
            assert!(!line.contains('\n') && line.contains("path"), "{line}");
        }
        let gone = Fixture::new(&[]);
        std::fs::remove_dir(gone.folder.path()).unwrap();
        let line = gone.root.mentions_in("@README").await.unwrap_err().to_string();
        assert!(line.ends_with("does not exist any more"), "{line}");
    }

    #[test]
    fn b09_the_bytes_that_are_read_for_a_message_are_bounded() {
        let fixture = fixture();
        let dropped = Dropped::default();
        let mut look = Look { root: &fixture.root, dropped: &dropped, left: 12 };
        let mentions = look.mentions("@README @src/main.rs @\"with space.txt\"").unwrap();
        let sizes: Vec<_> = mentions.iter().map(Mention::bytes).collect();
        assert_eq!(sizes, [Some(7), None, None], "the second has 12 bytes, and 5 are left");
        assert!(Look::at(&fixture.root, &Dropped::already()).unwrap().mentions("@README").is_err());
    }

    #[tokio::test]
    async fn b09_only_the_first_files_of_a_long_text_count() {
        let names: Vec<String> = (0..70).map(|at| format!("f{at}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let fixture = Fixture::new(&files);
        let text: String = names.iter().map(|name| format!("@{name} ")).collect();
        assert_eq!(paths(&fixture, &text).await, names[..MENTIONS_MAX]);
    }
}
