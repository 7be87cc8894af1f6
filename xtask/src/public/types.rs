//! Writes types, bounds and signatures for the list: paths are cut to their last name, and only the lifetime
//! `'static` is kept.

use rustdoc_types::{
    AssocItemConstraintKind, Function, GenericArg, GenericArgs, GenericBound, GenericParamDef,
    GenericParamDefKind, Generics, Path, Term, TraitBoundModifier, Type, WherePredicate,
};

pub(super) fn of(one: &Type) -> String {
    match one {
        Type::ResolvedPath(at) => path(at),
        Type::DynTrait(dynamic) => {
            let mut traits: Vec<_> = dynamic.traits.iter().map(|one| path(&one.trait_)).collect();
            traits.extend(dynamic.lifetime.iter().filter(|one| *one == "'static").cloned());
            format!("dyn {}", traits.join(" + "))
        }
        Type::Generic(name) | Type::Primitive(name) => name.clone(),
        Type::FunctionPointer(pointer) => {
            let inputs: Vec<_> = pointer.sig.inputs.iter().map(|(_, one)| of(one)).collect();
            format!("fn({}){}", inputs.join(", "), output(pointer.sig.output.as_ref()))
        }
        Type::Tuple(parts) => format!("({})", parts.iter().map(of).collect::<Vec<_>>().join(", ")),
        Type::Slice(one) => format!("[{}]", of(one)),
        Type::Array { type_, len } => format!("[{}; {len}]", of(type_)),
        Type::Pat { type_, .. } => of(type_),
        Type::ImplTrait(bounds) => format!("impl {}", bounded(bounds)),
        Type::Infer => "_".to_owned(),
        Type::RawPointer { is_mutable, type_ } => {
            format!("*{} {}", if *is_mutable { "mut" } else { "const" }, of(type_))
        }
        Type::BorrowedRef { lifetime, is_mutable, type_ } => {
            let lifetime = lifetime.as_deref().filter(|one| *one == "'static").map(|one| format!("{one} "));
            format!("&{}{}{}", lifetime.unwrap_or_default(), if *is_mutable { "mut " } else { "" }, of(type_))
        }
        Type::QualifiedPath { name, self_type, .. } => format!("{}::{name}", of(self_type)),
    }
}

pub(super) fn path(at: &Path) -> String {
    let name = at.path.rsplit("::").next().unwrap_or_default();
    format!("{name}{}", at.args.as_deref().map(arguments).unwrap_or_default())
}

fn arguments(given: &GenericArgs) -> String {
    match given {
        GenericArgs::AngleBracketed { args, constraints } => {
            let written = args.iter().filter_map(|one| match one {
                GenericArg::Lifetime(name) => (name == "'static").then(|| name.clone()),
                GenericArg::Type(one) => Some(of(one)),
                GenericArg::Const(one) => Some(one.expr.clone()),
                GenericArg::Infer => Some("_".to_owned()),
            });
            let constrained = constraints.iter().map(|one| match &one.binding {
                AssocItemConstraintKind::Equality(Term::Type(is)) => format!("{} = {}", one.name, of(is)),
                AssocItemConstraintKind::Equality(Term::Constant(is)) => {
                    format!("{} = {}", one.name, is.expr)
                }
                AssocItemConstraintKind::Constraint(bounds) => format!("{}: {}", one.name, bounded(bounds)),
            });
            let all: Vec<_> = written.chain(constrained).collect();
            if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }
        }
        GenericArgs::Parenthesized { inputs, output: given } => {
            let inputs: Vec<_> = inputs.iter().map(of).collect();
            format!("({}){}", inputs.join(", "), output(given.as_ref()))
        }
        GenericArgs::ReturnTypeNotation => "(..)".to_owned(),
    }
}

pub(super) fn bounded(bounds: &[GenericBound]) -> String {
    let written = bounds.iter().filter_map(|bound| match bound {
        GenericBound::TraitBound { trait_, modifier, .. } => {
            let maybe = if matches!(modifier, TraitBoundModifier::Maybe) { "?" } else { "" };
            Some(format!("{maybe}{}", path(trait_)))
        }
        GenericBound::Outlives(lifetime) => (lifetime == "'static").then(|| lifetime.clone()),
        GenericBound::Use(_) => None,
    });
    written.collect::<Vec<_>>().join(" + ")
}

/// Returns the generic parameters in angle brackets. `impl Trait` is written at its place in the signature.
pub(super) fn parameters(generics: &Generics) -> String {
    let written: Vec<_> = generics.params.iter().filter_map(parameter).collect();
    if written.is_empty() { String::new() } else { format!("<{}>", written.join(", ")) }
}

fn parameter(one: &GenericParamDef) -> Option<String> {
    match &one.kind {
        GenericParamDefKind::Lifetime { .. } | GenericParamDefKind::Type { is_synthetic: true, .. } => None,
        GenericParamDefKind::Type { bounds, default, is_synthetic: false } => {
            let bounds = bounded(bounds);
            let colon = if bounds.is_empty() { "" } else { ": " };
            let default = default.as_ref().map(|one| format!(" = {}", of(one))).unwrap_or_default();
            Some(format!("{}{colon}{bounds}{default}", one.name))
        }
        GenericParamDefKind::Const { type_, .. } => Some(format!("const {}: {}", one.name, of(type_))),
    }
}

/// Returns the `where` clauses.
pub(super) fn clauses(generics: &Generics) -> String {
    let written = generics.where_predicates.iter().filter_map(|clause| match clause {
        WherePredicate::BoundPredicate { type_, bounds, .. } => {
            let bounds = bounded(bounds);
            (!bounds.is_empty()).then(|| format!("{}: {bounds}", of(type_)))
        }
        WherePredicate::LifetimePredicate { .. } | WherePredicate::EqPredicate { .. } => None,
    });
    let written: Vec<_> = written.collect();
    if written.is_empty() { String::new() } else { format!(" where {}", written.join(", ")) }
}

/// Returns the signature of a function, from its qualifiers to its bounds.
pub(super) fn function(name: &str, one: &Function) -> String {
    let inputs: Vec<_> = one.sig.inputs.iter().map(|(name, input)| argument(name, input)).collect();
    let word = |on: bool, word: &'static str| if on { word } else { "" };
    format!(
        "{}{}fn {name}{}({}){}{}",
        word(one.header.is_const, "const "),
        word(one.header.is_async, "async "),
        parameters(&one.generics),
        inputs.join(", "),
        output(one.sig.output.as_ref()),
        clauses(&one.generics),
    )
}

fn argument(name: &str, input: &Type) -> String {
    match (name, of(input).as_str()) {
        ("self", "Self") => "self".to_owned(),
        ("self", "&Self") => "&self".to_owned(),
        ("self", "&mut Self") => "&mut self".to_owned(),
        (name, input) => format!("{name}: {input}"),
    }
}

fn output(given: Option<&Type>) -> String {
    given.map(|one| format!(" -> {}", of(one))).unwrap_or_default()
}
