//! A macro that generates setters for settings.

/// Adds a setter for each listed field to a settings struct. The structs are `non_exhaustive`, so that a new
/// field breaks no other program. Other programs therefore cannot use struct literals and need the setters.
/// Setters of fields listed after `into` accept any value that converts into the field.
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
