//! Skills: folders with a `SKILL.md`, listed in the prompt and read on demand.

mod front_matter;
mod tool;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::provision::Provisioner;
use holdover_core::skill::{SkillEntry, SkillSet};
use holdover_core::tool::Tool;

use front_matter::Document;

/// The name of the file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// The maximum size of a `SKILL.md`, in bytes. One call of the tool can show all of it.
const FILE_BYTES_MAX: u64 = 128 * 1024;
/// The maximum number of skills of one agent.
const SKILLS_MAX: usize = 256;
/// The maximum size of all bodies together, in bytes.
const BODIES_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The skills beneath some folders. A folder that holds a `SKILL.md` is a skill. In a folder without one, the
/// direct subfolders that hold one are skills.
///
/// `SKILL.md` begins with a front matter between two lines `---`. It has a `name` of at most 64 lower-case
/// letters, digits, dashes and underscores, and a `description` of at most 1024 bytes, whose lines are joined
/// into one. Other keys are ignored. The rest of the file is the body.
///
/// The index is read once, when the set is opened, so that the prompt stays the same. The bodies are read
/// each time a turn is provisioned. A body that cannot be read ends that turn with an error.
#[derive(Clone)]
pub struct Skills(Arc<Inner>);

struct Inner {
    skills: Vec<Skill>,
    /// The bodies, as read when a turn was last provisioned.
    bodies: RwLock<BTreeMap<String, Arc<str>>>,
}

struct Skill {
    entry: SkillEntry,
    folder: PathBuf,
}

/// The error for a folder of skills that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
#[non_exhaustive]
pub struct SkillError {
    /// The path of the folder or file.
    pub path: PathBuf,
    /// The reason, as one line.
    pub why: String,
}

fn wrong(path: &Path, why: impl Into<String>) -> SkillError {
    SkillError { path: path.to_owned(), why: why.into() }
}

impl Skills {
    /// Opens the skills beneath `folders`, in the order of the folders, and within each by the names of the subfolders.
    ///
    /// Fails if a folder cannot be read or holds no skill, if a `SKILL.md` is not valid, if two skills have the same
    /// name, or if there are more than 256 skills. The error names the path.
    pub fn open(folders: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, SkillError> {
        let mut skills: Vec<Skill> = Vec::new();
        for folder in folders {
            for folder in skill_folders(folder.as_ref())? {
                let path = folder.join(FILE);
                let Document { name, description, body: _ } = read(&path)?;
                if let Some(other) = skills.iter().find(|other| other.entry.name == name) {
                    let why = format!("the skill in {} is called {name:?}, too", other.folder.display());
                    return Err(wrong(&path, why));
                }
                if skills.len() == SKILLS_MAX {
                    return Err(wrong(&path, format!("an agent has at most {SKILLS_MAX} skills")));
                }
                skills.push(Skill { entry: SkillEntry { name, description }, folder });
            }
        }
        Ok(Self(Arc::new(Inner { skills, bodies: RwLock::default() })))
    }

    /// Reads all bodies again. After an error, the old bodies stay.
    fn load(&self) -> Result<(), SkillError> {
        let mut bodies = BTreeMap::new();
        let mut bytes = 0_usize;
        for skill in &self.0.skills {
            let path = skill.folder.join(FILE);
            let body = read(&path)?.body;
            bytes = bytes.saturating_add(body.len());
            if bytes > BODIES_BYTES_MAX {
                return Err(wrong(
                    &path,
                    format!("all skills together have more than {BODIES_BYTES_MAX} bytes"),
                ));
            }
            bodies.insert(skill.entry.name.clone(), Arc::from(body));
        }
        *self.0.bodies.write().unwrap_or_else(PoisonError::into_inner) = bodies;
        Ok(())
    }

    /// Returns the body of a skill, as read when a turn was last provisioned with this set. Reads the file if no turn
    /// was provisioned yet.
    fn body(&self, skill: &Skill) -> Result<Arc<str>, SkillError> {
        let bodies = self.0.bodies.read().unwrap_or_else(PoisonError::into_inner);
        match bodies.get(&skill.entry.name) {
            Some(body) => Ok(Arc::clone(body)),
            None => Ok(Arc::from(read(&skill.folder.join(FILE))?.body)),
        }
    }
}

impl SkillSet for Skills {
    fn index(&self) -> Vec<SkillEntry> {
        self.0.skills.iter().map(|skill| skill.entry.clone()).collect()
    }

