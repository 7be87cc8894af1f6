//! Places an order in a folder, and goes on with it until it has ended.
#![allow(clippy::print_stdout, reason = "a program that shows what came of it")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::session::RunOutcome;
use holdover::store::{SqliteOptions, rusqlite};
use holdover_example_order::flow::{Order, flow};
use holdover_example_order::shop::{Bank, Carrier};

/// The stock of the shop before the first order.
const STOCK: i64 = 100;

/// Makes the shop's own table, in the file of the store.
fn open_shop(file: &Path) -> Result<(), rusqlite::Error> {
    let db = rusqlite::Connection::open(file)?;
    db.execute("CREATE TABLE IF NOT EXISTS stock (article TEXT PRIMARY KEY, pieces INTEGER NOT NULL)", [])?;
    db.execute("INSERT OR IGNORE INTO stock VALUES ('lamp', ?1)", [STOCK])?;
    Ok(())
}

/// `[--approve NAME | --deny NAME] [FOLDER [CENTS [PIECES…]]]`
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let (mut approve, mut deny) = (None, None);
    while let Some(option) = arguments.next_if(|next| next.starts_with("--")) {
        match option.as_str() {
            "--approve" => approve = arguments.next(),
            "--deny" => deny = arguments.next(),
            _ => return Err(format!("{option}: there is no such option").into()),
        }
    }
    let folder = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    let cents: i64 = arguments.next().map_or(Ok(90_000), |cents| cents.parse())?;
    let parcels: Result<Vec<i64>, _> = arguments.map(|pieces| pieces.parse()).collect();
    let parcels = Some(parcels?).filter(|parcels| !parcels.is_empty()).unwrap_or(vec![3, 2]);

    let file = folder.join("order.db");
    let store = SqliteStore::open(SqliteOptions::new(&file)).await?;
    open_shop(&file)?;
    let flow = flow(&Arc::new(Bank::open(&folder)), &Arc::new(Carrier::open(&folder))).build()?;
    // If this process dies, the next one may go on two seconds later.
    let options = RuntimeOptions::default().lease(Duration::from_secs(2));
    let runtime = Runtime::new(store, Agents::new().with(Arc::clone(flow.agent())), options);

    let order = Order { id: 7, article: "lamp".to_owned(), cents, parcels };
    let placed = flow.execute(TenantId::new("shop")?, &order)?.once(ItemKey::new("order 7")?);
    let session = runtime.start(placed).await?.key;
    loop {
        let outcome = runtime.wait(&session).await?;
        let asked = runtime.pending(&session).await?;
        let (Some(asked), RunOutcome::Suspended(_)) = (asked.first(), &outcome) else {
            let said = runtime.response(&session).await?.and_then(|response| response.text);
            if let RunOutcome::Ended(ending) = &outcome
                && ending.error.is_none()
            {
                println!("order 7: {}", said.unwrap_or_default());
            } else {
                println!("order 7: {outcome:?}");
            }
            return Ok(());
        };
        match (&approve, &deny) {
            (Some(name), _) => drop(runtime.approve(&session, asked.id(), name.as_str()).await?),
            (None, Some(name)) => drop(runtime.deny(&session, asked.id(), name.as_str()).await?),
            (None, None) => {
                println!(
                    "order 7 waits for ann or bob. Run this again with --approve ann, or use the command:"
                );
                println!(
                    "holdover --store sqlite:{} --tenant shop approve {} --by ann",
                    file.display(),
                    session.id
                );
                return Ok(());
            }
        }
    }
}
