//! Answers to requests that write, and lists.

use std::borrow::Cow;

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{Operation, Response as Described, StatusCode as Status};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use holdover_core::ids::{InboxSeq, SessionId};
use holdover_core::store::PageCursor;
use holdover_runtime_local::{Delivered, DeliveredItem};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

/// An answer whose body says if the same request was carried out before. Its status is then 200.
pub(crate) trait Repeats: Serialize + JsonSchema {
    fn is_repeat(&self) -> bool;
}

/// Something was created (201), or had been created before by the same request (200).
pub(crate) struct Created<T>(pub(crate) T);

/// A request was accepted (202), or had been accepted before (200). It is carried out later.
pub(crate) struct Accepted<T>(pub(crate) T);

macro_rules! answers {
    ($name:ident, $status:expr, $what:literal, $again:literal) => {
        impl<T: Repeats> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                let status = if self.0.is_repeat() { StatusCode::OK } else { $status };
                (status, Json(self.0)).into_response()
            }
        }

        impl<T: Repeats> OperationOutput for $name<T> {
            type Inner = T;

            fn operation_response(ctx: &mut GenContext, operation: &mut Operation) -> Option<Described> {
                Json::<T>::operation_response(ctx, operation)
            }

            fn inferred_responses(
                ctx: &mut GenContext,
                operation: &mut Operation,
            ) -> Vec<(Option<Status>, Described)> {
                let Some(response) = Self::operation_response(ctx, operation) else { return Vec::new() };
                let told =
                    |description: &str| Described { description: description.to_owned(), ..response.clone() };
                vec![
                    (Some(Status::Code($status.as_u16())), told($what)),
                    (Some(Status::Code(200)), told($again)),
                ]
            }
        }
    };
}

answers!(Created, StatusCode::CREATED, "It was created.", "The same request created it before.");
answers!(
    Accepted,
    StatusCode::ACCEPTED,
    "The request is stored, and is carried out later.",
    "The same request was accepted before, or there is nothing left to do."
);

/// A message that was accepted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Started {
    /// The session.
    pub(crate) session: SessionId,
    /// The number of the message in the inbox of the session.
    pub(crate) item: InboxSeq,
    /// True if the same message was accepted before under its key.
    pub(crate) duplicate: bool,
}

impl Repeats for Started {
    fn is_repeat(&self) -> bool {
        self.duplicate
    }
}

/// A delivery to a session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Delivery {
    /// False if the same delivery was accepted before.
    accepted: bool,
    /// The number of the delivery in the inbox of the session, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<InboxSeq>,
}

impl Repeats for Delivery {
    fn is_repeat(&self) -> bool {
        !self.accepted
    }
}

impl From<Delivered> for Delivery {
    fn from(delivered: Delivered) -> Self {
        Self { accepted: delivered == Delivered::Accepted, item: None }
    }
}

impl From<DeliveredItem> for Delivery {
    fn from(delivered: DeliveredItem) -> Self {
        Self { item: Some(delivered.item), ..delivered.delivered.into() }
    }
}

/// A page of a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(crate) struct Page<T> {
    /// The items of the page.
    pub(crate) items: Vec<T>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<PageCursor>,
}

/// Words of a query: separated by commas, in parameters of the same name, or both.
#[derive(Debug, Clone)]
pub(crate) struct Listed<T>(pub(crate) Vec<T>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let words = texts.iter().flat_map(|text| text.split(',')).filter(|word| !word.is_empty());
        let read = |word: &str| {
            let word: StrDeserializer<'_, ValueError> = word.into_deserializer();
            T::deserialize(word).map_err(D::Error::custom)
        };
        words.map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for Listed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

/// A label in a query, as `name=value`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NamedLabel(pub(crate) String, pub(crate) String);

impl TryFrom<String> for NamedLabel {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (name, value) = text.split_once('=').ok_or("a label is `name=value`")?;
        Ok(Self(name.to_owned(), value.to_owned()))
    }
}

impl JsonSchema for NamedLabel {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
