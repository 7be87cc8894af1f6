//! Methods that set the fields of settings.

/// Gives a struct of settings a method for each field. The structs are `non_exhaustive`, so a new field
/// breaks no program; programs outside therefore cannot write them as struct literals. The setters of the
/// fields behind `into` take every value that converts into the field.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($settings:ident { $($field:ident: $of:ty,)* } $(into { $($name:ident: $taken:ty,)* })?) => {
        impl $settings {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $of) -> Self {
                    self.$field = $field;
                    self
                }
            )*
            $($(
                #[doc = concat!("Sets [`", stringify!($name), "`](#structfield.", stringify!($name), ").")]
                #[must_use]
                pub fn $name(mut self, $name: impl Into<$taken>) -> Self {
                    self.$name = $name.into();
                    self
                }
            )*)?
        }
    };
}
