//! The text input of a command: a word, standard input, or a file.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use holdover_core::image::{IMAGE_BYTES_MAX, Image, Images};

use crate::exit::Failure;
use crate::print::note;

/// The maximum number of bytes read from standard input or a file.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The maximum number of bytes read from a hand-written file.
const SMALL_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the word itself. For `-`, returns standard input without the whitespace at its end.
pub(crate) fn text_of(word: &str) -> Result<String, Failure> {
    match word {
        "-" => read("standard input", std::io::stdin().lock()),
        word => Ok(word.to_owned()),
    }
}

/// Returns the word itself. For `-`, returns standard input, and for `@FILE` the content of the file, both without the
/// whitespace at the end.
pub(crate) fn text_or_file(word: &str) -> Result<String, Failure> {
    let Some(path) = word.strip_prefix('@') else { return text_of(word) };
    let file = File::open(path).map_err(|error| Failure::wrong_use(format!("{path}: {error}")))?;
    read(path, file)
}

/// Returns the message of the command line. If it is left out, reads standard input; on a terminal, asks for the
/// message first. Fails if the message is empty.
pub(crate) fn message_of(word: Option<&str>) -> Result<String, Failure> {
    let text = match word {
        Some(word) => text_of(word)?,
        None if std::io::stdin().is_terminal() => {
            note("What do you want to say? (end with Ctrl-D)");
            text_of("-")?
        }
        None => text_of("-")?,
    };
    if text.trim().is_empty() {
        return Err(Failure::wrong_use("the message is empty: give a MESSAGE, or - and standard input"));
    }
    Ok(text)
}

/// Reads the pictures of these files.
pub(crate) fn images_of(paths: &[PathBuf]) -> Result<Images, Failure> {
    let image_of = |path: &PathBuf| -> Result<Image, Failure> {
        let refuse = |why: String| Failure::wrong_use(format!("{}: {why}", path.display()));
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        // One additional byte is read, so that a file that is too large is recognised.
        file.take(IMAGE_BYTES_MAX as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| refuse(error.to_string()))?;
        if bytes.len() > IMAGE_BYTES_MAX {
            return Err(refuse(format!("a picture has at most {IMAGE_BYTES_MAX} bytes")));
        }
        Image::new(&bytes).map_err(|why| refuse(why.to_string()))
    };
    let images = paths.iter().map(image_of).collect::<Result<Vec<_>, _>>()?;
    Images::of(images).map_err(|why| Failure::wrong_use(format!("--image: {why}")))
}

/// Reads the text of a hand-written file: an agent file, or a file that it names. The error does not name the file.
pub(crate) fn small_file(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    match bounded(file, SMALL_FILE_BYTES_MAX) {
        Ok(text) => Ok(text),
        Err(NoText::Long) => Err(format!("more than {SMALL_FILE_BYTES_MAX} bytes")),
        Err(NoText::Bytes) => Err("is no UTF-8 text".to_owned()),
        Err(NoText::Unread(error)) => Err(error.to_string()),
    }
}

fn read(name: &str, from: impl Read) -> Result<String, Failure> {
    match bounded(from, INPUT_BYTES_MAX) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(NoText::Long) => Err(Failure::wrong_use(format!("{name}: more than {INPUT_BYTES_MAX} bytes"))),
        Err(NoText::Bytes) => Err(Failure::wrong_use(format!("{name}: is no UTF-8 text"))),
        Err(NoText::Unread(error)) => Err(Failure::failed(format!("{name}: {error}"))),
    }
}

/// The reason why an input is not text.
enum NoText {
    Long,
    Bytes,
    Unread(std::io::Error),
}

/// Reads everything. Fails if there are more than `most` bytes, without reading further.
fn bounded(from: impl Read, most: u64) -> Result<String, NoText> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes).map_err(NoText::Unread)?;
    if bytes.len() as u64 > most {
        return Err(NoText::Long);
    }
    String::from_utf8(bytes).map_err(|_| NoText::Bytes)
}
