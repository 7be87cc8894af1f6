//! The macros that define types of ids and numbers.

/// Defines a type for a text id. Takes the name of the type, the name that errors show, and the
/// [`Spelling`](crate::ids::Spelling).
///
/// A crate that uses this macro must depend on serde.
#[macro_export]
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $spelling:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(::std::sync::Arc<str>);

        impl $name {
            /// Makes a new id from `text`. Fails if `text` breaks a rule for new ids. To read an id that
            /// already exists, use `parse`, which accepts every id that an earlier version accepted.
            pub fn new(text: impl AsRef<str>) -> Result<Self, $crate::ids::InvalidId> {
                let id: Self = text.as_ref().parse()?;
                id.check_new()?;
                Ok(id)
            }

            /// Checks the spelling rules for new ids. Returns the rule that this id breaks, if any.
            pub fn check_new(&self) -> Result<(), $crate::ids::InvalidId> {
                $crate::ids::check_spelling($kind, &self.0, $crate::ids::Spelling::$spelling)
            }

            /// Returns the text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::ids::InvalidId;
            fn try_from(text: String) -> Result<Self, $crate::ids::InvalidId> {
                text.parse()
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::ids::InvalidId;
            fn from_str(text: &str) -> Result<Self, $crate::ids::InvalidId> {
                $crate::ids::check($kind, text)?;
                Ok(Self(::std::sync::Arc::from(text)))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.to_string()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        $crate::__schema_like!($name, String);
    };
}

/// Defines a type for a number.
///
/// A crate that uses this macro must depend on serde.
#[macro_export]
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the next number.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        $crate::__schema_like!($name, $inner);
    };
}
