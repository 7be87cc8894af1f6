//! The commands for one row operation.

use holdover_store::rows::{Kind, Op, Row, RowKey, Write};

use super::{Command, Plan, label_members, labels_index, pending_entries};
use crate::error::Fault;
use crate::keys::{Life, OF_LIFE};
use crate::records;
use crate::reply::{dated_of, sealed};

impl Plan {
    pub(super) fn op(&mut self, life: &Life, write: &Write, op: &Op, begins: bool) -> Result<(), Fault> {
        match op {
            Op::Put(row) => self.put(life, write, row, begins),
            Op::Insert(row) => {
                if !begins {
                    self.inserted.push((row.clone(), looked_for(life, row)?));
                }
                self.put(life, write, row, begins);
            }
            Op::Delete(key) => self.delete(life, key),
            Op::DeleteUpTo(kind, last) => {
                let scored =
                    [(Kind::Item, "unread", "inbox"), (Kind::Checkpoint, "restorable", "checkpoints")];
                let Some((_, numbers, hash)) = scored.into_iter().find(|(one, _, _)| one == kind) else {
                    return unsupported(&format!("rows of {kind:?} are removed up to a number"));
                };
                let (numbers, hash) = (life.key(numbers), life.key(hash));
                self.touch("ZCARD", &numbers);
                self.touch("HLEN", &hash);
                let up_to = vec![numbers.into(), hash.into(), last.to_string().into()];
                self.commands.push(Command::Special("up_to", up_to));
            }
            Op::Clear(kind) => self.clear(life, *kind)?,
        }
        Ok(())
    }

    fn put(&mut self, life: &Life, write: &Write, row: &Row, begins: bool) {
        let number = |number: u64| number.to_string();
        match row {
            Row::Labels(labels) => {
                let key = life.key("labels");
                let Some(session) = write.row_after() else { return };
                if !begins {
                    self.unlabel(life, &session.key, session.created_at);
                    self.unlink("HLEN", &key);
                }
                let index = labels_index(&session.key.tenant);
                label_members(session, labels).iter().for_each(|member| self.index("ZADD", &index, member));
                labels.0.iter().for_each(|(name, value)| self.hset(&key, name.as_str(), value.as_str()));
            }
            Row::Definition(payload) => self.hset(&life.key("payloads"), "definition", sealed(payload)),
            Row::State(payload) => self.hset(&life.key("payloads"), "state", sealed(payload)),
            Row::Message(message) => {
                let record = dated_of(message.at, &message.payload);
                self.hset(&life.key("messages"), number(message.seq.0), record);
            }
            Row::Events(batch) => {
                let key = life.key("events");
                let first = (batch.last.0 + 1).saturating_sub(batch.payloads.len() as u64);
                for (seq, payload) in (first..).zip(&batch.payloads) {
                    self.hset(&key, number(seq), dated_of(batch.at, payload));
                }
            }
            Row::Item { item, wake, .. } => {
                self.hset(&life.key("inbox"), number(item.seq.0), records::item_record(item, *wake));
                self.zadd(life.key("unread"), item.seq.0, number(item.seq.0));
            }
            Row::Key { key, seq, content } => {
                self.hset(&life.key("items"), key.as_str(), records::key_record(*seq, *content));
            }
            Row::Staged(result) => {
                self.hset(&life.key("staged"), result.call.as_str(), sealed(&result.payload));
            }
            Row::Start(call) => self.sadd(life.key("starts"), call.as_str()),
            Row::Pending { order, call } => {
                let key = life.key("pending");
                self.hset(&key, format!("f{}", call.id), records::pending_facts(call));
                // An answer changes only the facts.
                if call.answered == 0 {
                    self.hset(&key, format!("r{}", call.id), records::pending_record(call));
                    self.zadd(life.key("open"), *order, call.id.as_str());
                    let entries = pending_entries(&write.key, &call.id, call.deadline, call.kind.as_str());
                    entries.iter().for_each(|(index, member)| self.index("ZADD", index, member));
                }
            }
            Row::Opened(id) => self.sadd(life.key("ever"), id.as_str()),
            Row::Run(run) => {
                let key = life.key("runs");
                self.hset(&key, number(run.epoch.0), records::run_record(run));
                if let Some(end) = &run.end {
                    self.hset(&key, format!("{}e", run.epoch.0), records::end_record(end));
                }
            }
            Row::Checkpoint(at) => {
                self.hset(&life.key("checkpoints"), number(at.id.0), records::checkpoint_record(at));
                self.zadd(life.key("restorable"), at.id.0, number(at.id.0));
            }
            Row::Delta(delta) => self.hset(&life.key("deltas"), number(delta.place), sealed(&delta.payload)),
        }
    }

