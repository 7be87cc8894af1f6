//! Paths that a model wrote, in normal form.

use std::fmt;
use std::path::{Component, Path};

use holdover_core::tool::ToolError;

/// The maximum length of a path, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// A path beneath the root: components joined by `/`, without `.` and `..`. The path of the root itself is empty.
///
/// The path is only a name. The handle of the root ensures that the file lies beneath the root, even through links.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RelativePath(String);

impl RelativePath {
    /// Normalises `text`. Fails if `text` is absolute, contains `..` or a control character, or is too long.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let refuse = |why: &str| Err(ToolError::Failed(format!("path {text:?} {why}")));
        if text.len() > PATH_BYTES_MAX {
            return Err(ToolError::Failed(format!(
                "path has {} bytes, at most {PATH_BYTES_MAX} are allowed",
                text.len()
            )));
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character");
        }
        let mut normal = String::with_capacity(text.len());
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => {
                    if !normal.is_empty() {
                        normal.push('/');
                    }
                    normal.push_str(&name.to_string_lossy());
                }
                Component::CurDir => {}
                Component::ParentDir => return refuse("contains `..`: paths stay beneath the root folder"),
                Component::RootDir | Component::Prefix(_) => {
                    return refuse("is absolute: paths are relative to the root folder");
                }
            }
        }
        Ok(Self(normal))
    }

    /// Normalises the path of a file. Fails for the root itself, which is not a file.
    pub(crate) fn parse_file(text: &str) -> Result<Self, ToolError> {
        let path = Self::parse(text)?;
        if path.is_root() {
            return Err(ToolError::Failed(format!("path {text:?} names a folder, not a file")));
        }
        Ok(path)
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path in the form that the operating system takes, relative to the root's handle.
    pub(crate) fn as_path(&self) -> &Path {
        Path::new(if self.0.is_empty() { "." } else { &self.0 })
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_and_those_that_lead_out_refused() {
        for (text, normal) in [
            ("a.txt", "a.txt"),
            ("./a//b/./c/", "a/b/c"),
            ("", "."),
            (".", "."),
            ("..a/b..", "..a/b.."),
            ("a b/ü", "a b/ü"),
        ] {
            assert_eq!(RelativePath::parse(text).unwrap().to_string(), normal, "{text:?}");
        }
        let long = "a/".repeat(PATH_BYTES_MAX);
        for bad in ["..", "a/../b", "/etc/passwd", "/", "a\0b", "a\nb", &long] {
            let ToolError::Failed(line) = RelativePath::parse(bad).unwrap_err() else { panic!("failed") };
            assert!(!line.contains('\n') && line.len() < 200, "{line}");
        }
        assert!(RelativePath::parse_file("./").is_err());
    }
}
