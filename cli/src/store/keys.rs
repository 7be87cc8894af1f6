//! The keys of an encrypted store, in a file that `HOLDOVER_KEYS` names.
//!
//! The content of the file is never shown: errors name the file, and the line or the field.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdover_core::payload::Encoding;
use holdover_core::store::StateStore;
use holdover_store_layers::{Compressed, Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};
use rustix::fs::Uid;
use rustix::process::geteuid;
use toml::{Table, Value};

use crate::exit::Failure;

/// The environment variable that names the file.
pub(crate) const KEYS: &str = "HOLDOVER_KEYS";

/// The access rights that the file must not grant. The group may read it, but not write it; others have no rights.
const REFUSED_MODE: u32 = 0o027;

/// The codec for the payloads of a store, with its keys.
#[derive(Default)]
pub(crate) struct Keys {
    /// The codec. Without one, payloads are stored unchanged.
    codec: Option<Arc<dyn PayloadCodec>>,
    ids: BTreeSet<u32>,
    write: Option<u32>,
}

impl Keys {
    /// Reads the keys from the file that the environment variable names. Without the variable, there are no keys.
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        match std::env::var_os(KEYS).filter(|file: &OsString| !file.is_empty()) {
            Some(file) => Self::of_file(&PathBuf::from(file)),
            None => Ok(Self::default()),
        }
    }

    fn of_file(file: &Path) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::wrong_use(format!("{KEYS}: {}: {why}", file.display()));
        let mut text = String::new();
        let mut open = File::open(file).map_err(|error| refuse(error.to_string()))?;
        // The rights are those of the open file, even if its path names another file by now.
        let found = open.metadata().map_err(|error| refuse(error.to_string()))?;
        check_rights(found.uid(), geteuid().as_raw(), found.mode()).map_err(refuse)?;
        open.read_to_string(&mut text).map_err(|error| refuse(error.to_string()))?;
        Self::read(&text).map_err(refuse)
    }

    fn read(text: &str) -> Result<Self, String> {
        // The parser's message may quote the line, and with it a key.
        let table: Table = toml::from_str(text).map_err(|error| match error.span() {
            Some(span) => format!("line {}: it is no TOML", line_of(text, span.start)),
            None => "it is no TOML".to_owned(),
        })?;
        let (mut write, mut compressed, mut plain, mut keys) = (None, false, false, Vec::new());
        for (field, value) in &table {
            match (field.as_str(), value) {
                ("write", Value::Integer(id)) => {
                    write = Some(u32::try_from(*id).map_err(|_| "write: it is no name of a key")?);
                }
                ("write", _) => return Err("write: the name of a key is a number".to_owned()),
                ("compressed", Value::Boolean(is)) => compressed = *is,
                ("plain", Value::Boolean(is)) => plain = *is,
                ("compressed" | "plain", _) => return Err(format!("{field}: is true or false")),
                ("keys", Value::Table(named)) => {
                    keys = named.iter().map(|(id, key)| key_of(id, key)).collect::<Result<_, _>>()?;
                }
                ("keys", _) => return Err("keys: is a table of keys by their names".to_owned()),
                (_, _) => {
                    return Err("there is a field that is none of write, compressed, plain, keys".to_owned());
                }
            }
        }
        let ids: BTreeSet<u32> = keys.iter().map(|(id, _)| id.0).collect();
        let codec: Arc<dyn PayloadCodec> = match (write, compressed) {
            (None, _) if !keys.is_empty() => return Err("write: it names the key to write with".to_owned()),
            (None, true) => Arc::new(Compressed::new()),
            (None, false) => return Err("keys: there are none".to_owned()),
            (Some(active), compressed) => {
                let ring = Keyring::new(KeyId(active), keys).map_err(|error| error.to_string())?;
                let encrypted = Encrypted::new(ring);
                if compressed { Arc::new(Compressed::new().then(encrypted)) } else { Arc::new(encrypted) }
            }
        };
        let codec = if plain { Arc::new(codec.or_plain()) } else { codec };
        Ok(Self { codec: Some(codec), ids, write })
    }

    /// Returns true if the file has the key with this id.
    pub(crate) fn has(&self, key: u32) -> bool {
        self.ids.contains(&key)
    }

    /// Returns true if payloads are written with this key.
    pub(crate) fn writes_with(&self, key: u32) -> bool {
        self.write == Some(key)
    }

    /// Returns the ids of the keys in the file.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.ids.iter().copied()
    }

    /// Returns true if payloads with this encoding can be decoded.
    pub(crate) fn decode(&self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Compressed => self.codec.is_some(),
            Encoding::Encrypted { key } => self.has(key),
        }
    }

    /// Wraps `store` with the codec for its payloads.
    pub(crate) fn around(&self, store: Arc<dyn StateStore>) -> Arc<dyn StateStore> {
        match &self.codec {
            Some(codec) => Arc::new(Arc::clone(codec).around::<Arc<dyn StateStore>>(Arc::new(store))),
            None => store,
        }
    }
}