    fn sadd(&mut self, key: String, member: &str) {
        self.touch("SCARD", &key);
        self.plain(["SADD".into(), key.into(), member.into()]);
    }

    fn zadd(&mut self, key: String, score: u64, member: impl Into<Vec<u8>>) {
        self.touch("ZCARD", &key);
        self.plain(["ZADD".into(), key.into(), score.to_string().into(), member.into()]);
    }

    fn delete(&mut self, life: &Life, gone: &RowKey) {
        let number = gone.as_number().to_string();
        let (hash, set, field) = match gone.kind {
            Kind::Labels => return self.unlink("HLEN", &life.key("labels")),
            Kind::Definition => ("payloads", None, "definition"),
            Kind::State => ("payloads", None, "state"),
            Kind::Message => ("messages", None, number.as_str()),
            Kind::Events => ("events", None, number.as_str()),
            Kind::Item => ("inbox", Some("unread"), number.as_str()),
            Kind::Key => ("items", None, gone.as_name()),
            Kind::Staged => ("staged", None, gone.as_name()),
            Kind::Start | Kind::Opened => {
                let key = life.key(if gone.kind == Kind::Start { "starts" } else { "ever" });
                self.touch("SCARD", &key);
                return self.plain(["SREM".into(), key.into(), gone.as_name().into()]);
            }
            // Removed together with its place in the list, by `close`.
            Kind::Pending => return,
            Kind::Run => ("runs", None, number.as_str()),
            Kind::Checkpoint => ("checkpoints", Some("restorable"), number.as_str()),
            Kind::Delta => ("deltas", None, number.as_str()),
        };
        let key = life.key(hash);
        self.touch("HLEN", &key);
        self.sets.remove(&key);
        self.plain(["HDEL".into(), key.clone().into(), field.into()]);
        if gone.kind == Kind::Run {
            self.plain(["HDEL".into(), key.into(), format!("{field}e").into()]);
        }
        if let Some(set) = set {
            let key = life.key(set);
            self.touch("ZCARD", &key);
            self.plain(["ZREM".into(), key.into(), field.into()]);
        }
    }

    fn clear(&mut self, life: &Life, kind: Kind) -> Result<(), Fault> {
        let names: &[&str] = match kind {
            Kind::Labels => &["labels"],
            Kind::Message => &["messages"],
            Kind::Events => &["events"],
            Kind::Item => &["inbox", "unread"],
            Kind::Key => &["items"],
            Kind::Staged => &["staged"],
            Kind::Start => &["starts"],
            Kind::Opened => &["ever"],
            Kind::Run => &["runs"],
            Kind::Checkpoint => &["checkpoints", "restorable"],
            Kind::Delta => &["deltas"],
            Kind::Definition | Kind::State => {
                self.delete(life, &RowKey::one(kind));
                &[]
            }
            Kind::Pending => return unsupported("pending calls are removed one by one"),
        };
        for name in names {
            let size = OF_LIFE.iter().find(|(known, _)| known == name).map_or("EXISTS", |(_, size)| *size);
            self.unlink(size, &life.key(name));
        }
        Ok(())
    }
}

fn unsupported(what: &str) -> Result<(), Fault> {
    Err(Fault::Invalid(what.to_owned()))
}

/// Returns the command that looks for a row that must not exist.
fn looked_for(life: &Life, row: &Row) -> Result<[String; 3], Fault> {
    if let Row::Key { key, .. } = row {
        Ok(["HGET".into(), life.key("items"), key.to_string()])
    } else if let Row::Opened(id) = row {
        Ok(["SISMEMBER".into(), life.key("ever"), id.to_string()])
    } else {
        Err(Fault::Invalid(format!("{}: it cannot be inserted under a condition", row.key())))
    }
}
