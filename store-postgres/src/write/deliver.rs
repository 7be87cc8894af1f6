//! Puts an item into the inbox.

use holdover_store::ids::SessionKey;
use holdover_store::{Delivery, InboxItem};
use sqlx::postgres::PgRow;

use crate::call::{Call, Values};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, bind_item};

pub(crate) struct Deliver {
    pub(crate) key: SessionKey,
    pub(crate) item: InboxItem,
}

impl Call for Deliver {
    type Outcome = Delivery;
    const OPERATION: &'static str = "deliver";
    const PARAMETERS: usize = 12;
    const COLUMNS: &'static str = "a.outcome, a.place";
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.key(&self.key);
        bind_item(to, &self.item);
        to.channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Delivery, Fault> {
        let mut c = Columns::first(rows)?;
        let outcome = c.text()?;
        rows::delivery(&outcome, c.count_or_null()?)
    }
}
