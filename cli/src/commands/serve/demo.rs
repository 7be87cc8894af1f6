//! `serve --demo`: an agent whose model is a script, in a folder of its own that is removed at the end.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::args::Common;
use crate::exit::Failure;
use crate::temporary;

/// The files of the demo.
const FILES: [(&str, &str); 3] = [
    ("agent.toml", include_str!("../../../demo/serve/agent.toml")),
    ("script.toml", include_str!("../../../demo/serve/script.toml")),
    ("project/CHANGES.md", include_str!("../../../demo/serve/project/CHANGES.md")),
];

/// The surroundings of a demo.
pub(super) struct Demo {
    folder: TempDir,
}

impl Demo {
    pub(super) fn new() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::failed(format!("--demo: a temporary folder: {error}"));
        let folder = tempfile::Builder::new().prefix("holdover-serve-").tempdir().map_err(failed)?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(failed)?;
            }
            std::fs::write(&path, text).map_err(failed)?;
        }
        Ok(Self { folder })
    }

    /// Returns the agent file.
    pub(super) fn agent(&self) -> PathBuf {
        self.folder.path().join("agent.toml")
    }

    /// Returns the options with a store in the folder, unless another one than the default is named.
    pub(super) fn store(&self, common: &Common) -> Common {
        if !common.store.is_default() {
            return common.clone();
        }
        let store = format!("sqlite:{}", self.folder.path().join("demo.db").display()).into();
        Common { store, ..common.clone() }
    }

    /// Removes the folder.
    pub(super) async fn end(self) -> Result<(), Failure> {
        temporary::remove(self.folder).await.map_err(|error| Failure::failed(error.to_string()))
    }
}

/// Returns commands with which a person meets the agent, for a server at this address with this link.
pub(super) fn commands(base: &str, link: &str) -> Vec<String> {
    let lines = format!(
        r#"TOKEN=$(curl -sS {link})
api() {{ curl -sS -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' "$@"; }}
api {base}/v1/sessions -d '{{"agent": "guide", "message": "Write the release notes", "session": "first"}}'
api -N "{base}/v1/sessions/first/events?until=parked&messages=true"
read -r CALL DIGEST <<< "$(api {base}/v1/pending | sed -nE 's/.*"id":"([^"]*)".*"digest":"([^"]*)".*/\1 \2/p')"
api {base}/v1/sessions/first/pending/$CALL/approve -d "{{\"digest\": \"$DIGEST\"}}"
api -N "{base}/v1/sessions/first/events?until=rest&messages=true"
api {base}/v1/sessions/first"#
    );
    lines.lines().map(str::to_owned).collect()
}
