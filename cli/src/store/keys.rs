//! The keys of a store whose payloads are encrypted: a file that `HOLDOVER_KEYS` names.
//!
//! Nothing of its content is ever shown: an error names the file and the place in it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdover_core::payload::Encoding;
use holdover_core::store::StateStore;
use holdover_store_layers::{Compressed, Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};
use toml::{Table, Value};

use crate::exit::Failure;

/// The variable that names the file.
pub(crate) const KEYS: &str = "HOLDOVER_KEYS";

/// The file may be written by its owner alone, and read by nobody but its owner and its group.
const REFUSED_MODE: u32 = 0o027;

/// How the payloads of a store are kept, and the keys for it.
#[derive(Default)]
pub(crate) struct Keys {
    /// Without one, payloads are what the store has.
    codec: Option<Arc<dyn PayloadCodec>>,
    ids: BTreeSet<u32>,
    write: Option<u32>,
}

impl Keys {
    /// The keys of the file that the environment names; none if it names none.
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        match std::env::var_os(KEYS).filter(|file: &OsString| !file.is_empty()) {
            Some(file) => Self::of_file(&PathBuf::from(file)),
            None => Ok(Self::default()),
        }
    }

    fn of_file(file: &Path) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::wrong_use(format!("{KEYS}: {}: {why}", file.display()));
        let found = std::fs::metadata(file).map_err(|error| refuse(error.to_string()))?;
        let mode = found.permissions().mode() & 0o777;
        if mode & REFUSED_MODE != 0 {
            return Err(refuse(format!("others may read or write it (mode {mode:03o}): chmod 600")));
        }
        let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
        Self::read(&text).map_err(refuse)
    }

    fn read(text: &str) -> Result<Self, String> {
        // What the parser says may quote the line, and so a key.
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

    /// Whether the key of this name is here.
    pub(crate) fn has(&self, key: u32) -> bool {
        self.ids.contains(&key)
    }

    /// Whether payloads are written with the key of this name.
    pub(crate) fn writes_with(&self, key: u32) -> bool {
        self.write == Some(key)
    }

    /// The names of the keys that are here.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.ids.iter().copied()
    }

    /// Whether what is encoded so can be read here.
    pub(crate) fn decode(&self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Compressed => self.codec.is_some(),
            Encoding::Encrypted { key } => self.has(key),
        }
    }

    /// `store` with its payloads as they are kept there.
    pub(crate) fn around(&self, store: Arc<dyn StateStore>) -> Arc<dyn StateStore> {
        match &self.codec {
            Some(codec) => Arc::new(Arc::clone(codec).around::<Arc<dyn StateStore>>(Arc::new(store))),
            None => store,
        }
    }
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
