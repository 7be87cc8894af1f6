//! Writes: the commands that one takes, and how it ended.

use std::collections::HashMap;

use holdover_store::ids::{Incarnation, OperationId, SessionKey};
use holdover_store::rows::{Kind, Op, Row, RowKey, Slot, Token, Verdict, Write};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{StoredItem, Tombstone};

use crate::args::Args;
use crate::error::Fault;
use crate::keys::{Keys, Life, OF_LIFE};
use crate::place;
use crate::records;
use crate::reply::{Reply, dated_of, pack, sealed};
use crate::row::{fields, lives_text, token_text};

/// So many arguments go into one command: a script cannot hand over many thousands at once.
const COMMAND_ARGS_MAX: usize = 1_000;

/// The life that is named where it is not known which: of no session.
const NO_LIFE: Incarnation = Incarnation(uuid::Uuid::nil());

/// What must stand there, as a script compares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing.
    Nothing,
    /// A slot with this token, as it is stored.
    Token(String),
    /// A row that a version before tokens wrote.
    NoToken,
    /// A key that is no hash.
    NoHash,
}

impl Expected {
    fn text(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Token(token) => token,
            Self::NoToken => "-",
            Self::NoHash => "!",
        }
    }
}

/// What one write does, as commands.
#[derive(Debug)]
pub(crate) struct Plan {
    tag: String,
    pub(crate) expected: Expected,
    from: Timestamp,
    until: Timestamp,
    /// What must not be there, and how it is looked for.
    inserted: Vec<(Row, [String; 3])>,
    graves: Vec<String>,
    sizes: Vec<(&'static str, String, u64)>,
    touched: Vec<(&'static str, String)>,
    commands: Vec<Command>,
    /// The last command that sets fields of a hash, by key.
    sets: HashMap<String, usize>,
    hint: Vec<u8>,
    /// The life that is there afterwards.
    pub(crate) place: u64,
    /// Whether it makes room, so that it is run also where there is none.
    pub(crate) removes: bool,
}

#[derive(Debug)]
enum Command {
    Plain(Vec<Vec<u8>>),
    /// What the script does by itself.
    Special(&'static str, Vec<Vec<u8>>),
}

/// A number for a new life.
pub(crate) fn new_life() -> u64 {
    // Numbers have 52 bits, as a script computes exactly.
    (Token::random().0 >> 12).max(1)
}

impl Plan {
    pub(crate) fn new(keys: &Keys, partition: u16, expected: Expected) -> Self {
        Self {
            tag: keys.tag(partition),
            expected,
            from: Timestamp::from_ms(i64::MIN),
            until: Timestamp::from_ms(i64::MAX),
            inserted: Vec::new(),
            graves: Vec::new(),
            sizes: Vec::new(),
            touched: Vec::new(),
            commands: Vec::new(),
            sets: HashMap::new(),
            hint: Vec::new(),
            place: 0,
            removes: false,
        }
    }

    /// What `write` takes. `draft` is the life that was copied for it.
    pub(crate) fn of(keys: &Keys, write: &Write, draft: Option<u64>) -> Result<Self, Fault> {
        let partition = keys.partition_of(&write.key);
        let expected = match &write.before {
            Some(slot) => Expected::Token(token_text(slot.token)),
            None => Expected::Nothing,
        };
        let mut plan = Self::new(keys, partition, expected);
        (plan.from, plan.until) = (write.from, write.until);
        let (before, after) = (write.row_before(), write.row_after());
        let begins = after.is_some() && (before.is_none() || write.ends_life());
        let old = before.map(|_| write.before.as_ref().map_or(0, |slot| slot.place));
        plan.place = match (after, old) {
            (None, _) => 0,
            (Some(_), Some(old)) if !begins => old,
            (Some(_), _) => draft.unwrap_or_else(new_life),
        };
        plan.removes = after.is_none() || write.ops.iter().any(|op| matches!(op, Op::DeleteUpTo(..)));
        if let (Some(row), None) = (after, before) {
            plan.graves.extend(keys.graves(
                &write.key,
                &row.incarnation.to_string(),
                row.created_by.as_str(),
            ));
        }
        if let (Some(prefix), Some(number)) = (&write.copy, draft) {
            let life = keys.life(partition, number);
            plan.sizes.push(("HLEN", life.key("messages"), prefix.last_message.0));
            plan.sizes.push(("HLEN", life.key("events"), prefix.last_event.0));
            for (name, _) in OF_LIFE {
                plan.touch("EXISTS", &life.key(name));
                plan.plain(["PERSIST".into(), life.key(name).into()]);
            }
        }
        let key = keys.row(&write.key);
        plan.touch("HLEN", &key);
        let old_life = old.map(|number| keys.life(partition, number));
        plan.slot(&key, write, begins);
        plan.indexes(write.before.as_deref(), write.after.as_deref());
        let life = keys.life(partition, plan.place);
        for op in &write.ops {
            match (op, &old_life) {
                (Op::Delete(gone), Some(old)) if gone.kind == Kind::Pending => {
                    plan.close(old, write, gone.as_name())
                }
                (op, _) if after.is_some() => plan.op(&life, write, op, begins)?,
                (_, _) => {}
            }
        }
        if let Some(old) = old_life.filter(|_| write.ends_life()) {
            plan.end_life(&old);
        }
        plan.hint = hint_of(write);
        Ok(plan)
    }

    /// Touches a key before anything is written.
    pub(crate) fn touch(&mut self, size: &'static str, key: &str) {
        if !self.touched.iter().any(|(_, touched)| touched == key) {
            self.touched.push((size, key.to_owned()));
        }
    }

    pub(crate) fn plain<const N: usize>(&mut self, command: [Vec<u8>; N]) {
        self.commands.push(Command::Plain(command.into()));
    }

    /// Tells whoever listens.
    pub(crate) fn tell(&mut self, hint: Vec<u8>) {
        self.hint = hint;
    }

    fn hset(&mut self, key: &str, field: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.touch("HLEN", key);
        let at = self.sets.get(key).copied();
        if let Some(Command::Plain(command)) = at.and_then(|at| self.commands.get_mut(at))
            && command.len() < COMMAND_ARGS_MAX
        {
            command.extend([field.into(), value.into()]);
            return;
        }
        self.sets.insert(key.to_owned(), self.commands.len());
        self.plain(["HSET".into(), key.into(), field.into(), value.into()]);
    }

    fn unlink(&mut self, size: &'static str, key: &str) {
        self.touch(size, key);
        self.sets.remove(key);
        self.plain(["UNLINK".into(), key.into()]);
    }

    /// What stands under the session's key.
    fn slot(&mut self, key: &str, write: &Write, begins: bool) {
        let before = write.before.as_deref();
        let Some(slot) = write.after.as_deref() else {
            return self.plain(["DEL".into(), key.into()]);
        };
        let Some(row) = &slot.row else {
            if write.row_before().is_some() {
                self.plain(["DEL".into(), key.into()]);
            }
            self.hset(key, "token", token_text(slot.token));
            return self.hset(key, "lives", lives_text(&slot.lives));
        };
        if begins && write.row_before().is_some() {
            self.plain(["DEL".into(), key.into()]);
        }
        self.hset(key, "token", token_text(slot.token));
        let known = write.row_before().filter(|_| !begins).map(fields).unwrap_or_default();
        let mut gone: HashMap<&'static str, String> = known.into_iter().collect();
        for (name, value) in fields(row) {
            if gone.remove(name).is_none_or(|old| old != value) {
                self.hset(key, name, value);
            }
        }
        if begins {
            self.hset(key, "life", self.place.to_string());
            // A fork has none of its source's runs.
            let runs_from = if write.copy.is_some() { row.epoch.0 } else { 0 };
            self.hset(key, "runs_from", runs_from.to_string());
        }
        let lives = before.map_or(&[][..], |slot| &slot.lives);
        let lives = if begins && write.row_before().is_some() { &[][..] } else { lives };
        match (slot.lives.as_slice(), lives) {
            (now, before) if now == before => {}
            ([], _) => drop(gone.insert("lives", String::new())),
            (now, _) => self.hset(key, "lives", lives_text(now)),
        }
        if !gone.is_empty() {
            let mut command = vec!["HDEL".into(), key.into()];
            command.extend(gone.into_keys().map(Vec::from));
            self.commands.push(Command::Plain(command));
        }
    }

    /// The indexes that follow what stands under the key.
    fn indexes(&mut self, before: Option<&Slot>, after: Option<&Slot>) {
        let (from, to) = (entries(before), entries(after));
        for (index, member) in from.iter().filter(|entry| !to.contains(entry)) {
            self.index("ZREM", index, member);
        }
        for (index, member) in to.iter().filter(|entry| !from.contains(entry)) {
            self.index("ZADD", index, member);
        }
    }

    /// Adds to an index (by the end of its key), or removes from it.
    pub(crate) fn index(&mut self, command: &str, index: &str, member: &[u8]) {
        let key = format!("{}:{index}", self.tag);
        self.touch("ZCARD", &key);
        if command == "ZADD" {
            self.plain([command.into(), key.into(), "0".into(), member.into()]);
        } else {
            self.plain([command.into(), key.into(), member.into()]);
        }
    }

    /// Removes everything of a life. Its memory is freed beside the server's own work, however large it is.
    pub(crate) fn end_life(&mut self, life: &Life) {
        for (name, _) in OF_LIFE {
            self.unlink("EXISTS", &life.key(name));
        }
    }

    /// Takes an open pending call out of its life and out of the list of its tenant.
    fn close(&mut self, life: &Life, write: &Write, id: &str) {
        let (pending, open) = (life.key("pending"), life.key("open"));
        let index = format!("{}:{}", self.tag, pending_index(&write.key));
        self.touch("HLEN", &pending);
        self.touch("ZCARD", &open);
        self.touch("ZCARD", &index);
        let names = format!("\0{}\0{id}", write.key.id);
        let unlisted = vec![pending.clone().into(), id.into(), index.into(), names.into()];
        self.commands.push(Command::Special("unlist", unlisted));
        self.sets.remove(&pending);
        self.plain(["HDEL".into(), pending.into(), format!("f{id}").into(), format!("r{id}").into()]);
        self.plain(["ZREM".into(), open.into(), id.into()]);
    }

    fn op(&mut self, life: &Life, write: &Write, op: &Op, begins: bool) -> Result<(), Fault> {
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
                if !begins {
                    self.unlink("HLEN", &key);
                }
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
                self.unread(life, item);
            }
            Row::Key { key, seq, content } => {
                self.hset(&life.key("items"), key.as_str(), records::key_record(*seq, *content));
            }
            Row::Staged(result) => {
                self.hset(&life.key("staged"), result.call.as_str(), sealed(&result.payload));
            }
            Row::Start(call) => {
                let key = life.key("starts");
                self.touch("SCARD", &key);
                self.plain(["SADD".into(), key.into(), call.as_str().into()]);
            }
            Row::Pending { order, call } => {
                let key = life.key("pending");
                self.hset(&key, format!("f{}", call.id), records::pending_facts(call));
                // An answer changes nothing else.
                if call.answered == 0 {
                    self.hset(&key, format!("r{}", call.id), records::pending_record(call));
                    let open = life.key("open");
                    self.touch("ZCARD", &open);
                    self.plain(["ZADD".into(), open.into(), number(*order).into(), call.id.as_str().into()]);
                    self.index("ZADD", &pending_index(&write.key), &place::of_pending(call));
                }
            }
            Row::Opened(id) => {
                let key = life.key("ever");
                self.touch("SCARD", &key);
                self.plain(["SADD".into(), key.into(), id.as_str().into()]);
            }
            Row::Run(run) => {
                let key = life.key("runs");
                self.hset(&key, number(run.epoch.0), records::run_record(run));
                if let Some(end) = &run.end {
                    self.hset(&key, format!("{}e", run.epoch.0), records::end_record(end));
                }
            }
            Row::Checkpoint(at) => {
                self.hset(&life.key("checkpoints"), number(at.id.0), records::checkpoint_record(at));
                let (key, id) = (life.key("restorable"), number(at.id.0));
                self.touch("ZCARD", &key);
                self.plain(["ZADD".into(), key.into(), id.clone().into(), id.into()]);
            }
            Row::Delta(delta) => self.hset(&life.key("deltas"), number(delta.place), sealed(&delta.payload)),
        }
    }

    fn unread(&mut self, life: &Life, item: &StoredItem) {
        let (key, seq) = (life.key("unread"), item.seq.0.to_string());
        self.touch("ZCARD", &key);
        self.plain(["ZADD".into(), key.into(), seq.clone().into(), seq.into()]);
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
            // Removed with its place in the list.
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

    /// As a script reads it.
    pub(crate) fn args(&self, args: Args) -> Args {
        let mut args = args.text(self.expected.text()).bound(self.from).bound(self.until);
        args.push_size(self.inserted.len());
        for (_, looked_for) in &self.inserted {
            looked_for.iter().for_each(|arg| args.push(arg.as_str()));
        }
        args.push_size(self.graves.len());
        self.graves.iter().for_each(|grave| args.push(grave.as_str()));
        args.push_size(self.sizes.len());
        for (command, key, size) in &self.sizes {
            args.push(*command);
            args.push(key.as_str());
            args.push_number(*size);
        }
        args.push_size(self.touched.len());
        for (command, key) in &self.touched {
            args.push(*command);
            args.push(key.as_str());
        }
        args.push_size(self.commands.len());
        for command in &self.commands {
            let parts = match command {
                Command::Plain(parts) => {
                    args.push_size(parts.len());
                    parts
                }
                Command::Special(name, parts) => {
                    args.push(*name);
                    parts
                }
            };
            parts.iter().for_each(|part| args.push(part.as_slice()));
        }
        args.bytes(self.hint.as_slice())
    }

    /// What a script has answered.
    pub(crate) fn outcome(&self, reply: &mut Reply) -> Result<(Timestamp, Outcome), Fault> {
        let word = reply.text()?;
        let now = crate::reply::instant(&reply.bytes()?)?;
        let outcome = match word.as_str() {
            "applied" => Outcome::Applied(reply.number()?),
            "lost" => Outcome::Lost,
            "taken" => {
                let index = usize::try_from(reply.number()?).unwrap_or(usize::MAX);
                let (row, _) = self.inserted.get(index).ok_or_else(cut)?;
                Outcome::Taken(if let Row::Key { key, .. } = row {
                    records::item_key(key, &reply.bytes()?)?
                } else {
                    row.clone()
                })
            }
            "buried" => {
                let is_operation = reply.number()? == 1;
                Outcome::Buried { is_operation, at: crate::reply::instant(&reply.bytes()?)? }
            }
            "incomplete" => Outcome::Incomplete,
            other => return crate::store::unknown(other),
        };
        Ok((now, outcome))
    }
}

fn cut() -> Fault {
    Fault::Corrupt("the answer names no row".into())
}

/// How a script ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Applied; so many entries and fields are new or gone.
    Applied(u64),
    Lost,
    Taken(Row),
    /// A version before tokens has deleted the life that was to be made: it had the same operation, or the same
    /// incarnation.
    Buried {
        is_operation: bool,
        at: Timestamp,
    },
    /// What was copied is not all there.
    Incomplete,
}

impl Outcome {
    pub(crate) fn verdict(self, now: Timestamp, place: u64) -> Verdict {
        match self {
            Self::Applied(_) => Verdict::Applied { now, place },
            Self::Taken(row) => Verdict::Taken { now, row },
            Self::Lost | Self::Buried { .. } | Self::Incomplete => Verdict::Lost,
        }
    }
}

/// The life that a version before tokens has deleted, as far as it is known.
pub(crate) fn buried(write: &Write, row: &SessionRow, is_operation: bool, at: Timestamp) -> Tombstone {
    let incarnation = if is_operation { NO_LIFE } else { row.incarnation };
    let operation = if is_operation { row.created_by.clone() } else { no_operation() };
    Tombstone { key: write.key.clone(), incarnation, operation, at }
}

/// As much of a tombstone as is known of a torn session.
pub(crate) fn torn_tombstone(
    key: &SessionKey,
    incarnation: Option<Incarnation>,
    operation: Option<OperationId>,
    at: Timestamp,
) -> Tombstone {
    Tombstone {
        key: key.clone(),
        incarnation: incarnation.unwrap_or(NO_LIFE),
        operation: operation.unwrap_or_else(no_operation),
        at,
    }
}

/// The operation that is named where it is not known which.
fn no_operation() -> OperationId {
    // A random one is no other's.
    let text = format!("unknown-{:016x}", Token::random().0);
    OperationId::new(text).unwrap_or_else(|_| unreachable!("letters and digits are an id"))
}

fn unsupported(what: &str) -> Result<(), Fault> {
    Err(Fault::Invalid(what.to_owned()))
}

/// The command that finds a row which must not be there.
fn looked_for(life: &Life, row: &Row) -> Result<[String; 3], Fault> {
    if let Row::Key { key, .. } = row {
        Ok(["HGET".into(), life.key("items"), key.to_string()])
    } else if let Row::Opened(id) = row {
        Ok(["SISMEMBER".into(), life.key("ever"), id.to_string()])
    } else {
        Err(Fault::Invalid(format!("{}: it cannot be inserted under a condition", row.key())))
    }
}

/// The list of a tenant's pending calls.
pub(crate) fn pending_index(key: &SessionKey) -> String {
    format!("pending:{}", key.tenant)
}

/// Where what stands under a key stands in the indexes: the end of the index's key, and the member.
pub(crate) fn entries(slot: Option<&Slot>) -> Vec<(String, Vec<u8>)> {
    let Some(slot) = slot else { return Vec::new() };
    let Some(row) = &slot.row else {
        return slot
            .lives
            .last()
            .map(|last| ("dead".into(), place::of_all(last.at, &last.key)))
            .into_iter()
            .collect();
    };
    let mut entries =
        vec![(format!("sessions:{}", row.key.tenant), place::of_tenant(row.created_at, &row.key.id))];
    if let Some(at) = row.alarm {
        let alarm = place::of_all(at, &row.key);
        entries.push(("alarms".into(), alarm.clone()));
        entries.push((format!("alarms:{}", row.queue), alarm.clone()));
        // Due in every queue.
        if row.interrupt.is_some() {
            entries.push(("interrupted".into(), alarm));
        }
    }
    if row.quiet() {
        entries.push(("resting".into(), place::of_all(row.updated_at, &row.key)));
    }
    entries
}

/// What whoever listens is told; nothing if only a lease runs on or an interrupt was handed out.
fn hint_of(write: &Write) -> Vec<u8> {
    let after = write.row_after();
    if let (Some(before), Some(after), true) = (write.row_before(), after, write.ops.is_empty()) {
        let same = SessionRow {
            lease: after.lease.clone(),
            alarm: after.alarm,
            updated_at: after.updated_at,
            interrupt_handed_to: after.interrupt_handed_to,
            ..before.clone()
        };
        if same == *after && before.status == after.status {
            return Vec::new();
        }
    }
    let due = after.and_then(|row| row.alarm).is_some_and(|alarm| alarm <= write.from);
    pack(&[write.key.tenant.as_str(), write.key.id.as_str(), if due { "1" } else { "0" }])
}
