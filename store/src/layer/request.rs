//! A request to a store, as a value.

use std::fmt;
use std::sync::Arc;

use super::Answer;
use crate::ids::SessionKey;
use crate::{StateStore, StoreError, Watch};

/// Converts an argument that a request keeps to the form that the method takes.
macro_rules! given {
    ([& $($_given:tt)+] $kept:ident) => {
        &$kept
    };
    ([$($_given:tt)+] $kept:ident) => {
        $kept
    };
}

/// Defines the enum, and the methods that treat all variants alike.
macro_rules! requests {
    (
        $($variant:ident = $method:ident($($arg:ident: [$($given:tt)+] $kept:ty),*)
            -> $_answer:ident($_outcome:ty), writes: $writes:literal;)*
    ) => {
        /// A call of a [`StateStore`] with its arguments: one variant for each method. Performing a clone
        /// repeats the call.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Request {
            $(
                #[doc = concat!("A call of `", stringify!($method), "`.")]
                $variant($($kept),*),
            )*
        }

        impl Request {
            /// Calls the method on `store` and returns its answer.
            pub async fn perform(self, store: &Arc<dyn StateStore>) -> Result<Answer, StoreError> {
                Ok(match self {
                    $(Self::$variant($($arg),*) => {
                        store.$method($(given!([$($given)+] $arg)),*).await?.into()
                    })*
                })
            }

            /// Returns the name of the method in the trait.
            pub fn operation(&self) -> &'static str {
                match self {
                    $(Self::$variant(..) => stringify!($method),)*
                }
            }

            /// Returns the arguments, in the order of the method.
            pub fn arguments(&self) -> Vec<&dyn fmt::Debug> {
                match self {
                    $(Self::$variant($($arg),*) => vec![$($arg),*],)*
                }
            }

            /// Returns true if the request may change stored data.
            pub fn writes(&self) -> bool {
                match self {
                    $(Self::$variant(..) => $writes,)*
                }
            }
        }
    };
}

crate::__each_operation! { [requests] }

impl Request {
    /// Returns the session of the request; for a fork, the source. Returns none if the request may concern several
    /// sessions.
    pub fn key(&self) -> Option<&SessionKey> {
        match self {
            Self::Create(new) => Some(&new.key),
            Self::Renew(fence, _)
            | Self::Stage(fence, _)
            | Self::Commit(fence, _)
            | Self::Stream(fence, _)
            | Self::TakeInterrupt(fence) => Some(&fence.key),
            Self::Load(key)
            | Self::Delete(key, _)
            | Self::Claim(key, _)
            | Self::Move(key, _)
            | Self::Deliver(key, _)
            | Self::Interrupt(key, _)
            | Self::ReadMessages(key, _)
            | Self::ReadInbox(key, ..)
            | Self::ReadEvents(key, ..)
            | Self::ListRuns(key, _)
            | Self::Fork(key, ..)
            | Self::Wait(Watch::Session(key) | Watch::News(key), _) => Some(key),
            Self::ListCheckpoints(query) => Some(&query.key),
            Self::ListSessions(_)
            | Self::ClaimDue(_)
            | Self::ListPending(_)
            | Self::Wait(Watch::Due, _)
            | Self::Purge(_) => None,
        }
    }
}
