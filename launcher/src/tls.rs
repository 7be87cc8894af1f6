//! Certificates for servers at the loopback address.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::LaunchError;
use crate::folder::Folder;
use crate::install::Program;

const OPENSSL: Program = Program { name: "openssl", package: "openssl", folders: &[] };

/// The names and addresses for which the certificate is valid.
const NAMES: &str = "subjectAltName=IP:127.0.0.1,DNS:localhost";

/// A certificate with its key, and the authority that signed only this certificate.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    folder: PathBuf,
}

impl Certificate {
    pub(crate) fn new(folder: &Folder) -> Result<Self, LaunchError> {
        let made = Self { folder: folder.server("certificate")? };
        let key =
            |name| ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name];
        let names = made.folder.join("names");
        std::fs::write(&names, NAMES).map_err(LaunchError::at(&names))?;
        let authority = ["-x509", "-days", "2", "-subj", "/CN=authority", "-out", "authority.pem"];
        made.openssl(["req"].iter().chain(&key("authority.key")).chain(&authority))?;
        let request = ["-subj", "/CN=localhost", "-out", "request.pem"];
        made.openssl(["req"].iter().chain(&key("key.pem")).chain(&request))?;
        let signed =
            ["-req", "-in", "request.pem", "-days", "2", "-extfile", "names", "-out", "certificate.pem"];
        let by = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial"];
        made.openssl(["x509"].iter().chain(&signed).chain(&by))?;
        Ok(made)
    }

    fn openssl<'a>(&self, arguments: impl Iterator<Item = &'a &'a str>) -> Result<(), LaunchError> {
        let program = OPENSSL.find()?;
        let done = Command::new(&program)
            .args(arguments.map(OsStr::new))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(LaunchError::at(&program))?;
        LaunchError::unless_well("openssl", "it", done.status, &done.stderr)
    }

    /// Returns the path of the authority's certificate, as PEM.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.join("key.pem")
    }
}

/// A port on which a server also listens for TLS, and its certificate.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub(crate) port: u16,
    pub(crate) certificate: Certificate,
}

impl Tls {
    /// Returns the TLS settings of a Redis server, as names and values.
    pub(crate) fn settings(&self) -> [(&'static str, String); 5] {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        [
            ("tls-port", self.port.to_string()),
            ("tls-cert-file", path(&self.certificate.certificate())),
            ("tls-key-file", path(&self.certificate.key())),
            ("tls-ca-cert-file", path(&self.certificate.authority())),
            ("tls-auth-clients", "no".to_owned()),
        ]
    }
}
