//! An answer of a store, as a value.

use std::fmt;

/// Defines the enum, and both conversions for each variant.
macro_rules! answers {
    (
        $($_request:ident = $operation:ident($($arguments:tt)*)
            -> $variant:ident($outcome:ty), writes: $_writes:literal;)*
    ) => {
        /// The answer to a [`Request`](super::Request): one variant for each method of
        /// [`StateStore`](crate::StateStore).
        #[derive(Debug, Clone, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "moved once, to the caller")]
        #[non_exhaustive]
        pub enum Answer {
            $(
                #[doc = concat!("The answer to `", stringify!($operation), "`.")]
                $variant($outcome),
            )*
        }

        impl Answer {
            /// Returns the outcome that the method returned.
            pub fn outcome(&self) -> &dyn fmt::Debug {
                match self {
                    $(Self::$variant(outcome) => outcome,)*
                }
            }
        }

        $(
            impl From<$outcome> for Answer {
                fn from(outcome: $outcome) -> Self {
                    Self::$variant(outcome)
                }
            }

            /// Returns the unchanged answer as the error if it belongs to another operation.
            impl TryFrom<Answer> for $outcome {
                type Error = Answer;

                fn try_from(answer: Answer) -> Result<Self, Answer> {
                    if let Answer::$variant(outcome) = answer { Ok(outcome) } else { Err(answer) }
                }
            }
        )*
    };
}

crate::__each_operation! { [answers] }
