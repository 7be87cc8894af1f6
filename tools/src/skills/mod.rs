//! Skills: folders with a `SKILL.md`, listed in the prompt and read on demand.

mod bundle;
mod cache;
mod catalog;
mod error;
mod front_matter;
mod git;
#[cfg(feature = "skills-https")]
mod https;
mod load;
mod pin;
mod source;
#[cfg(test)]
mod tests;
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

pub use cache::SkillCache;
use catalog::SOURCES_MAX;
pub use catalog::SkillCatalog;
use error::wrong;
pub use error::{SkillError, SkillErrorKind};
use front_matter::Document;
use load::Loaded;
pub use pin::SkillPin;
pub use source::{SkillPlace, SkillSource};

/// The name of the file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// The maximum size of a `SKILL.md`, in bytes. One call of the tool can show all of it.
const FILE_BYTES_MAX: u64 = 128 * 1024;
/// The maximum number of skills of one agent.
const SKILLS_MAX: usize = 256;
/// The maximum size of the bodies of all skills in folders together, in bytes.
const BODIES_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The skills of one or more [sources](SkillSource). A folder that holds a `SKILL.md` is a skill. In a folder without
/// one, the direct subfolders that hold one are skills.
///
/// `SKILL.md` begins with a front matter between two lines `---`. It has a `name` of at most 64 lower-case
/// letters, digits, dashes and underscores, and a `description` of at most 1024 bytes, whose lines are joined
/// into one. Other keys are ignored. The rest of the file is the body.
///
/// The index is read once, when the set is opened, so that the prompt stays the same. The bodies are read
/// each time a turn is provisioned. A body that cannot be read ends that turn with an error.
///
/// An archive or a commit is read from the [cache](SkillCache), or else fetched once. Its content has the recorded
/// digest, or it is not used.
#[derive(Clone)]
pub struct Skills(Arc<Inner>);

struct Inner {
    skills: Vec<Skill>,
    pins: Vec<SkillPin>,
    /// The cache of the pinned sources. `None` if there are none.
    cache: Option<SkillCache>,
    /// The content, as read when a turn was last provisioned.
    content: RwLock<Content>,
}

#[derive(Default)]
struct Content {
    /// The bodies of the skills in folders.
    bodies: BTreeMap<String, Arc<str>>,
    /// The pinned sources, by their numbers.
    loaded: BTreeMap<usize, Arc<Loaded>>,
}

struct Skill {
    entry: SkillEntry,
    /// The number of the skill's source.
    source: usize,
    home: Home,
}

/// The place of a skill.
#[derive(Clone)]
enum Home {
    Folder(PathBuf),
    /// In a pinned source: the skill's name there.
    Pinned(String),
}

