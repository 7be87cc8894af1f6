//! Lists the items of the facade.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of items are rustdoc's, and few of them are listed"
)]

use std::collections::{BTreeMap, BTreeSet};

use rustdoc_types::{
    Attribute, Crate, Id, Impl, Item, ItemEnum, Module, StructKind, Use, VariantKind, Visibility,
};

use super::docs::Docs;
use super::types;

/// The module with the pages of the guide, which has no items.
const GUIDE: &str = "guide";
const HEAD: &str = "\
Every name that the crate `holdover` exports, with all its features: its home, and what it has.
`cargo xtask public-api --write` makes this list, and ./check compares it.
";

/// Lists the exports of the facade: its modules by name, and in each module the items by name.
pub fn list(docs: &Docs) -> Result<String, String> {
    let facade = docs.facade()?;
    let mut list = Lister { docs, lines: Vec::new() };
    for (name, item) in named(facade, &module_of(facade, facade.root)?.items) {
        if name != GUIDE {
            list.item(facade, &name, item, 0)?;
        }
    }
    let lines: String = list.lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(format!("{HEAD}\n{lines}"))
}

struct Lister<'d> {
    docs: &'d Docs,
    lines: Vec<String>,
}

impl Lister<'_> {
    fn line(&mut self, depth: usize, text: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "  ".repeat(depth), text.as_ref()));
    }

    fn item(&mut self, of: &Crate, name: &str, item: &Item, depth: usize) -> Result<(), String> {
        let open = if item.attrs.contains(&Attribute::NonExhaustive) { ", non-exhaustive" } else { "" };
        match &item.inner {
            ItemEnum::Module(module) => {
                if depth == 0 && !self.lines.is_empty() {
                    self.lines.push(String::new());
                }
                self.line(depth, format!("mod {name}"));
                for (name, item) in named(of, &module.items) {
                    self.item(of, &name, item, depth + 1)?;
                }
            }
            ItemEnum::Use(used) => self.used(of, name, used, depth)?,
            ItemEnum::Struct(one) => {
                let parameters = types::parameters(&one.generics);
                let fields = match &one.kind {
                    StructKind::Unit => String::new(),
                    StructKind::Tuple(fields) => tuple(of, fields),
                    StructKind::Plain { .. } => String::new(),
                };
                self.line(depth, format!("struct {name}{parameters}{fields}{open}"));
                if let StructKind::Plain { fields, .. } = &one.kind {
                    for (name, type_) in fields_of(of, fields) {
                        self.line(depth + 1, format!("{name}: {type_}"));
                    }
                }
                self.impls(of, &one.impls, depth + 1);
            }
            ItemEnum::Enum(one) => {
                self.line(depth, format!("enum {name}{}{open}", types::parameters(&one.generics)));
                for variant in one.variants.iter().filter_map(|id| of.index.get(id)) {
                    self.variant(of, variant, depth + 1);
                }
                self.impls(of, &one.impls, depth + 1);
            }
            ItemEnum::Trait(one) => {
                let bounds = types::bounded(&one.bounds);
                let colon = if bounds.is_empty() { "" } else { ": " };
                self.line(depth, format!("trait {name}{}{colon}{bounds}", types::parameters(&one.generics)));
                self.members(of, &one.items, depth + 1);
            }
            ItemEnum::Function(one) => self.line(depth, types::function(name, one)),
            ItemEnum::Constant { type_, .. } => {
                self.line(depth, format!("const {name}: {}", types::of(type_)))
            }
            ItemEnum::Static(one) => self.line(depth, format!("static {name}: {}", types::of(&one.type_))),
            ItemEnum::TypeAlias(one) => {
                let parameters = types::parameters(&one.generics);
                self.line(depth, format!("type {name}{parameters} = {}", types::of(&one.type_)));
            }
            other => self.line(depth, format!("{:?} {name}", other.item_kind())),
        }
        Ok(())
    }

    /// Lists an export by `pub use`. An item of another crate of the workspace is listed in full, an item that the
    /// facade exports elsewhere with its path there, and any other item with its origin only.
    fn used(&mut self, of: &Crate, name: &str, used: &Use, depth: usize) -> Result<(), String> {
        if used.source.starts_with("crate::") {
            self.line(depth, format!("{name} = {}", used.source.trim_start_matches("crate::")));
            return Ok(());
        }
        if used.is_glob {
            return Err(format!("{}: write the names out, so that each has its home", used.source));
        }
        let defined = used.id.and_then(|id| of.paths.get(&id)).map(|summary| summary.path.clone());
        let path = defined.unwrap_or_else(|| used.source.split("::").map(str::to_owned).collect());
        if let Some((of, item)) = self.docs.find(&path) {
            return self.item(of, name, item, depth);
        }
        match path.first() {
            Some(first) if path.len() > 1 && self.docs.is_ours(first) => {
                Err(format!("{}: it is not in the documentation", path.join("::")))
            }
            _ => {
                self.line(depth, format!("{name} from {}", path.join("::")));
                Ok(())
            }
        }
    }

    fn variant(&mut self, of: &Crate, variant: &Item, depth: usize) {
        let ItemEnum::Variant(kind) = &variant.inner else { return };
        let name = variant.name.clone().unwrap_or_default();
        let fields = match &kind.kind {
            VariantKind::Plain => String::new(),
            VariantKind::Tuple(fields) => tuple(of, fields),
            VariantKind::Struct { fields, .. } => {
                let fields =
                    fields_of(of, fields).into_iter().map(|(name, type_)| format!("{name}: {type_}"));
                format!(" {{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
        };
        let open = if variant.attrs.contains(&Attribute::NonExhaustive) { ", non-exhaustive" } else { "" };
        self.line(depth, format!("{name}{fields}{open}"));
    }

    /// Lists the methods of a type, and the traits that it implements or derives. Auto traits and blanket
    /// implementations are left out.
    fn impls(&mut self, of: &Crate, impls: &[Id], depth: usize) {
        let mut traits = BTreeSet::new();
        let mut methods = BTreeMap::new();
        for one in impls.iter().filter_map(|id| implementation(of, *id)) {
            match &one.trait_ {
                Some(_) if one.is_synthetic || one.blanket_impl.is_some() => {}
                Some(trait_) => {
                    traits.insert(types::path(trait_));
                }
                None => methods.extend(named(of, &one.items).into_iter().map(|(name, item)| (name, item.id))),
            }
        }
        traits.remove("StructuralPartialEq");
        self.members(of, &methods.into_values().collect::<Vec<_>>(), depth);
        if !traits.is_empty() {
            self.line(depth, format!("impl {}", traits.into_iter().collect::<Vec<_>>().join(" + ")));
        }
    }

    fn members(&mut self, of: &Crate, items: &[Id], depth: usize) {
        for item in items.iter().filter_map(|id| of.index.get(id)) {
            let name = item.name.clone().unwrap_or_default();
            let written = match &item.inner {
                ItemEnum::Function(one) => types::function(&name, one),
                ItemEnum::AssocConst { type_, .. } => format!("const {name}: {}", types::of(type_)),
                ItemEnum::AssocType { type_: Some(is), .. } => format!("type {name} = {}", types::of(is)),
                ItemEnum::AssocType { type_: None, bounds, .. } => {
                    format!("type {name}: {}", types::bounded(bounds))
                }
                other => format!("{:?} {name}", other.item_kind()),
            };
            let provided = matches!(&item.inner, ItemEnum::Function(one) if one.has_body)
                && matches!(item.visibility, Visibility::Default);
            self.line(depth, if provided { format!("{written} {{ … }}") } else { written });
        }
    }
}

fn implementation(of: &Crate, id: Id) -> Option<&Impl> {
    match &of.index.get(&id)?.inner {
        ItemEnum::Impl(one) => Some(one),
        _ => None,
    }
}

fn module_of(of: &Crate, id: Id) -> Result<&Module, String> {
    match of.index.get(&id).map(|item| &item.inner) {
        Some(ItemEnum::Module(module)) => Ok(module),
        _ => Err("the root of a crate is a module".to_owned()),
    }
}

/// Returns the public items, sorted by name.
fn named<'c>(of: &'c Crate, items: &[Id]) -> Vec<(String, &'c Item)> {
    let public = items.iter().filter_map(|id| of.index.get(id));
    let public = public.filter(|item| matches!(item.visibility, Visibility::Public));
    let mut named: Vec<_> = public
        .map(|item| match &item.inner {
            ItemEnum::Use(used) => (used.name.clone(), item),
            _ => (item.name.clone().unwrap_or_default(), item),
        })
        .collect();
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    named
}

fn fields_of(of: &Crate, fields: &[Id]) -> Vec<(String, String)> {
    let items = fields.iter().filter_map(|id| of.index.get(id));
    let fields = items.filter_map(|item| match &item.inner {
        ItemEnum::StructField(type_) => Some((item.name.clone().unwrap_or_default(), types::of(type_))),
        _ => None,
    });
    fields.collect()
}

fn tuple(of: &Crate, fields: &[Option<Id>]) -> String {
    let written = fields.iter().map(|field| match field {
        Some(id) => fields_of(of, &[*id]).pop().map_or_else(|| "_".to_owned(), |(_, type_)| type_),
        None => "_".to_owned(),
    });
    format!("({})", written.collect::<Vec<_>>().join(", "))
}
