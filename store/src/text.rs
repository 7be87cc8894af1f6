//! Checks for characters that are invisible, or that change how other characters look.

/// Returns true if `c` is invisible, changes the direction of writing, or controls a terminal: a control character, a
/// direction mark, a line or paragraph separator, or a filler or format character without a visible form. Line breaks
/// and tabs are control characters, too. The two [joiners](is_joiner) and the variation selectors U+FE00 to U+FE0F
/// are not hidden, because emoji and many scripts need them.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true if `c` is a zero-width joiner or a zero-width non-joiner. Emoji and words of many scripts
/// contain them.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_hidden_and_what_can_is_not() {
        for c in [
            '\0',
            '\n',
            '\u{1b}',
            '\u{9b}',
            '\u{200b}',
            '\u{202e}',
            '\u{2028}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert!(is_hidden(c), "{c:?}");
        }
        for c in ['a', ' ', 'é', '\u{301}', '語', '🚀', '\u{fe0f}', '\u{200d}', '\u{fffd}'] {
            assert!(!is_hidden(c), "{c:?}");
        }
        assert!(is_joiner('\u{200d}') && !is_joiner('\u{200b}'));
    }
}
