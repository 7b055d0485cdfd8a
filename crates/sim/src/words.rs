//! Enums whose variants are sentences: one list gives the variants, `ALL` of them and their words.

macro_rules! worded {
    ($(#[$about:meta])* $name:ident { $($variant:ident: $words:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum $name {
            $(#[doc = $words] $variant,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// What it is, in words.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$variant => $words,)* }
            }
        }
    };
}

pub(crate) use worded;