    fn tool(&self) -> Arc<dyn Tool> {
        Arc::new(tool::read_skill(self.clone()))
    }

    fn provisioner(&self) -> Arc<dyn Provisioner> {
        Arc::new(self.clone())
    }
}

#[async_trait]
impl Provisioner for Skills {
    async fn provision(&self, _session: &SessionKey, _turn: TurnNumber) -> Result<(), ErrorInfo> {
        let skills = self.clone();
        let loaded = tokio::task::spawn_blocking(move || skills.load()).await;
        let loaded = loaded.map_err(|error| ErrorInfo::new("skills.unreadable", error.to_string()))?;
        loaded.map_err(|error| ErrorInfo::new("skills.unreadable", error.to_string()))
    }

    /// A skill that cannot be read is a matter of its files.
    fn is_transient(&self, _error: &ErrorInfo) -> bool {
        false
    }

    async fn tear_down(&self, _session: &SessionKey, _turn: TurnNumber) -> Result<(), ErrorInfo> {
        Ok(())
    }
}

impl std::fmt::Debug for Skills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.skills.iter().map(|skill| &skill.entry.name)).finish()
    }
}

/// Returns `folder` itself if it is a skill, otherwise the skills in it, sorted by folder name.
fn skill_folders(folder: &Path) -> Result<Vec<PathBuf>, SkillError> {
    if folder.join(FILE).is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let failed = |error: std::io::Error| wrong(folder, error.to_string());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let place = entry.map_err(failed)?.path();
        if place.join(FILE).is_file() {
            found.push(place);
        }
    }
    if found.is_empty() {
        return Err(wrong(folder, format!("holds no {FILE}, and no folder that does")));
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Document, SkillError> {
    let failed = |error: std::io::Error| wrong(path, error.to_string());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong(path, format!("has more than {FILE_BYTES_MAX} bytes")));
    }
    front_matter::parse(&text).map_err(|why| wrong(path, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn open(files: &[(&str, &str)]) -> Result<Skills, String> {
        let fixture = Fixture::new(files);
        let opened = Skills::open([fixture.folder.path()]);
        opened.map_err(|error| error.to_string().replace(&fixture.folder.path().display().to_string(), ""))
    }

    #[test]
    fn a_folder_is_a_skill_or_holds_some() {
        let one = "---\nname: one\ndescription: The first\n---\nBody";
        let two = "---\nname: two\ndescription: The second\n---\nBody";
        let names = |skills: Skills| skills.index().into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(names(open(&[("SKILL.md", one), ("b/SKILL.md", two)]).unwrap()), ["one"]);
        let files = [("z/SKILL.md", one), ("a/SKILL.md", two), ("a/notes.md", ""), ("README.md", "")];
        assert_eq!(names(open(&files).unwrap()), ["two", "one"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_path() {
        let one = "---\nname: one\ndescription: The first\n---\nBody";
        let long = "x".repeat(FILE_BYTES_MAX as usize);
        let large = format!("{one}{long}");
        for (files, why) in [
            (&[("README.md", "")][..], ": holds no SKILL.md, and no folder that does"),
            (&[("a/SKILL.md", "Body")], "/a/SKILL.md: line 1: does not begin with ---"),
            (&[("a/SKILL.md", &large)], "/a/SKILL.md: has more than 131072 bytes"),
            (
                &[("a/SKILL.md", one), ("b/SKILL.md", one)],
                "/b/SKILL.md: the skill in /a is called \"one\", too",
            ),
        ] {
            assert_eq!(open(files).unwrap_err(), why);
        }
    }
}
