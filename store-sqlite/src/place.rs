//! The location of the database file, and a check that its file system can keep what SQLite promises.

use std::path::{Path, PathBuf};

use holdover_store::{Retry, StoreError, StoreErrorKind};

/// A file in an existing folder, on a file system whose locks SQLite can rely on.
pub(crate) struct Place {
    /// The absolute path, with links resolved, so that two names of one file are one place. SQLite would read a
    /// relative name that begins with `file:` as a URI.
    pub(crate) file: PathBuf,
    /// The name of the file system, as the settings show it.
    pub(crate) filesystem: &'static str,
    /// True if the file system is in memory, so that its data is lost with the machine's power.
    pub(crate) volatile: bool,
}

impl Place {
    pub(crate) fn check(path: &Path) -> Result<Self, StoreError> {
        if path.as_os_str() == ":memory:" {
            return Err(StoreError::invalid("open", ":memory: has no file that connections could share"));
        }
        let refuse = |why: &str| {
            let detail = format!("{}: {why}", path.display());
            StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never)
        };
        let name = path.file_name().ok_or_else(|| refuse("names no file"))?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let folder =
            folder.canonicalize().map_err(|error| refuse("its folder cannot be used").because(error))?;
        let mut file = folder.join(name);
        if file.is_dir() {
            return Err(refuse("is a folder"));
        }
        if let Ok(target) = file.canonicalize() {
            file = target;
        }
        if file.to_str().is_none() {
            return Err(refuse("is no UTF-8"));
        }
        let kind = filesystem(file.parent().unwrap_or(&folder))
            .map_err(|error| refuse("its file system cannot be asked").because(error))?;
        match kind {
            FileSystem::Local(filesystem) => Ok(Self { file, filesystem, volatile: false }),
            FileSystem::InMemory(filesystem) => Ok(Self { file, filesystem, volatile: true }),
            FileSystem::Network(name) => Err(refuse(&format!(
                "lies on {name}, a network file system, whose locks SQLite cannot rely on"
            ))),
        }
    }
}

enum FileSystem {
    Local(&'static str),
    InMemory(&'static str),
    Network(&'static str),
}

#[cfg(target_os = "linux")]
fn filesystem(folder: &Path) -> std::io::Result<FileSystem> {
    Ok(by_magic(rustix::fs::statfs(folder)?.f_type as u64 & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn filesystem(_folder: &Path) -> std::io::Result<FileSystem> {
    Ok(FileSystem::Local("not checked on this system"))
}

/// Returns the file system with this magic number (`linux/magic.h`, `statfs(2)`). FUSE counts as a network file system,
/// because the store cannot see what is behind it, and it may be a network (as with sshfs).
#[cfg(target_os = "linux")]
fn by_magic(magic: u64) -> FileSystem {
    match magic {
        0x6969 => FileSystem::Network("nfs"),
        0x517b => FileSystem::Network("smb"),
        0xff53_4d42 => FileSystem::Network("cifs"),
        0xfe53_4d42 => FileSystem::Network("smb2"),
        0x564c => FileSystem::Network("ncp"),
        0x0102_1997 => FileSystem::Network("9p"),
        0x6573_5546 => FileSystem::Network("fuse"),
        0x7375_7245 => FileSystem::Network("coda"),
        0x5346_414f => FileSystem::Network("afs"),
        0x6b41_4653 => FileSystem::Network("kafs"),
        0x00c3_6400 => FileSystem::Network("ceph"),
        0x0bd0_0bd0 => FileSystem::Network("lustre"),
        0x0116_1970 => FileSystem::Network("gfs2"),
        0x7461_636f => FileSystem::Network("ocfs2"),
        0x4750_4653 => FileSystem::Network("gpfs"),
        0x1983_0326 => FileSystem::Network("fhgfs"),
        0x786f_4256 => FileSystem::Network("vboxsf"),
        0xbacb_acbc => FileSystem::Network("vmhgfs"),
        0x0102_1994 => FileSystem::InMemory("tmpfs"),
        0x8584_58f6 => FileSystem::InMemory("ramfs"),
        0xef53 => FileSystem::Local("ext"),
        0x5846_5342 => FileSystem::Local("xfs"),
        0x9123_683e => FileSystem::Local("btrfs"),
        0x2fc1_2fc1 => FileSystem::Local("zfs"),
        0x794c_7630 => FileSystem::Local("overlay"),
        0xf2f5_2010 => FileSystem::Local("f2fs"),
        _ => FileSystem::Local("local"),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_refused_by_their_magic() {
        for magic in [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x6573_5546, 0x00c3_6400] {
            assert!(matches!(by_magic(magic), FileSystem::Network(_)), "{magic:x}");
        }
        assert!(matches!(by_magic(0xef53), FileSystem::Local("ext")));
        assert!(matches!(by_magic(0x0102_1994), FileSystem::InMemory("tmpfs")));
    }

    #[test]
    fn proc_is_asked_for_real() {
        // A file system whose magic is known and that every Linux has.
        assert_eq!(rustix::fs::statfs("/proc").expect("statfs").f_type as u64, 0x9fa0);
    }
}
