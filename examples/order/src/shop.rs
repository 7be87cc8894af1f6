//! The services around the shop, as files: a bank that knows keys, and a carrier that does not. Each keeps a line for all that
//! it has done, so that one sees what happened how often.

use std::fs::{OpenOptions, read_to_string};
use std::io::{Error, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::flow::Parcel;

/// A file of lines.
struct Lines(Mutex<PathBuf>);

impl Lines {
    fn in_folder(folder: &Path, name: &str) -> Self {
        Self(Mutex::new(folder.join(name)))
    }

    /// Adds a line, unless `is_there` finds it among those that are there.
    fn add(&self, line: &str, is_there: impl Fn(&str) -> bool) -> Result<(), Error> {
        let path = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = if path.exists() { read_to_string(&*path)? } else { String::new() };
        if before.lines().any(is_there) {
            return Ok(());
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&*path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    }

    fn has(&self, wanted: impl Fn(&str) -> bool) -> Result<bool, Error> {
        let path = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(path.exists() && read_to_string(&*path)?.lines().any(wanted))
    }
}

/// A bank. It charges once for each key.
pub struct Bank(Lines);

impl Bank {
    /// Opens the bank, whose lines are in the file `bank` of the folder.
    pub fn open(folder: &Path) -> Self {
        Self(Lines::in_folder(folder, "bank"))
    }

    /// Charges a card.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn charge(&self, key: &str, order: i64, cents: i64) -> Result<String, Error> {
        let line = format!("charge {order} {cents} {key}");
        self.0.add(&line, |before| before == line)?;
        println!("charged order {order}");
        Ok(format!("{cents} cents for order {order}"))
    }

    /// Pays back what was charged for an order, once.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn refund(&self, order: i64) -> Result<(), Error> {
        if self.0.has(|line| line.starts_with(&format!("charge {order} ")))? {
            let line = format!("refund {order}");
            self.0.add(&line, |before| before == line)?;
        }
        println!("refunded order {order}");
        Ok(())
    }
}

/// A carrier. It knows no keys for labels.
pub struct Carrier(Lines);

impl Carrier {
    /// Opens the carrier, whose lines are in the file `carrier` of the folder.
    pub fn open(folder: &Path) -> Self {
        Self(Lines::in_folder(folder, "carrier"))
    }

    /// Packs a parcel, once for each key.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn pack(&self, key: &str, parcel: &Parcel) -> Result<(), Error> {
        let line = format!("packed {}-{} {key}", parcel.order, parcel.number);
        self.0.add(&line, |before| before == line)?;
        println!("packed parcel {}-{}", parcel.order, parcel.number);
        Ok(())
    }

    /// Buys a label.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn label(&self, parcel: &Parcel) -> Result<String, Error> {
        let label = format!("label {}-{} of {} pieces", parcel.order, parcel.number, parcel.pieces);
        self.0.add(&label, |_| false)?;
        println!("bought {label}");
        Ok(label)
    }
}
