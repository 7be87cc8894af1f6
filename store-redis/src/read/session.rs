//! One session.

use holdover_store::ids::SessionKey;
use holdover_store::{Session, StoreError};

use crate::columns;
use crate::store::{Shared, unknown};

impl Shared {
    pub(crate) async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.ask("load_session", &self.scripts.load_session, key, Ok(self.args()), |word, reply| match word {
            "found" => columns::session(reply).map(Some),
            "not_found" => Ok(None),
            other => unknown(other),
        })
        .await
    }
}
