//! Reads a parsed TOML file into a type, strictly: a table in place of a list is refused, and so is a list in place of
//! a table. Errors name the path to the faulty key.

use std::ops::Range;

use serde::Deserialize;
use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use super::wrong::{Wrong, one_of};

/// Reads `text` into a value, or returns its fault.
pub(super) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let wrong = Wrong::new(error.message());
        match error.span() {
            Some(place) => wrong.at(place),
            None => wrong,
        }
    })?;
    // A key that is missing at the top level has no line.
    T::deserialize(Node { value: DeValue::Table(table.into_inner()), place: None })
}

/// A value of the file, and its position.
struct Node<'de> {
    value: DeValue<'de>,
    place: Option<Range<usize>>,
}

impl<'de> From<Spanned<DeValue<'de>>> for Node<'de> {
    fn from(spanned: Spanned<DeValue<'de>>) -> Self {
        let place = Some(spanned.span());
        Self { value: spanned.into_inner(), place }
    }
}

impl<'de> Node<'de> {
    /// Describes the value, for errors about its type.
    fn is(&self) -> Unexpected<'_> {
        match &self.value {
            DeValue::String(text) => Unexpected::Str(text),
            DeValue::Integer(number) => Unexpected::Other(number.as_str()),
            DeValue::Float(number) => Unexpected::Other(number.as_str()),
            DeValue::Boolean(value) => Unexpected::Bool(*value),
            DeValue::Datetime(_) => Unexpected::Other("a date"),
            DeValue::Array(_) => Unexpected::Seq,
            DeValue::Table(_) => Unexpected::Map,
        }
    }
}

/// Adds `place` to an error, unless a more exact position is already known.
fn at<T>(place: Option<Range<usize>>, read: Result<T, Wrong>) -> Result<T, Wrong> {
    read.map_err(|wrong| match place {
        Some(place) => wrong.at(place),
        None => wrong,
    })
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let read = match self.value {
            DeValue::String(DeString::Owned(text)) => visitor.visit_string(text),
            DeValue::String(DeString::Borrowed(text)) => visitor.visit_borrowed_str(text),
            DeValue::Integer(number) => {
                let signed = i64::from_str_radix(number.as_str(), number.radix());
                match (signed, u64::from_str_radix(number.as_str(), number.radix())) {
                    (Ok(number), _) => visitor.visit_i64(number),
                    (Err(_), Ok(number)) => visitor.visit_u64(number),
                    (Err(_), Err(_)) => Err(Wrong::new("the number does not fit into 64 bits")),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(Wrong::new("this is no number")),
            },
            DeValue::Boolean(value) => visitor.visit_bool(value),
            DeValue::Datetime(_) => Err(Wrong::new("a date is not allowed here; write a text in quotes")),
            DeValue::Array(entries) => visitor.visit_seq(Entries(entries.into_iter().enumerate())),
            DeValue::Table(table) => visitor.visit_map(Keys { rest: table.into_iter(), value: None }),
        };
        at(self.place, read)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    /// Reads a struct from a table. A list is refused; serde would read its entries as the fields in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if is_spanned(name) {
            let place = self.place.clone().unwrap_or_default();
            let read = visitor.visit_map(SpannedDeserializer::new(self, place.clone()));
            return at(Some(place), read);
        }
        match &self.value {
            DeValue::Table(_) => self.deserialize_any(visitor),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => {
                let wrong = Wrong::invalid_type(self.is(), &"a table");
                at(self.place, Err(wrong))
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let wrong = Wrong::invalid_type(self.is(), &one_of(variants).as_str());
        let read = match self.value {
            DeValue::String(name) => visitor.visit_enum(Variant { name: name.into_owned(), value: None }),
            DeValue::Table(table) => {
                let mut keys = table.into_iter();
                match (keys.next(), keys.next()) {
                    (Some((name, value)), None) => {
                        let name = name.into_inner().into_owned();
                        visitor.visit_enum(Variant { name, value: Some(value.into()) })
                    }
                    (_, _) => Err(wrong),
                }
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => Err(wrong),
        };
        at(self.place, read)
    }

    serde::forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq bytes byte_buf map unit
        ignored_any unit_struct tuple_struct tuple identifier
    }
}

impl<'de> IntoDeserializer<'de, Wrong> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The entries of a list, with their indexes.
struct Entries<'de>(std::iter::Enumerate<<DeArray<'de> as IntoIterator>::IntoIter>);

impl<'de> SeqAccess<'de> for Entries<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some((index, entry)) = self.0.next() else { return Ok(None) };
        seed.deserialize(Node::from(entry)).map(Some).map_err(|wrong| wrong.in_entry(index))
    }
}

/// The keys of a table, and the value of the key that was read last.
struct Keys<'de> {
    rest: <DeTable<'de> as IntoIterator>::IntoIter,
    value: Option<(String, Node<'de>)>,
}

impl<'de> MapAccess<'de> for Keys<'de> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let (place, key) = (key.span(), key.into_inner().into_owned());
        self.value = Some((key.clone(), value.into()));
        let read = seed.deserialize(StringDeserializer::<Wrong>::new(key.clone()));
        read.map(Some).map_err(|wrong| wrong.at(place).named(&key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (key, value) = self.value.take().ok_or_else(|| Wrong::new("a value without a key"))?;
        seed.deserialize(value).map_err(|wrong| wrong.under(&key))
    }
}

/// A variant of an enum: a word, or a table whose only key is the word.
struct Variant<'de> {
    name: String,
    value: Option<Node<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Wrong> {
        let named = seed.deserialize(StringDeserializer::<Wrong>::new(self.name.clone()))?;
        Ok((named, self))
    }
}

impl<'de> Variant<'de> {
    /// Returns the word and its value. Fails if the word stands alone.
    fn value(self) -> Result<(String, Node<'de>), Wrong> {
        let Self { name, value } = self;
        match value {
            Some(value) => Ok((name, value)),
            None => Err(Wrong::new(format!("{name:?} alone says too little: write {{ {name} = … }}"))),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(Wrong::new(format!("write {:?} alone", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        let (name, value) = self.value()?;
        seed.deserialize(value).map_err(|wrong| wrong.under(&name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _entries: usize, visitor: V) -> Result<V::Value, Wrong> {
        let (name, value) = self.value()?;
        value.deserialize_seq(visitor).map_err(|wrong| wrong.under(&name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let (name, value) = self.value()?;
        value.deserialize_struct("", fields, visitor).map_err(|wrong| wrong.under(&name))
    }
}
