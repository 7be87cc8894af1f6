//! Converts a write to the commands of a script, and reads the outcome.

mod entries;
mod ops;
mod outcome;

use std::collections::HashMap;

use holdover_store::ids::SessionKey;
use holdover_store::rows::{Kind, Op, Row, Slot, Token, Write};
use holdover_store::time::Timestamp;

use crate::args::Args;
use crate::error::Fault;
use crate::keys::{Keys, Life, OF_LIFE};
use crate::place;
use crate::records;
use crate::reply::Reply;
use crate::row::{fields, lives_text, token_text};

pub(crate) use self::entries::{
    due_entries, entries, kinds_index, label_members, labels_index, life_entry, lives_index, pending_entries,
    pending_index,
};
pub(crate) use self::outcome::{Outcome, buried, torn_tombstone};

/// The most arguments of one command: a script cannot pass many thousands at once.
const COMMAND_ARGS_MAX: usize = 1_000;

/// The state of the row that a write requires, in the form in which a script compares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The key does not exist.
    Nothing,
    /// A slot with this token, in its stored form.
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

/// The commands of one write.
#[derive(Debug)]
pub(crate) struct Plan {
    tag: String,
    pub(crate) expected: Expected,
    from: Timestamp,
    until: Timestamp,
    /// Rows that must not exist, each with the command that looks for it.
    inserted: Vec<(Row, [String; 3])>,
    graves: Vec<String>,
    sizes: Vec<(&'static str, String, u64)>,
    touched: Vec<(&'static str, String)>,
    commands: Vec<Command>,
    /// The position of the last command that sets fields of a hash, by the key of the hash.
    sets: HashMap<String, usize>,
    hint: Vec<u8>,
    /// The number of the incarnation that exists afterwards; 0 if none exists.
    pub(crate) place: u64,
    /// True if the write frees memory, so that it runs even if the server has none left.
    pub(crate) removes: bool,
}

#[derive(Debug)]
enum Command {
    Plain(Vec<Vec<u8>>),
    /// A command that the script itself implements.
    Special(&'static str, Vec<Vec<u8>>),
}

/// Returns a random number for a new incarnation.
pub(crate) fn new_life() -> u64 {
    // Numbers have 52 bits, because a script computes exactly with these.
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

    /// Creates the plan of `write`. `draft` is the incarnation that was copied for it.
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
        if !write.keeps_entries() {
            plan.indexes(write.before.as_deref(), write.after.as_deref());
        }
        if let (Some(old), Some(row)) = (old_life.as_ref().filter(|_| write.ends_life()), before) {
            plan.unlabel(old, &row.key, row.created_at);
        }
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
        plan.hint = write.change(write.from).map(|change| change.to_string().into()).unwrap_or_default();
        Ok(plan)
    }

    /// Adds a key that is touched before anything is written. `size` is the command that touches it.
    pub(crate) fn touch(&mut self, size: &'static str, key: &str) {
        if !self.touched.iter().any(|(_, touched)| touched == key) {
            self.touched.push((size, key.to_owned()));
        }
    }

    pub(crate) fn plain<const N: usize>(&mut self, command: [Vec<u8>; N]) {
        self.commands.push(Command::Plain(command.into()));
    }

    /// Sets the change hint that is published to listeners.
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

    /// Writes the row under the session's key.
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

    /// Updates the indexes that depend on the row.
    fn indexes(&mut self, before: Option<&Slot>, after: Option<&Slot>) {
        let (from, to) = (entries(before), entries(after));
        for (index, member) in from.iter().filter(|entry| !to.contains(entry)) {
            self.index("ZREM", index, member);
        }
        for (index, member) in to.iter().filter(|entry| !from.contains(entry)) {
            self.index("ZADD", index, member);
        }
    }

    /// Adds a member to an index, or removes it. The name of an index is the end of its key.
    pub(crate) fn index(&mut self, command: &str, index: &str, member: &[u8]) {
        let key = format!("{}:{index}", self.tag);
        self.touch("ZCARD", &key);
        if command == "ZADD" {
            self.plain([command.into(), key.into(), "0".into(), member.into()]);
        } else {
            self.plain([command.into(), key.into(), member.into()]);
        }
    }

    /// Removes all keys of an incarnation. The server frees their memory in the background.
    pub(crate) fn end_life(&mut self, life: &Life) {
        for (name, _) in OF_LIFE {
            self.unlink("EXISTS", &life.key(name));
        }
    }

    /// Removes an open pending call from its incarnation and from the lists of its tenant.
    fn close(&mut self, life: &Life, write: &Write, id: &str) {
        let (pending, open) = (life.key("pending"), life.key("open"));
        let tenant = &write.key.tenant;
        let indexes = [pending_index(tenant), kinds_index(tenant)].map(|name| format!("{}:{name}", self.tag));
        self.touch("HLEN", &pending);
        self.touch("ZCARD", &open);
        indexes.iter().for_each(|index| self.touch("ZCARD", index));
        let names = format!("\0{}\0{id}", write.key.id);
        let [all, kinds] = indexes.map(String::into_bytes);
        let unlisted = vec![pending.clone().into(), id.into(), all, kinds, names.into()];
        self.commands.push(Command::Special("unlist", unlisted));
        self.sets.remove(&pending);
        self.plain(["HDEL".into(), pending.into(), format!("f{id}").into(), format!("r{id}").into()]);
        self.plain(["ZREM".into(), open.into(), id.into()]);
    }

    /// Removes a session from the index by label.
    pub(crate) fn unlabel(&mut self, life: &Life, key: &SessionKey, created: Timestamp) {
        let (labels, index) = (life.key("labels"), format!("{}:{}", self.tag, labels_index(&key.tenant)));
        self.touch("EXISTS", &labels);
        self.touch("ZCARD", &index);
        let unlabelled = vec![labels.into(), index.into(), place::of_tenant(created, &key.id)];
        self.commands.push(Command::Special("unlabel", unlabelled));
    }

    /// Converts the plan to the arguments of a script.
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

    /// Reads the answer of the script.
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
