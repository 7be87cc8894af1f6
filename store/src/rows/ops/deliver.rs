//! Deliveries of items to the inbox.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::{Facts, names};
use super::super::read::Want;
use super::super::row::{Kind, Row, RowKey, picked};
use crate::ids::InboxSeq;
use crate::payload::Digest;
use crate::rules::{PendingFacts, SessionRow};
use crate::{Delivery, InboxItem, ItemKind, StoredItem};

/// Puts an item into the inbox.
pub(in super::super) struct Deliver<'a>(pub(in super::super) &'a InboxItem);

impl Ask for Deliver<'_> {
    type Outcome = Delivery;

    fn wants(&self) -> Vec<Want> {
        wants([self.0])
    }

    fn decide(&self, facts: &Facts) -> Decision<Delivery> {
        let Some(before) = facts.row() else { return Decision::Answer(Delivery::NotFound) };
        let mut draft = Draft::of(Some(before), before.clone());
        match accept_all(facts, &mut draft, [self.0]) {
            Accepted::All(arrived) => match arrived.first() {
                Some(item) => {
                    let seq = item.seq;
                    Decision::write(draft, Delivery::Accepted { seq })
                }
                None => Decision::Answer(Delivery::NotFound),
            },
            Accepted::Refused(_, refusal) => Decision::Answer(refusal),
            Accepted::Needs(wants) => Decision::Need(wants),
        }
    }
}

/// The result of accepting items.
pub(super) enum Accepted {
    /// All items are accepted.
    All(Vec<StoredItem>),
    /// The item with this index is refused.
    Refused(usize, Delivery),
    /// These rows must be read first.
    Needs(Vec<Want>),
}

/// Returns the rows that are needed to accept items: the pending calls that they answer, and the rows of their keys.
pub(super) fn wants<'a>(items: impl IntoIterator<Item = &'a InboxItem> + Clone) -> Vec<Want> {
    let keys: Vec<RowKey> = items.clone().into_iter().map(|item| Row::item_key(&item.key)).collect();
    let answered: Vec<RowKey> = items.into_iter().filter_map(answers).collect();
    let named = [(Kind::Pending, answered), (Kind::Key, keys)].into_iter();
    named.filter(|(_, keys)| !keys.is_empty()).map(|(kind, keys)| Want::names(kind, names(&keys))).collect()
}

fn answers(item: &InboxItem) -> Option<RowKey> {
    match &item.kind {
        ItemKind::Answer { pending, .. } => Some(Row::pending(pending)),
        ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => None,
    }
}

/// Accepts all of `items` into the row of `draft`. If one is refused, the draft must not be used.
pub(super) fn accept_all<'a>(
    facts: &Facts,
    draft: &mut Draft,
    items: impl IntoIterator<Item = &'a InboxItem>,
) -> Accepted {
    let mut arrived: Vec<(&InboxItem, StoredItem)> = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let Some(row) = &mut draft.row else { return Accepted::Refused(index, Delivery::NotFound) };
        let asked = answers(item);
        if let Some(asked) = asked.as_ref().filter(|asked| !facts.knows(asked)) {
            return Accepted::Needs(vec![Want::names(Kind::Pending, names([asked]))]);
        }
        let pending = asked.and_then(|asked| facts.get(&asked));
        let key = Row::item_key(&item.key);
        let earlier = arrived.iter().find(|(earlier, _)| earlier.key == item.key);
        let known = match earlier {
            Some((earlier, stored)) => Some((stored.seq, earlier.digest())),
            None => known(facts, &key),
        };
        let is_known = earlier.is_some() || facts.knows(&key);
        match arrive(row, item, known, pending, facts) {
            Ok((stored, deadline, rows)) => {
                draft.before(deadline);
                for row in rows {
                    if let Row::Key { .. } = row { draft.insert(row) } else { draft.put(row) }
                }
                arrived.push((item, stored));
            }
            Err(refusal) => {
                // An item whose key is already known, and an earlier item that is refused, take precedence
                // over this refusal.
                let own = (!is_known && refusal != Delivery::NotFound).then_some(key);
                let earlier = arrived.iter().map(|(earlier, _)| Row::item_key(&earlier.key));
                let unknown: Vec<RowKey> = earlier.filter(|key| !facts.knows(key)).chain(own).collect();
                if unknown.is_empty() {
                    return Accepted::Refused(index, refusal);
                }
                return Accepted::Needs(vec![Want::names(Kind::Key, names(&unknown))]);
            }
        }
    }
    Accepted::All(arrived.into_iter().map(|(_, stored)| stored).collect())
}

fn known(facts: &Facts, key: &RowKey) -> Option<(InboxSeq, Digest)> {
    picked!(facts.get(key), Some(Row::Key { seq, content, .. }) => (*seq, *content))
}

type Arrived = (StoredItem, Option<crate::time::Timestamp>, Vec<Row>);

fn arrive(
    row: &mut SessionRow,
    item: &InboxItem,
    known: Option<(InboxSeq, Digest)>,
    pending: Option<&Row>,
    facts: &Facts,
) -> Result<Arrived, Delivery> {
    let (order, call) =
        if let Some(Row::Pending { order, call }) = pending { (*order, Some(call)) } else { (0, None) };
    let arrival = row.accept(item, known, call.map(PendingFacts::from), facts.now)?;
    let stored = arrival.stored(item.clone(), facts.now);
    let content = item.digest();
    let mut rows = vec![
        Row::Item { item: stored.clone(), wake: arrival.wake, content },
        Row::Key { key: item.key.clone(), seq: arrival.seq, content },
    ];
    if let (Some(call), Some(answered)) = (call, arrival.answered) {
        let mut call = call.clone();
        (call.answered, call.last_answer) = (answered, arrival.seq);
        rows.push(Row::Pending { order, call });
    }
    Ok((stored, call.and_then(|call| call.deadline), rows))
}
