//! `events`: shows the past events of a session or of a tree, and follows new ones.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use holdover_core::ids::SessionKey;
use holdover_runtime_local::{Follow, RuntimeError, Shown, TreeCursor, TreeShown};

use crate::args::{Common, Events};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::{Out, human, instant, json};
use crate::signals::{Signals, Told};
use crate::store::IfMissing;

/// Prints the events of a session. With `--tree`, also prints those of its children.
pub(crate) async fn events(common: &Common, args: &Events) -> Result<Exit, Failure> {
    let front = Front::open(common, None, IfMissing::AsItIs).await?;
    let key = front.key(&args.session);
    let mut shown = of(&front, &key, args);
    let mut signals = if args.follow { Some(Signals::listen()?) } else { None };
    // The command ends once its output has no reader. On a quiet session, no failed write would show that.
    while !front.out.closed() {
        let next = tokio::select! {
            next = shown.next() => next,
            () = front.out.reader_left(), if args.follow => None,
            told = told(&mut signals) => match told {
                Told::Interrupt => None,
                Told::Terminate => return Ok(told.exit()),
            },
        };
        let Some(item) = next.transpose()? else { break };
        print(&front, &key, &item).await?;
    }
    drop(shown);
    front.close().await;
    Ok(Exit::Completed)
}

/// Returns the requested items. Without `--tree`, the cursors are those of the root alone.
fn of(front: &Front, key: &SessionKey, args: &Events) -> BoxStream<'static, Result<TreeShown, RuntimeError>> {
    let follow = if args.follow { Follow::Forever } else { Follow::Available };
    let after = args.after.clone().unwrap_or(TreeCursor::START);
    match (args.tree, args.deltas) {
        (true, true) => front.runtime.follow_tree(key, after, follow),
        (true, false) => front.runtime.tree_events(key, after, follow),
        (false, true) => {
            let items = front.runtime.follow(key, after.root(), follow);
            let root = key.id.clone();
            items.map_ok(move |shown| TreeShown::of_root(&root, shown)).boxed()
        }
        (false, false) => {
            let items = front.runtime.events(key, after.root(), follow).map_ok(Shown::Event);
            let root = key.id.clone();
            items.map_ok(move |shown| TreeShown::of_root(&root, shown)).boxed()
        }
    }
}

async fn print(front: &Front, root: &SessionKey, item: &TreeShown) -> Result<(), Failure> {
    let out = match item.member.place {
        Some(_) => front.out.under(&format!("{}  ", human::member(&item.member))),
        None => front.out.clone(),
    };
    match &item.shown {
        Shown::Event(entry) => {
            if out.json() {
                let key = SessionKey::new(root.tenant.clone(), item.member.session.clone());
                let message = front.message_of_event(&key, &entry.event).await?;
                out.object(&json::tree_event(item, entry, message.as_ref()));
            }
            out.line(format!("{:>4}  {}  {}", entry.seq.0, instant(entry.at), human::event(&entry.event)));
        }
        Shown::Delta(entry) => {
            out.object(&json::tree_delta(item, entry));
            dimmed(&out, &format!("stream {}  {}", entry.stream, human::delta(&entry.delta)));
        }
        Shown::Dropped { stream, .. } => {
            out.object(&json::tree_dropped(item, *stream));
            dimmed(&out, &format!("stream {stream}  is void: the attempt that wrote it died"));
        }
        // Every variant of this version is named above; the lint finds missing ones.
        _ => return Ok(()),
    }
    dimmed(&out, &item.cursor.to_string());
    Ok(())
}

fn dimmed(out: &Out, text: &str) {
    out.line(out.dim(&format!("      {text}")));
}

async fn told(signals: &mut Option<Signals>) -> Told {
    match signals {
        Some(signals) => signals.next().await,
        None => std::future::pending().await,
    }
}
