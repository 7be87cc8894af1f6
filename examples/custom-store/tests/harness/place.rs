//! A file that can be opened, and damaged before it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use custom_store::{Options, RedbStore};
use holdover_conformance_tests::{OpenResult, Place, Tampering};
use holdover_store::rows::Kind;
use tempfile::TempDir;

use super::raw::{Part, Raw};

pub(super) struct FilePlace {
    pub(super) folder: TempDir,
    pub(super) options: Options,
}

impl FilePlace {
    fn file(&self) -> PathBuf {
        self.folder.path().join(super::FILE)
    }
}

#[async_trait]
impl Place for FilePlace {
    async fn open(&self) -> OpenResult {
        Ok(Arc::new(RedbStore::open(self.file(), self.options.clone()).await?))
    }

    async fn open_as_it_is(&self) -> Option<OpenResult> {
        let options = Options { make: false, ..self.options.clone() };
        let opened = RedbStore::open(self.file(), options).await;
        Some(opened.map(|store| Arc::new(store) as _))
    }

    async fn tamper(&self, with: Tampering<'_>) {
        let raw = Raw::open(&self.file());
        match with {
            Tampering::Newer => raw.raise_format(1),
            Tampering::NotNewer => raw.raise_format(-1),
            Tampering::UnknownStatus(key) => raw.change(key, Part::Slot, |bytes| {
                let mut slot: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
                slot["row"]["status"] = "asleep".into();
                *bytes = slot.to_string().into_bytes();
            }),
            Tampering::Message(key) => raw.change(key, Part::Row(Kind::Message), |bytes| {
                // The payload is at the end of the row.
                *bytes.last_mut().expect("bytes") ^= 1;
            }),
            _ => panic!("{with:?} is not known here"),
        }
    }
}
