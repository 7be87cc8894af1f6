//! The files of a pinned source, in memory. They are never unpacked to the disk.

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use holdover_core::skill::SkillEntry;
use sha2::{Digest, Sha256};
use tar::Archive;

use super::front_matter::{self, Document};
use super::source::normal;
use super::{FILE, FILE_BYTES_MAX, SKILLS_MAX};

/// The maximum size of an archive, unpacked, in bytes.
const UNPACKED_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The maximum number of entries of an archive.
const ENTRIES_MAX: usize = 10_000;
/// The maximum size of the files of one source, in bytes.
pub(super) const FILES_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The maximum number of files of one source.
pub(super) const FILES_MAX: usize = 2_048;

/// Files by their paths, relative to the folder of the source.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The skills of a pinned source, with their files.
#[derive(Debug)]
pub(super) struct Bundle {
    files: Files,
    skills: Vec<Packed>,
}

/// A skill of a bundle.
#[derive(Debug)]
pub(super) struct Packed {
    /// The path of the skill's folder.
    folder: String,
    document: Document,
}

impl Bundle {
    /// Finds the skills among `files`, as [`Skills::open`](super::Skills::open) does in a folder. Files of no skill are
    /// dropped. Fails with a description of the mistake.
    pub(super) fn of(mut files: Files) -> Result<Self, String> {
        let mut folders: Vec<String> = if files.contains_key(FILE) {
            vec![String::new()]
        } else {
            let above = |path: &String| match path.split_once('/') {
                Some((folder, FILE)) => Some(folder.to_owned()),
                Some(_) | None => None,
            };
            files.keys().filter_map(above).collect()
        };
        folders.sort();
        if folders.is_empty() {
            return Err(format!("holds no {FILE}, and no folder that does"));
        }
        if folders.len() > SKILLS_MAX {
            return Err(format!("an agent has at most {SKILLS_MAX} skills"));
        }
        let mut skills: Vec<Packed> = Vec::new();
        for folder in folders {
            let path = beneath(&folder, FILE);
            let wrong = |why: String| format!("{path}: {why}");
            let bytes = files.get(&path).map(Vec::as_slice).unwrap_or_default();
            if bytes.len() as u64 > FILE_BYTES_MAX {
                return Err(wrong(format!("has more than {FILE_BYTES_MAX} bytes")));
            }
            let text = std::str::from_utf8(bytes).map_err(|_| wrong("is not UTF-8".to_owned()))?;
            let document = front_matter::parse(text).map_err(wrong)?;
            if let Some(other) = skills.iter().find(|other| other.document.name == document.name) {
                let (name, other) = (&document.name, &other.folder);
                return Err(format!("{path}: the skill in {other} is called {name:?}, too"));
            }
            skills.push(Packed { folder, document });
        }
        files.retain(|path, _| skills.iter().any(|skill| inside(&skill.folder, path).is_some()));
        Ok(Self { files, skills })
    }

    /// Returns the skills, without a namespace.
    pub(super) fn index(&self) -> Vec<SkillEntry> {
        let entry = |Packed { document, .. }: &Packed| SkillEntry {
            name: document.name.clone(),
            description: document.description.clone(),
        };
        self.skills.iter().map(entry).collect()
    }

    /// Returns the skill of this name.
    pub(super) fn skill(&self, name: &str) -> Option<&Packed> {
        self.skills.iter().find(|skill| skill.document.name == name)
    }

    /// Returns the bytes of a file of a skill. `file` is a path without `..`, relative to the skill's folder.
    pub(super) fn file(&self, skill: &Packed, file: &str) -> Option<&[u8]> {
        self.files.get(&beneath(&skill.folder, file)).map(Vec::as_slice)
    }

    /// Returns the SHA-256 of the paths and bytes of all files, as hexadecimal digits.
    pub(super) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (path, bytes) in &self.files {
            for part in [path.as_bytes(), bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        hex(&hash.finalize())
    }

    /// Returns the files as a plain tar archive.
    pub(super) fn packed(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, bytes) in &self.files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, bytes.as_slice())?;
        }
        archive.into_inner()
    }
}

impl Packed {
    pub(super) fn body(&self) -> &str {
        &self.document.body
    }
}

fn beneath(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

/// Returns the part of `path` that is relative to `folder`, if it lies inside.
fn inside<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

/// Returns bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|n| char::from_digit(n.into(), 16))
        .collect()
}

/// Returns the SHA-256 of `bytes` as hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A reader that fails once an archive has unpacked to more bytes than it may.
struct AtMost<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for AtMost<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(format!("unpacks to more than {UNPACKED_BYTES_MAX} bytes"))),
        }
        Ok(read)
    }
}

/// Returns the files beneath `folder` in an archive (tar, or tar with gzip), by their paths relative to it.
///
/// Fails with a description of the mistake: if the archive cannot be read; if an entry's path is absolute, or contains
/// `..`, a backslash or a control character; if an entry beneath `folder` is neither a file nor a folder; if two have the
/// same path; if `folder` is not empty and there is no file beneath it; or if a bound is exceeded.
pub(super) fn unpack(bytes: &[u8], folder: &str) -> Result<Files, String> {
    let reader: Box<dyn Read + '_> =
        if bytes.starts_with(&[0x1f, 0x8b]) { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
    let mut archive = Archive::new(AtMost { reader, left: UNPACKED_BYTES_MAX });
    let broken = |error: io::Error| format!("the archive cannot be read: {error}");
    let mut files = Files::new();
    let mut size = 0_u64;
    for (number, entry) in archive.entries().map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        if number == ENTRIES_MAX {
            return Err(format!("the archive has more than {ENTRIES_MAX} entries"));
        }
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        let written = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = normal(&written)
            .ok_or_else(|| format!("the archive has an entry outside of its folder: {written:?}"))?;
        let Some(path) = inside(folder, &path) else { continue };
        if kind.is_dir() {
            continue;
        }
        // Links and devices.
        if !kind.is_file() && !kind.is_contiguous() {
            return Err(format!("the archive's entry {written:?} is neither a file nor a folder"));
        }
        size = size.saturating_add(entry.size());
        check_bounds(files.len() + 1, size)?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(broken)?;
        if files.insert(path.to_owned(), content).is_some() {
            return Err(format!("the archive has two entries {written:?}"));
        }
    }
    if files.is_empty() && !folder.is_empty() {
        return Err(format!("folder: the archive has no files in {folder:?}"));
    }
    Ok(files)
}

/// Checks the number of the files of a source, and their size in bytes.
pub(super) fn check_bounds(files: usize, size: u64) -> Result<(), String> {
    if files > FILES_MAX {
        return Err(format!("has more than {FILES_MAX} files"));
    }
    if size > FILES_BYTES_MAX {
        return Err(format!("its files have more than {FILES_BYTES_MAX} bytes"));
    }
    Ok(())
}
