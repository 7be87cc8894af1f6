//! The standard input of a program, written completely before the program starts.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::Stdio;

/// Returns a standard input that holds exactly `bytes`, in an anonymous file.
///
/// A pipe would be filled while the program reads. If this process died meanwhile, the program would read only a part
/// of its input and act on it as if it were complete.
pub(super) fn whole(bytes: &[u8]) -> io::Result<Stdio> {
    Ok(written(anonymous()?, bytes)?.into())
}

/// Returns a file without a name. The file is in memory where the system supports that, so that no secret is written to
/// a disk. Otherwise, it is in the temporary folder.
fn anonymous() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = in_memory() {
        return Ok(file);
    }
    tempfile::tempfile()
}

#[cfg(target_os = "linux")]
fn in_memory() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(memfd_create("holdover-input", flags)?.into())
}

/// Writes `bytes` to the file, and rewinds it. A file in memory is sealed, so that no process can change it.
fn written(mut file: File, bytes: &[u8]) -> io::Result<File> {
    file.write_all(bytes)?;
    file.rewind()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{SealFlags, fcntl_add_seals};
        // A file in the temporary folder cannot be sealed; no other process can open it.
        let _ =
            fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_whole_input_is_there_from_the_beginning_wherever_it_lies() {
        for bytes in [&b""[..], b"{}", &vec![b'x'; 200_008]] {
            for file in [anonymous().unwrap(), tempfile::tempfile().unwrap()] {
                let mut read = Vec::new();
                written(file, bytes).unwrap().read_to_end(&mut read).unwrap();
                assert!(read == bytes, "{} of {} bytes", read.len(), bytes.len());
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_in_memory_is_changed_by_nobody() {
        let mut file = written(in_memory().unwrap(), b"{}").unwrap();
        assert_eq!(file.write_all(b"x").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