/// Fails for a file that another user could have written, or that others may read.
fn check_rights(owner: u32, user: u32, mode: u32) -> Result<(), String> {
    if owner != user && owner != Uid::ROOT.as_raw() {
        return Err(format!("user {owner} owns it; its owner must be you (user {user}) or root"));
    }
    if mode & REFUSED_MODE != 0 {
        let mode = mode & 0o777;
        return Err(format!(
            "others may read or write it (mode {mode:03o}): chmod 600, or 640 if its group is to read it"
        ));
    }
    Ok(())
}

fn key_of(id: &str, key: &Value) -> Result<(KeyId, EncryptionKey), String> {
    let name = id.parse().map_err(|_| "keys: the name of a key is a number".to_owned())?;
    let digits = key.as_str().ok_or_else(|| format!("keys: {name}: is no text"))?;
    let key = digits.parse::<EncryptionKey>().map_err(|error| format!("keys: {name}: {error}"))?;
    Ok((KeyId(name), key))
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digit: char) -> String {
        digit.to_string().repeat(2 * EncryptionKey::BYTES)
    }

    #[test]
    fn a_file_holds_keys_by_name_and_says_with_which_to_write() {
        let text = format!(
            "write = 2\ncompressed = true\nplain = true\n[keys]\n1 = '{}'\n2 = '{}'\n",
            key('a'),
            key('B')
        );
        let keys = Keys::read(&text).unwrap();
        assert_eq!(keys.ids().collect::<Vec<_>>(), [1, 2]);
        assert!(keys.has(1) && !keys.has(3) && keys.writes_with(2) && !keys.writes_with(1));
        assert!(Keys::read("compressed = true").unwrap().codec.is_some());
    }

    #[test]
    fn a_file_belongs_to_its_user_or_to_root_and_others_have_no_part_in_it() {
        for (owner, mode) in [(7, 0o600), (7, 0o640), (7, 0o400), (0, 0o100_440), (7, 0o750)] {
            assert_eq!(check_rights(owner, 7, mode), Ok(()), "{owner} {mode:o}");
        }
        for (owner, user, mode, says) in [
            (8, 7, 0o600, "user 8 owns it"),
            (8, 0, 0o600, "user 8 owns it"),
            (7, 7, 0o644, "others may read or write it (mode 644)"),
            (0, 7, 0o100_660, "others may read or write it (mode 660)"),
            (7, 7, 0o601, "others may"),
        ] {
            let error = check_rights(owner, user, mode).unwrap_err();
            assert!(error.starts_with(says), "{says}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_wrong_is_named_by_its_place_and_never_by_what_it_holds() {
        let secret = key('d');
        for (text, says) in [
            (format!("write = 1\n[keys]\n1 = {secret}"), "line 3: it is no TOML"),
            (format!("write = '{secret}'"), "write: the name of a key is a number"),
            (format!("{secret} = 1"), "there is a field"),
            (format!("write = 1\n[keys]\n1 = '{secret}0'"), "keys: 1: a key is 128 hexadecimal digits"),
            (format!("write = 1\n[keys]\n{secret} = 'x'"), "keys: the name of a key is a number"),
            (format!("write = 1\n[keys]\n1 = ['{secret}']"), "keys: 1: is no text"),
            (format!("[keys]\n1 = '{secret}'"), "write: it names"),
            (format!("write = 2\n[keys]\n1 = '{secret}'"), "key 2 is to be written with"),
            (String::new(), "keys: there are none"),
        ] {
            let error = Keys::read(&text).map(drop).unwrap_err();
            assert!(error.starts_with(says), "{says}: {error}");
            assert!(!error.contains("ddd") && !error.contains('\n'), "{error}");
        }
    }
}
