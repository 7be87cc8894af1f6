//! The JSON that rustdoc writes for each crate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustdoc_types::{Crate, FORMAT_VERSION, Id, Item, ItemEnum};

/// The facade, whose names are listed.
const FACADE: &str = "holdover";
/// The environment variable that is set for a process that runs in place of rustdoc.
const AS_RUSTDOC: &str = "XTASK_IS_RUSTDOC";

/// The documentation of the facade and of every crate whose name in code begins with `holdover_`, by that name.
pub struct Docs {
    crates: BTreeMap<String, Documented>,
}

struct Documented {
    doc: Crate,
    by_path: BTreeMap<Vec<String>, Id>,
}

impl Docs {
    /// Makes cargo document the libraries of the workspace, with all features of the facade, and reads
    /// the result.
    ///
    /// JSON needs unstable options of rustdoc. A stable rustdoc accepts them if `RUSTC_BOOTSTRAP` is set. If the
    /// variable were set for all of cargo, every crate whose build script reads it would be built again. So cargo
    /// runs `this` program as its rustdoc: see [`become_rustdoc`].
    pub fn made_by_cargo(root: &Path, this: &Path) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = Command::new(&cargo);
        command.current_dir(root).args(["doc", "--quiet", "--workspace", "--lib", "--no-deps"]);
        command.args([
            "--features",
            "holdover/mcp,holdover/mcp-server,holdover/postgres,holdover/redis,holdover/elsewhere,holdover/flow-test,holdover/schedules",
        ]);
        command.env("RUSTDOC", this).env(AS_RUSTDOC, "1");
        command.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json --cap-lints=allow");
        let status = command.status().map_err(|error| format!("{cargo}: {error}"))?;
        if !status.success() {
            return Err("cargo doc failed".to_owned());
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Self::read(&target.join("doc"))
    }

    /// Reads the files that rustdoc wrote to `folder`.
    fn read(folder: &Path) -> Result<Self, String> {
        let mut crates = BTreeMap::new();
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            let ours = name == FACADE || name.starts_with("holdover_");
            if !ours || path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = std::fs::read_to_string(&path).map_err(|error| failed(&error))?;
            let version = serde_json::from_str::<Version>(&text).map_err(|error| failed(&error))?;
            if version.format_version != FORMAT_VERSION {
                let (found, known) = (version.format_version, FORMAT_VERSION);
                return Err(format!(
                    "rustdoc writes format {found}, and rustdoc-types reads {known}: take the version of it in \
                     xtask/Cargo.toml that reads {found}"
                ));
            }
            let doc: Crate = serde_json::from_str(&text).map_err(|error| failed(&error))?;
            crates.insert(name, Documented::new(doc));
        }
        Ok(Self { crates })
    }

    /// Returns the documentation of the facade.
    pub(super) fn facade(&self) -> Result<&Crate, String> {
        self.crates.get(FACADE).map(|one| &one.doc).ok_or_else(|| format!("there is no crate {FACADE}"))
    }

    /// Returns the item at `path` in the crate that defines it, if that crate belongs to the workspace.
    pub(super) fn find(&self, path: &[String]) -> Option<(&Crate, &Item)> {
        let of = self.crates.get(path.first()?)?;
        let id = of.by_path.get(path).copied().or_else(|| of.only_named(path.last()?))?;
        Some((&of.doc, of.doc.index.get(&id)?))
    }

    /// Returns true if the documentation includes this crate.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        self.crates.contains_key(name)
    }
}

#[derive(serde::Deserialize)]
struct Version {
    format_version: u32,
}

impl Documented {
    fn new(doc: Crate) -> Self {
        let own = doc.paths.iter().filter(|(_, summary)| summary.crate_id == 0);
        let by_path = own.map(|(id, summary)| (summary.path.clone(), *id)).collect();
        Self { doc, by_path }
    }

    /// Returns the item of this name, if it is the only one that can be exported by itself. An item in a private module
    /// may have another path in other crates, so only its name can be compared.
    fn only_named(&self, name: &str) -> Option<Id> {
        let stands_alone = |item: &Item| {
            !matches!(
                item.inner,
                ItemEnum::Use(_) | ItemEnum::Variant(_) | ItemEnum::StructField(_) | ItemEnum::Impl(_)
            )
        };
        let mut found = self.doc.index.iter().filter(|(_, item)| {
            item.name.as_deref() == Some(name) && stands_alone(item) && self.doc.paths.contains_key(&item.id)
        });
        match (found.next(), found.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }
}

/// Runs rustdoc with unstable options if this process was started in its place, and returns its exit code. Otherwise
/// returns `None`.
pub fn become_rustdoc() -> Option<ExitCode> {
    std::env::var_os(AS_RUSTDOC)?;
    let arguments = std::env::args_os().skip(1);
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(arguments).env("RUSTC_BOOTSTRAP", "1").env_remove(AS_RUSTDOC);
    let code = rustdoc.status().ok().and_then(|status| status.code()).unwrap_or(1);
    Some(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
