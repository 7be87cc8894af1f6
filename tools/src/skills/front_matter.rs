//! The front matter of a `SKILL.md`, in the small part of YAML that it uses.

/// The maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// The maximum length of a description, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 1024;

/// A parsed `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) body: String,
}

/// Parses a whole file. Fails with a description of the mistake.
pub(super) fn parse(text: &str) -> Result<Document, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some("---") {
        return Err("line 1: does not begin with ---".to_owned());
    }
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut ended = false;
    for line in lines.by_ref() {
        let line = line.trim_end();
        if line == "---" {
            ended = true;
            break;
        }
        if line.starts_with([' ', '\t']) {
            // The line continues the value before it.
            if let Some((_, value)) = keys.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            keys.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    if !ended {
        return Err("its front matter has no end: a line --- is missing".to_owned());
    }
    let value = |key: &str| {
        let found = keys.iter().find(|(known, _)| known == key);
        let value = found.map(|(_, value)| plain(value)).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("its front matter has no {key}"))
    };
    let (name, description) = (value("name")?, value("description")?);
    if !is_name(&name) {
        return Err(format!("name {name:?}: write at most 64 lower-case letters, digits, - and _"));
    }
    if description.len() > DESCRIPTION_BYTES_MAX {
        return Err(format!("description: has more than {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if description.chars().any(char::is_control) {
        return Err("description: contains a control character".to_owned());
    }
    Ok(Document { name, description, body: lines.collect::<String>().trim().to_owned() })
}

/// Returns true if `text` can be the name of a skill or of a source.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(fits)
}

/// Returns a value without its quotes, or without the marker of a multi-line value.
fn plain(value: &str) -> String {
    for mark in [">-", "|-", ">+", "|+", ">", "|"] {
        if let Some(rest) = value.strip_prefix(mark).filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            return rest.trim().to_owned();
        }
    }
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return if quote == '"' {
                inner.replace("\\\"", "\"").replace("\\\\", "\\")
            } else {
                inner.replace("''", "'")
            };
        }
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_description_and_body_are_read() {
        for (head, description) in [
            ("description: Reads PDF: files\nname: pdf", "Reads PDF: files"),
            ("name: \"pdf\"\ndescription: 'It''s for PDF'\nlicense: MIT", "It's for PDF"),
            ("name: pdf\ndescription: >-\n  Reads\n  PDF\nmetadata:\n  version: 1", "Reads PDF"),
            ("name: pdf\ndescription: Reads\n  PDF", "Reads PDF"),
        ] {
            let found = parse(&format!("---\n{head}\n---\n\n# How\nSo.\n---\nMore.\n")).unwrap();
            let body = "# How\nSo.\n---\nMore.".to_owned();
            assert_eq!(found, Document { name: "pdf".into(), description: description.into(), body });
        }
        assert_eq!(parse("---\r\nname: a\r\ndescription: b\r\n---\r\nc\r\n").unwrap().body, "c");
    }

    #[test]
    fn what_is_missing_is_said() {
        for (text, why) in [
            ("", "line 1: does not begin with ---"),
            ("---\nname: a\n", "its front matter has no end"),
            ("---\nname: a\n---\n", "its front matter has no description"),
            ("---\nname:\ndescription: b\n---\n", "its front matter has no name"),
            ("---\nname: A b\ndescription: b\n---\n", "name \"A b\": write at most 64"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(why), "{found}");
        }
        let long = format!("---\nname: a\ndescription: {}\n---\n", "b".repeat(1025));
        assert_eq!(parse(&long).unwrap_err(), "description: has more than 1024 bytes");
    }
}
