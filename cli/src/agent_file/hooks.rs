//! The `[[hook]]` tables of a file, and the summariser in its `[compaction]` table.

use std::ops::Range;
use std::path::Path;

use holdover_core::agent::Compaction;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use toml::Spanned;

use super::absolute_script;
use super::entries::ModelEntry;
use super::tools::existing_program;
use crate::hooks::{HookRef, SummariserRef};

/// A position in the file, and the fault there.
type Wrong = (Range<usize>, String);

/// Returns the hooks of the `[[hook]]` tables. Relative program paths are resolved against the file's folder. `names_tool`
/// returns true if a pattern matches a tool of the agent.
pub(super) fn read(
    tables: Vec<Spanned<HookRef>>,
    folder: &Path,
    names_tool: impl Fn(&str) -> bool,
) -> Result<Vec<HookRef>, Wrong> {
    let mut hooks: Vec<HookRef> = Vec::new();
    for table in tables {
        let span = table.span();
        let mut hook = table.into_inner();
        hook.check().map_err(|why| (span.clone(), why))?;
        if hooks.iter().any(|other| other.name == hook.name) {
            return Err((span, hook.wrong("is declared twice")));
        }
        // A pattern that matches no tool is a typing error and protects nothing.
        let stray = hook.tools.iter().find(|pattern| !names_tool(pattern.as_str()));
        if let Some(pattern) = stray {
            return Err((span, hook.wrong(&format!("tools: {pattern:?} is none of the agent's tools"))));
        }
        if let Some(program) = hook.command.first_mut() {
            let found = existing_program(program, folder);
            found.map_err(|why| (span, hook.wrong(&format!("command: {why}"))))?;
        }
        hooks.push(hook);
    }
    Ok(hooks)
}

/// The `[compaction]` table: core's [`Compaction`], and `summariser`.
#[derive(Debug, Default)]
pub(super) struct CompactionEntry {
    pub(super) rules: Compaction,
    pub(super) summariser: Option<Spanned<SummariserEntry>>,
}

/// The value of `summariser`, as written in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SummariserEntry {
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    pass_environment: Vec<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    bearer_env: Option<String>,
    #[serde(default)]
    model: Option<ModelEntry>,
}

/// Returns the summariser. Relative paths are resolved against the file's folder.
pub(super) fn summariser(
    entry: Option<Spanned<SummariserEntry>>,
    folder: &Path,
) -> Result<Option<SummariserRef>, Wrong> {
    let Some(entry) = entry else { return Ok(None) };
    let span = entry.span();
    let wrong = |why: String| (span.clone(), format!("compaction.summariser: {why}"));
    let SummariserEntry { command, pass_environment, url, bearer_env, model } = entry.into_inner();
    let model = model.map(|ModelEntry(model)| absolute_script(model, folder));
    let mut summariser = SummariserRef { command, pass_environment, url, bearer_env, model };
    summariser.check().map_err(wrong)?;
    if let Some(program) = summariser.command.first_mut() {
        existing_program(program, folder).map_err(|why| wrong(format!("command: {why}")))?;
    }
    Ok(Some(summariser))
}

impl<'de> Deserialize<'de> for CompactionEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = CompactionEntry;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CompactionEntry, A::Error> {
                let mut summariser = None;
                let rest = Rest { map, summariser: &mut summariser };
                let rules = Compaction::deserialize(MapAccessDeserializer::new(rest))?;
                Ok(CompactionEntry { rules, summariser })
            }
        }
        deserializer.deserialize_map(Table)
    }
}

/// A table from which the summariser is taken out.
struct Rest<'a, A> {
    map: A,
    summariser: &'a mut Option<Spanned<SummariserEntry>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, mut seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.map.next_key_seed(KeyOfRest(seed))? {
                None => return Ok(None),
                Some(Key::OfRest(key)) => return Ok(Some(key)),
                Some(Key::Summariser(unused)) => seed = unused,
            }
            if self.summariser.replace(self.map.next_value()?).is_some() {
                return Err(A::Error::duplicate_field("summariser"));
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Reads a key by this seed, unless the key is `summariser`.
struct KeyOfRest<K>(K);

/// A key that was read, or the unused seed.
enum Key<K, V> {
    OfRest(V),
    Summariser(K),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KeyOfRest<K> {
    type Value = Key<K, K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let key = String::deserialize(deserializer)?;
        if key == "summariser" {
            return Ok(Key::Summariser(self.0));
        }
        self.0.deserialize(IntoDeserializer::<D::Error>::into_deserializer(key)).map(Key::OfRest)
    }
}
