//! JSON Schemas of the types that have their own JSON form, for documents such as an OpenAPI description.

use std::borrow::Cow;

use schemars::json_schema;
#[doc(hidden)]
pub use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::cursor::{EventCursor, PageCursor};
use crate::ids::Incarnation;
use crate::payload::Digest;

/// Gives a type the schema of a string with these keywords.
macro_rules! text {
    ($type:ident, $($keywords:tt)*) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", $($keywords)* })
            }
        }
    };
}

text!(Incarnation, "format": "uuid");
text!(Digest, "pattern": "^[0-9a-f]{64}$", "description": "A SHA-256 digest in hexadecimal digits.");
text!(EventCursor, "description": "A position in the events of a session. Opaque.");
text!(PageCursor, "description": "A position in a list. Valid only for the query that returned it. Opaque.");

/// Gives a type the schema of the type inside it.
#[doc(hidden)]
#[macro_export]
macro_rules! __schema_like {
    ($type:ident, $inner:ty) => {
        impl $crate::schema::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut $crate::schema::SchemaGenerator) -> $crate::schema::Schema {
                <$inner as $crate::schema::JsonSchema>::json_schema(generator)
            }
        }
    };
}