impl Skills {
    /// Opens the skills beneath `folders`, in the order of the folders, and within each by the names of the subfolders.
    ///
    /// Fails if a folder cannot be read or holds no skill, if a `SKILL.md` is not valid, if two skills have the same
    /// name, or if there are more than 256 skills. The error names the path.
    pub fn open(folders: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, SkillError> {
        let sources = folders.into_iter().map(|folder| SkillSource::folder(folder.as_ref()).into());
        Self::assemble(sources.collect(), None)
    }

    /// Opens the skills of `sources`, in their order. Archives and commits are read from `cache`, or else fetched, and
    /// written to `cache`.
    ///
    /// Fails as [`open`](Self::open); if a source cannot be fetched, does not have its digest, or exceeds a bound; or if
    /// two sources have the same name. The error names the source and its address. Nothing of a source that failed is
    /// written to the cache; the sources that were fetched before it stay there.
    pub async fn fetch(
        sources: impl IntoIterator<Item = SkillSource>,
        cache: &SkillCache,
    ) -> Result<Self, SkillError> {
        let pins: Vec<SkillPin> = sources.into_iter().map(SkillPin::from).collect();
        Self::fetch_pins(pins, cache).await
    }

    /// Opens the skills of `pins` as [`fetch`](Self::fetch) does. Content that was recorded must be as it was.
    pub async fn fetch_pins(mut pins: Vec<SkillPin>, cache: &SkillCache) -> Result<Self, SkillError> {
        check_names(&pins)?;
        let mut loaded = BTreeMap::new();
        for (number, pin) in pins.iter_mut().enumerate().filter(|(_, pin)| pin.source.is_pinned()) {
            let found = load::load(cache, &pin.source, pin.digest()).await?;
            pin.content = Some(found.content());
            loaded.insert(number, found);
        }
        let skills = Self::assemble(pins, Some(cache.clone()))?;
        skills.0.content.write().unwrap_or_else(PoisonError::into_inner).loaded = loaded;
        Ok(skills)
    }

    /// Opens the skills of sources that were read before, without asking anybody: the index of an archive or a commit is
    /// the recorded one. Its content is loaded when a turn is provisioned, or when the model reads a skill.
    ///
    /// Fails as [`open`](Self::open), if two sources have the same name, and if an archive or a commit was
    /// [not read](SkillPin::is_unread).
    pub fn pinned(pins: Vec<SkillPin>, cache: SkillCache) -> Result<Self, SkillError> {
        Self::assemble(pins, Some(cache))
    }

    /// Returns the sources, with the digests and indexes of those that are pinned.
    pub fn pins(&self) -> &[SkillPin] {
        &self.0.pins
    }

    /// Returns each skill with its source, in the order in which the prompt lists them.
    pub fn listed(&self) -> impl Iterator<Item = (&SkillEntry, &SkillPin)> {
        let of = |skill: &Skill| self.0.pins.get(skill.source);
        self.0.skills.iter().filter_map(move |skill| Some((&skill.entry, of(skill)?)))
    }

    fn assemble(pins: Vec<SkillPin>, cache: Option<SkillCache>) -> Result<Self, SkillError> {
        check_names(&pins)?;
        let mut skills: Vec<Skill> = Vec::new();
        for (number, pin) in pins.iter().enumerate() {
            for (own, home) in index(pin)? {
                let at = match &home {
                    Home::Folder(folder) => folder.join(FILE),
                    Home::Pinned(_) => pin.source.address().into(),
                };
                let name = match pin.source.name() {
                    Some(namespace) => format!("{namespace}/{}", own.name),
                    None => own.name,
                };
                let refuse = |why: String| {
                    let name = pin.source.name().map(str::to_owned);
                    Err(SkillError { name, ..wrong(&at, SkillErrorKind::Invalid, why) })
                };
                if let Some(other) = skills.iter().find(|other| other.entry.name == name) {
                    return refuse(format!("the skill in {} is called {name:?}, too", other.at(&pins)));
                }
                if skills.len() == SKILLS_MAX {
                    return refuse(format!("an agent has at most {SKILLS_MAX} skills"));
                }
                let entry = SkillEntry { name, description: own.description };
                skills.push(Skill { entry, source: number, home });
            }
        }
        Ok(Self(Arc::new(Inner { skills, pins, cache, content: RwLock::default() })))
    }

    /// Reads all content again. After an error, the old content stays.
    async fn load(&self) -> Result<(), SkillError> {
        let mut loaded = BTreeMap::new();
        for (number, pin) in self.0.pins.iter().enumerate().filter(|(_, pin)| pin.source.is_pinned()) {
            loaded.insert(number, self.load_pinned(pin).await?);
        }
        let skills = self.clone();
        let bodies = tokio::task::spawn_blocking(move || skills.read_bodies()).await;
        let lost = |error: tokio::task::JoinError| {
            wrong(Path::new("skills"), SkillErrorKind::Unreadable, error.to_string())
        };
        let bodies = bodies.map_err(lost)??;
        *self.0.content.write().unwrap_or_else(PoisonError::into_inner) = Content { bodies, loaded };
        Ok(())
    }

    async fn load_pinned(&self, pin: &SkillPin) -> Result<Arc<Loaded>, SkillError> {
        let Some(cache) = &self.0.cache else {
            return Err(pin.source.wrong(SkillErrorKind::Invalid, "was opened without a cache"));
        };
        load::load(cache, &pin.source, pin.digest()).await
    }

    /// Reads the bodies of the skills in folders.
    fn read_bodies(&self) -> Result<BTreeMap<String, Arc<str>>, SkillError> {
        let mut bodies = BTreeMap::new();
        let mut bytes = 0_usize;
        for skill in &self.0.skills {
            let Home::Folder(folder) = &skill.home else { continue };
            let path = folder.join(FILE);
            let body = read(&path)?.body;
            bytes = bytes.saturating_add(body.len());
            if bytes > BODIES_BYTES_MAX {
                let why = format!("all skills together have more than {BODIES_BYTES_MAX} bytes");
                return Err(wrong(&path, SkillErrorKind::Invalid, why));
            }
            bodies.insert(skill.entry.name.clone(), Arc::from(body));
        }
        Ok(bodies)
    }

    /// Returns the body of a skill in a folder, as read when a turn was last provisioned with this set. Reads the file
    /// if no turn was provisioned yet.
    fn body(&self, name: &str, folder: &Path) -> Result<Arc<str>, SkillError> {
        let content = self.0.content.read().unwrap_or_else(PoisonError::into_inner);
        match content.bodies.get(name) {
            Some(body) => Ok(Arc::clone(body)),
            None => Ok(Arc::from(read(&folder.join(FILE))?.body)),
        }
    }

    /// Returns the content of a pinned source, as loaded when a turn was last provisioned with this set. Loads it if no
    /// turn was provisioned yet.
    async fn loaded(&self, number: usize) -> Result<Arc<Loaded>, SkillError> {
        let found = {
            let content = self.0.content.read().unwrap_or_else(PoisonError::into_inner);
            content.loaded.get(&number).map(Arc::clone)
        };
        if let Some(loaded) = found {
            return Ok(loaded);
        }
        let Some(pin) = self.0.pins.get(number) else {
            return Err(wrong(Path::new("skills"), SkillErrorKind::Invalid, "there is no such source"));
        };
        let loaded = self.load_pinned(pin).await?;
        let mut content = self.0.content.write().unwrap_or_else(PoisonError::into_inner);
        content.loaded.insert(number, Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl Skill {
    /// Returns the place of the skill, as errors name it.
    fn at(&self, pins: &[SkillPin]) -> String {
        match &self.home {
            Home::Folder(folder) => folder.display().to_string(),
            Home::Pinned(_) => pins.get(self.source).map(|pin| pin.source.address()).unwrap_or_default(),
        }
    }
}

/// Checks that no two sources have the same name, and that not too many have one. Folders without names are not counted:
/// sessions that were stored before sources had names may have any number.
fn check_names(pins: &[SkillPin]) -> Result<(), SkillError> {
    let mut named: Vec<&SkillSource> = Vec::new();
    for source in pins.iter().map(|pin| &pin.source).filter(|source| source.name().is_some()) {
        let refuse = |why: String| Err(source.wrong(SkillErrorKind::Invalid, why));
        if let Some(other) = named.iter().find(|other| other.name() == source.name()) {
            return refuse(format!("the source at {} has the same name", other.address()));
        }
        if named.len() == SOURCES_MAX {
            return refuse(format!("there are more than {SOURCES_MAX} sources with names"));
        }
        named.push(source);
    }
    Ok(())
}

/// Returns the skills of a source, without its namespace.
fn index(pin: &SkillPin) -> Result<Vec<(SkillEntry, Home)>, SkillError> {
    let SkillPlace::Folder(folder) = pin.source.place() else {
        let Some(content) = &pin.content else {
            return Err(pin.source.wrong(SkillErrorKind::Invalid, "was not read yet"));
        };
        let home = |own: &SkillEntry| (own.clone(), Home::Pinned(own.name.clone()));
        return Ok(content.index.iter().map(home).collect());
    };
    let in_source = |error: SkillError| SkillError { name: pin.source.name().map(str::to_owned), ..error };
    let mut found = Vec::new();
    for folder in skill_folders(folder).map_err(in_source)? {
        let Document { name, description, body: _ } = read(&folder.join(FILE)).map_err(in_source)?;
        found.push((SkillEntry { name, description }, Home::Folder(folder)));
    }
    Ok(found)
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
        Ok(self.load().await?)
    }

    /// Names the pinned sources with their digests. A folder has none.
    fn describe(&self) -> Option<String> {
        let told = |pin: &SkillPin| Some(format!("{} sha256:{}", pin.source.name()?, pin.digest()?));
        let pinned: Vec<String> = self.0.pins.iter().filter_map(told).collect();
        (!pinned.is_empty()).then(|| format!("skills: {}", pinned.join(", ")))
    }

    /// Returns true if a source could not be reached, because it may give its content later. Other errors are about files
    /// and digests, and remain.
    fn is_transient(&self, error: &ErrorInfo) -> bool {
        error.code == SkillErrorKind::Unreachable.code()
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
    let failed = |error: std::io::Error| wrong(folder, SkillErrorKind::Unreadable, error.to_string());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let place = entry.map_err(failed)?.path();
        if place.join(FILE).is_file() {
            found.push(place);
        }
    }
    if found.is_empty() {
        return Err(wrong(
            folder,
            SkillErrorKind::Invalid,
            format!("holds no {FILE}, and no folder that does"),
        ));
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Document, SkillError> {
    let failed = |error: std::io::Error| wrong(path, SkillErrorKind::Unreadable, error.to_string());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong(path, SkillErrorKind::Invalid, format!("has more than {FILE_BYTES_MAX} bytes")));
    }
    front_matter::parse(&text).map_err(|why| wrong(path, SkillErrorKind::Invalid, why))
}
