//! Lists that a store returns page by page.

use std::num::NonZeroU32;

use holdover_core::store::{PAGE_ROWS_MAX, Page, PageRequest};

/// Calls `each` for every item of a list, in order. `ask` returns the pages; only one page is in memory.
pub(crate) async fn each_of<T, E>(
    ask: impl AsyncFn(PageRequest) -> Result<Page<T>, E>,
    mut each: impl FnMut(T),
) -> Result<(), E> {
    let mut after = None;
    loop {
        let page = ask(PageRequest { after, limit: NonZeroU32::new(PAGE_ROWS_MAX) }).await?;
        page.items.into_iter().for_each(&mut each);
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
