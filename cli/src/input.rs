//! Text that a command is given: as a word, on standard input, in a file.

use std::fs::File;
use std::io::{IsTerminal, Read};

use crate::exit::Failure;
use crate::print::note;

/// The most that is read from standard input or from a file.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The word itself, or standard input for `-`.
pub(crate) fn text_of(word: &str) -> Result<String, Failure> {
    match word {
        "-" => read("standard input", std::io::stdin().lock()),
        word => Ok(word.to_owned()),
    }
}

/// The word itself, standard input for `-`, or a file for `@FILE`.
pub(crate) fn text_or_file(word: &str) -> Result<String, Failure> {
    let Some(path) = word.strip_prefix('@') else { return text_of(word) };
    let file = File::open(path).map_err(|error| Failure::wrong_use(format!("{path}: {error}")))?;
    read(path, file)
}

/// The message of the command line; from standard input if it is left out and comes from no terminal.
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

fn read(name: &str, from: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    match from.take(INPUT_BYTES_MAX + 1).read_to_string(&mut text) {
        Ok(bytes) if bytes as u64 > INPUT_BYTES_MAX => {
            Err(Failure::wrong_use(format!("{name}: more than {INPUT_BYTES_MAX} bytes")))
        }
        Ok(_) => Ok(text.trim_end().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(Failure::wrong_use(format!("{name}: is no UTF-8 text")))
        }
        Err(error) => Err(Failure::failed(format!("{name}: {error}"))),
    }
}
