//! The parts of the file system that commands behind walls see.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The folders of a system that hold programs and libraries.
const SYSTEM: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// The entries of `/etc` that programs need. None of them contains data about this machine's users.
const SETTINGS: [&str; 14] = [
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki/tls/certs",
    "protocols",
    "ssl/certs",
    "ssl/openssl.cnf",
];
/// The entries of `/etc` for name resolution on the network.
const NETWORK: [&str; 2] = ["resolv.conf", "hosts"];
/// The folders of an image that are hidden. A sandbox has its own folders with these names, or none.
const OWN: [&str; 6] = ["dev", "proc", "sys", "run", "tmp", "workspace"];

/// Returns the arguments of bubblewrap that show the programs of this machine read-only.
pub(super) fn of_machine(network: bool) -> io::Result<Vec<OsString>> {
    let mut args = Vec::new();
    for name in SYSTEM {
        show(&mut args, &Path::new("/").join(name), name)?;
    }
    for name in SETTINGS.into_iter().chain(NETWORK.into_iter().filter(|_| network)) {
        // The link target is bound: the link itself would lead to a path that the sandbox does not have.
        if let Ok(real) = Path::new("/etc").join(name).canonicalize() {
            bind(&mut args, &real, &format!("etc/{name}"));
        }
    }
    Ok(args)
}

/// Returns the arguments of bubblewrap that show the top-level folders and links of `image` read-only, except those in
/// [`OWN`].
pub(super) fn of_image(image: &Path, network: bool) -> io::Result<Vec<OsString>> {
    let mut args = Vec::new();
    for entry in std::fs::read_dir(image)? {
        let entry = entry?;
        match entry.file_name().to_str() {
            Some(name) if !OWN.contains(&name) => show(&mut args, &entry.path(), name)?,
            Some(_) | None => {}
        }
    }
    for name in NETWORK.into_iter().filter(|_| network) {
        let here = Path::new("/etc").join(name).canonicalize();
        if let (Ok(here), true) = (here, image.join("etc").join(name).is_file()) {
            bind(&mut args, &here, &format!("etc/{name}"));
        }
    }
    Ok(args)
}

/// Shows a folder as a folder and a link as a link. Leaves out everything else, including missing entries.
fn show(args: &mut Vec<OsString>, place: &Path, name: &str) -> io::Result<()> {
    match place.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            let inside = format!("/{name}");
            args.extend(["--symlink".into(), std::fs::read_link(place)?.into(), inside.into()]);
        }
        Ok(found) if found.is_dir() => bind(args, place, name),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn bind(args: &mut Vec<OsString>, place: &Path, name: &str) {
    args.extend(["--ro-bind".into(), place.into(), format!("/{name}").into()]);
}
