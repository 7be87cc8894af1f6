//! The macro for stores that forward every call to another store.

/// Implements [`StateStore`](crate::StateStore) for a type that contains a store. Every call is forwarded to
/// that store.
///
/// ```
/// use holdover_store::{StateStore, forward_store};
///
/// /// A store with a name.
/// struct Named<S> {
///     name: String,
///     store: S,
/// }
///
/// forward_store! { [S: StateStore] Named<S>, |named| named.store }
/// ```
///
/// A backend with [transactions of the caller](crate::StoreTransaction) adds a future that begins one, as in
/// `|named| named.store, named.open_transaction()`.
#[macro_export]
macro_rules! forward_store {
    ([$($generics:tt)*] $type:ty, |$store:ident| $inner:expr) => {
        $crate::forward_store! { [$($generics)*] $type, |$store| $inner, $crate::StateStore::begin(&$inner) }
    };
    ([$($generics:tt)*] $type:ty, |$store:ident| $inner:expr, $begin:expr) => {
        $crate::__each_operation! {
            [$crate::__forward_operations] [$($generics)*] $type, |$store| $inner, $begin;
        }
    };
}

/// Implements [`StateStore`](crate::StateStore) for a forwarding store, from the list of operations.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward_operations {
    (
        [$($generics:tt)*] $type:ty, |$store:ident| $inner:expr, $begin:expr;
        $($_request:ident = $method:ident($($arg:ident: [$($given:tt)+] $_kept:ty),*)
            -> $_answer:ident($outcome:ty), writes: $_writes:literal;)*
    ) => {
        #[$crate::forwarding::async_trait]
        impl<$($generics)*> $crate::StateStore for $type {
            fn capabilities(&self) -> $crate::Capabilities {
                let $store = self;
                (&$inner).capabilities()
            }
            fn digests(
                &self,
                tenant: &$crate::ids::TenantId,
                words: &[u8],
            ) -> Result<Vec<$crate::payload::Digest>, $crate::StoreError> {
                let $store = self;
                (&$inner).digests(tenant, words)
            }
            async fn begin(&self) -> Result<$crate::OpenTransaction, $crate::StoreError> {
                let $store = self;
                $begin.await
            }
            $(
                async fn $method(&self, $($arg: $($given)+),*) -> Result<$outcome, $crate::StoreError> {
                    let $store = self;
                    (&$inner).$method($($arg),*).await
                }
            )*
        }
    };
}
