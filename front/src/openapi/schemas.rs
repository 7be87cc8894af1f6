//! Rewrites schemas into the forms that generators of clients turn into the best types. Every form allows the same values
//! as before.

use serde_json::{Map, Value, json};

/// The beginning of a reference to a schema.
pub(super) const PREFIX: &str = "#/components/schemas/";

/// The properties by which the variants of a union are told apart.
const TAGS: [&str; 5] = ["type", "role", "drew", "does", "event"];

/// Rewrites the schemas of the components, and those in other parts of the description.
pub(super) fn rewrite(document: &mut Value) {
    each_schema(document, &mut |schema| {
        refer(schema);
        gather_words(schema);
        merge_nulls(schema);
        forget_defaults(schema);
        explain_lone_property(schema);
    });
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    for name in schemas.keys().cloned().collect::<Vec<_>>() {
        name_variants(&name, schemas);
    }
}

/// Calls `change` with every object of the description, the inner ones first.
fn each_schema(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| each_schema(field, change));
            change(fields);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_schema(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Puts a reference beside its description, which OpenAPI 3.1 allows. Older versions needed an `allOf` with one item.
fn refer(schema: &mut Map<String, Value>) {
    if schema.contains_key("properties") {
        return;
    }
    let alone = schema.get("allOf").and_then(Value::as_array).filter(|all| all.len() == 1);
    if let Some(target) = alone.and_then(|all| all[0].get("$ref")).cloned() {
        schema.remove("allOf");
        schema.insert("$ref".to_owned(), target);
    }
}

/// Makes one `enum` of the words of a union. Their descriptions become a list in that of the enum.
fn gather_words(schema: &mut Map<String, Value>) {
    for union in ["oneOf", "anyOf"] {
        let Some(variants) = schema.get(union).and_then(Value::as_array) else { continue };
        let (words, others): (Vec<Value>, Vec<Value>) =
            variants.iter().cloned().partition(|variant| variant["const"].is_string());
        if words.is_empty() {
            continue;
        }
        let list: Vec<String> = words.iter().filter_map(explained).collect();
        let list = list.join("\n");
        let words =
            json!({ "type": "string", "enum": words.iter().map(|word| &word["const"]).collect::<Vec<_>>() });
        if others.is_empty() {
            schema.remove(union);
            schema.extend(words.as_object().cloned().unwrap_or_default());
            explain(schema, &list);
        } else {
            let mut words = words;
            words["description"] = list.into();
            let variants = [vec![words], others].concat();
            schema.insert(union.to_owned(), variants.into());
        }
    }
}

/// Returns the line of a list that explains a word.
fn explained(word: &Value) -> Option<String> {
    let (word, description) = (word["const"].as_str()?, word["description"].as_str()?);
    Some(format!("- `{word}`: {}", description.replace('\n', " ")))
}

fn explain(schema: &mut Map<String, Value>, list: &str) {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{description}\n\n{list}").trim().to_owned();
    schema.insert("description".to_owned(), description.into());
}

/// Leaves one of several variants that are `null`.
fn merge_nulls(schema: &mut Map<String, Value>) {
    let Some(variants) = schema.get_mut("anyOf").and_then(Value::as_array_mut) else { return };
    let mut had_one = false;
    variants.retain(|variant| variant["type"] != "null" || !std::mem::replace(&mut had_one, true));
}

/// Removes the defaults of properties, all of which are empty. Generators take a property with a default for one that is always
/// there, but callers may leave it out.
fn forget_defaults(schema: &mut Map<String, Value>) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        property.remove("default");
    }
}

/// Copies the description of an object to its only property, which has none: that of a variant that is named by its property.
fn explain_lone_property(schema: &mut Map<String, Value>) {
    let description = schema.get("description").cloned();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let Some(properties) = properties.filter(|properties| properties.len() == 1) else { return };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        if let Some(description) = description.clone().filter(|_| !property.contains_key("const")) {
            property.entry("description").or_insert(description);
        }
    }
}

/// Gives each variant of a tagged union a name, such as `EventMessage`, and says which property tells them apart.
fn name_variants(union: &str, schemas: &mut Map<String, Value>) {
    let Some(variants) = schemas[union].get("oneOf").and_then(Value::as_array).cloned() else { return };
    let Some(tag) = TAGS.into_iter().find(|tag| variants.iter().all(|variant| word(variant, tag).is_some()))
    else {
        return;
    };
    let named = variants.into_iter().filter_map(|variant| {
        let word = word(&variant, tag)?.to_owned();
        Some((format!("{union}{}", camel(&word)), word, variant))
    });
    let named: Vec<_> = named.collect();
    if named.iter().any(|(name, ..)| schemas.contains_key(name)) {
        return;
    }
    let at = |name: &str| format!("{PREFIX}{name}");
    let references: Vec<Value> = named.iter().map(|(name, ..)| json!({ "$ref": at(name) })).collect();
    let mapping: Map<String, Value> =
        named.iter().map(|(name, word, _)| (word.clone(), at(name).into())).collect();
    schemas[union]["oneOf"] = references.into();
    schemas[union]["discriminator"] = json!({ "propertyName": tag, "mapping": mapping });
    for (name, _, variant) in named {
        let variant = merged(variant, schemas);
        schemas.insert(name, variant);
    }
}

/// Merges an object with the one that it extends: some generators overlook what an `allOf` has beside it.
fn merged(mut variant: Value, schemas: &Map<String, Value>) -> Value {
    let base = variant["allOf"][0]["$ref"].as_str().and_then(|at| schemas.get(at.strip_prefix(PREFIX)?));
    let Some(base) = base.filter(|base| base["properties"].is_object()) else { return variant };
    let Some(fields) = variant.as_object_mut() else { return variant };
    fields.remove("allOf");
    if let (Value::Object(more), Some(Value::Object(properties))) =
        (&base["properties"], fields.get_mut("properties"))
    {
        properties.extend(more.iter().map(|(name, property)| (name.clone(), property.clone())));
    }
    if let (Value::Array(more), Some(Value::Array(required))) =
        (&base["required"], fields.get_mut("required"))
    {
        required.extend(more.iter().cloned());
    }
    variant
}

/// Returns the word that this property of a variant always has.
fn word<'a>(variant: &'a Value, tag: &str) -> Option<&'a str> {
    variant["properties"][tag]["const"].as_str()
}

/// Returns `TurnEnded` for `turn_ended`.
fn camel(word: &str) -> String {
    let mut camel = String::with_capacity(word.len());
    for part in word.split('_') {
        let mut letters = part.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}
