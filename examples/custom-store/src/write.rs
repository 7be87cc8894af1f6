//! Writes: one transaction for each batch of writes.

use std::ops::Range;

use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::*;
use holdover_store::rules::SessionRow;
use holdover_store::time::{Clock, Timestamp};
use redb::{Database, Durability, ReadableTable, Table, WriteTransaction};

use crate::file::{Done, ENTRIES, EntryAt, NUMBERS, ROWS, RowAt, SLOTS, SessionAt, at, within};
use crate::read::{rows, slot};

/// The kinds of rows that have index entries.
const INDEXED: [Kind; 2] = [Kind::Pending, Kind::Labels];

/// The tables of a write transaction. redb allows only one write transaction at a time, so there is no other writer
/// until it ends.
pub(crate) struct Writer<'t> {
    slots: Table<'t, SessionAt, &'static [u8]>,
    rows: Table<'t, RowAt, &'static [u8]>,
    entries: Table<'t, EntryAt, SessionAt>,
    /// The time, read after the wait for other writers.
    now: Timestamp,
    changed: bool,
}

/// Runs `job` in one transaction. Also returns the transaction if there are changes to commit.
pub(crate) fn write<T>(
    database: &Database,
    clock: &dyn Clock,
    job: impl FnOnce(&mut Writer<'_>) -> Done<T>,
) -> Done<(T, Option<WriteTransaction>)> {
    let mut transaction = database.begin_write()?;
    // This applies to provisional writes, too: they must survive the process, and redb loses writes that are not
    // synced.
    transaction.set_durability(Durability::Immediate)?;
    let (slots, rows) = (transaction.open_table(SLOTS)?, transaction.open_table(ROWS)?);
    let entries = transaction.open_table(ENTRIES)?;
    let mut writer = Writer { slots, rows, entries, now: clock.now(), changed: false };
    let answer = job(&mut writer)?;
    let changed = writer.changed;
    drop(writer);
    if changed {
        let mut numbers = transaction.open_table(NUMBERS)?;
        let changes = numbers.get("changes")?.map_or(0, |changes| changes.value());
        numbers.insert("changes", changes.wrapping_add(1))?;
    }
    Ok((answer, changed.then_some(transaction)))
}

impl Writer<'_> {
    /// Checks the whole write first, and applies it only if all checks pass: a refused write changes nothing.
    pub(crate) fn apply(&mut self, write: &Write) -> Done<Verdict> {
        let (key, now) = (&write.key, self.now);
        let token = slot(&self.slots, key)?.map(|slot| slot.token);
        if token != write.expect() || now < write.from || now >= write.until {
            return Ok(Verdict::Lost);
        }
        // Rows of a life that ends cannot conflict.
        for op in write.ops.iter().filter(|_| !write.ends_life()) {
            if let Op::Insert(row) = op
                && let Some(row) = rows(&self.rows, key, &key_range(&row.key()))?.next()
            {
                return Ok(Verdict::Taken { now, row: row? });
            }
        }
        if let Some(copy) = &write.copy
            && !self.has_source(copy)?
        {
            return Ok(Verdict::NoSource);
        }

        self.changed = true;
        for (index, entry) in write.before.iter().flat_map(|slot| slot_entries(slot)) {
            self.entries.remove((index as u8, entry.as_slice()))?;
        }
        if let Some(ended) = write.row_before().filter(|_| write.ends_life()) {
            for kind in INDEXED {
                self.remove(ended, kind, &kind_range(kind))?;
            }
            self.remove_all(key)?;
        }
        self.set_slot(key, write.after.as_deref())?;
        if let Some(life) = write.row_after() {
            if let Some(copy) = &write.copy {
                self.copy(copy, life)?;
            }
            for op in &write.ops {
                match op {
                    Op::Put(row) | Op::Insert(row) => self.put(life, row)?,
                    Op::Delete(row) => self.remove(life, row.kind, &key_range(row))?,
                    Op::DeleteUpTo(kind, last) => self.remove(life, *kind, &number_range(*kind, 0, *last))?,
                    Op::Clear(kind) => self.remove(life, *kind, &kind_range(*kind))?,
                }
            }
        }
        Ok(Verdict::Applied { now, place: 0 })
    }

    /// Removes a session that cannot be read, if its incarnation is `life` or `life` is `None`. Returns true if it was
    /// removed.
    pub(crate) fn remove_unreadable(&mut self, key: &SessionKey, life: Option<Incarnation>) -> Done<bool> {
        let Some(slot) = self.slots.get(at(key))?.map(|slot| slot.value().to_vec()) else {
            return Ok(false);
        };
        let left = bury_slot(key, &slot, self.now);
        let told = left.as_ref().and_then(|left| left.lives.last()).map(|last| last.incarnation);
        if life.is_some() && life != told {
            return Ok(false);
        }
        self.changed = true;
        // The index entries of the session are unknown, so this looks at all entries.
        self.entries.retain(|_, of| of != at(key))?;
        self.remove_all(key)?;
        self.set_slot(key, left.as_ref())?;
        Ok(true)
    }

    /// Sets the slot of a key, and its index entries.
    fn set_slot(&mut self, key: &SessionKey, slot: Option<&Slot>) -> Done<()> {
        self.slots.remove(at(key))?;
        if let Some(slot) = slot {
            self.slots.insert(at(key), encode_slot(slot).as_slice())?;
            for (index, entry) in slot_entries(slot) {
                self.entries.insert((index as u8, entry.as_slice()), at(key))?;
            }
        }
        Ok(())
    }

    fn put(&mut self, session: &SessionRow, row: &Row) -> Done<()> {
        let (kind, range) = (row.key().kind, key_range(&row.key()));
        if INDEXED.contains(&kind) {
            // The replaced row may have had other entries.
            self.remove(session, kind, &range)?;
        }
        for (index, entry) in row_entries(session, row) {
            self.entries.insert((index as u8, entry.as_slice()), at(&session.key))?;
        }
        self.rows.insert(within(&session.key, &range).start, encode_row(row).as_slice())?;
        Ok(())
    }

    /// Removes rows of a kind, and their index entries.
    fn remove(&mut self, session: &SessionRow, kind: Kind, range: &Range<Vec<u8>>) -> Done<()> {
        if INDEXED.contains(&kind) {
            for row in rows(&self.rows, &session.key, range)? {
                for (index, entry) in row_entries(session, &row?) {
                    self.entries.remove((index as u8, entry.as_slice()))?;
                }
            }
        }
        Ok(self.rows.retain_in(within(&session.key, range), |_, _| false)?)
    }

    fn remove_all(&mut self, key: &SessionKey) -> Done<()> {
        Ok(self.rows.retain_in(within(key, &(Vec::new()..vec![u8::MAX])), |_, _| false)?)
    }

    /// Returns true if the source of a fork still exists, with the checkpoint to copy.
    fn has_source(&self, copy: &Prefix) -> Done<bool> {
        let source = slot(&self.slots, &copy.from)?.and_then(|slot| slot.row);
        let last = number_range(Kind::Checkpoint, copy.last_checkpoint, copy.last_checkpoint);
        let is_there = self.rows.range(within(&copy.from, &last))?.next().is_some();
        Ok(is_there && source.is_some_and(|row| row.incarnation == copy.life))
    }

    /// Copies the messages, events and checkpoints that a fork begins with.
    fn copy(&mut self, copy: &Prefix, to: &SessionRow) -> Done<()> {
        let messages = number_range(Kind::Message, 0, copy.last_message.0);
        let events = number_range(Kind::Events, 0, copy.last_event.0);
        let checkpoints = number_range(Kind::Checkpoint, 0, copy.last_checkpoint);
        for range in [messages, events, checkpoints] {
            let found: Vec<Row> = rows(&self.rows, &copy.from, &range)?.collect::<Done<_>>()?;
            for mut row in found {
                if let Row::Checkpoint(checkpoint) = &mut row {
                    checkpoint.incarnation = to.incarnation;
                }
                self.put(to, &row)?;
            }
        }
        Ok(())
    }
}
