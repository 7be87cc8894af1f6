//! The sources of skills that a file lists, or takes from a file of sources.

use std::ops::Range;
use std::path::{Path, PathBuf};

use holdover_tools::{SkillCache, SkillCatalog, SkillPin, SkillSource, Skills};
use toml::Spanned;

use super::reading;
use crate::input::small_file;

/// A position in the file, and the fault there.
type Wrong = (Range<usize>, String);

/// Returns the sources of `skills = […]`, followed by those of the file `skill_sources`: the ones in `skill_namespaces`,
/// or else its default list. Relative paths are resolved against `folder`, or against the folder of the file of sources.
/// Folders are read, to find mistakes. Archives and commits are not.
pub(super) fn read(
    listed: Vec<Spanned<SkillSource>>,
    catalog: Option<Spanned<PathBuf>>,
    namespaces: Option<Spanned<Vec<String>>>,
    folder: &Path,
) -> Result<Vec<SkillPin>, Wrong> {
    let mut pins: Vec<SkillPin> = Vec::new();
    for listed in listed {
        let span = listed.span();
        let wrong = |why: String| (span.clone(), format!("skills: {why}"));
        pins.push(found(listed.into_inner().beneath(folder)).map_err(wrong)?.into());
        check(&pins).map_err(wrong)?;
    }
    let Some(file) = catalog else {
        return match namespaces {
            Some(names) => Err((
                names.span(),
                "skill_namespaces: needs skill_sources, the file that declares them".to_owned(),
            )),
            None => Ok(pins),
        };
    };
    let wrong = |why: String| (file.span(), format!("skill_sources: {why}"));
    let place = folder.join(file.get_ref());
    let catalog = of_file(&place).map_err(|why| wrong(format!("{}: {why}", place.display())))?;
    let (span, key) = match &namespaces {
        Some(names) => (names.span(), "skill_namespaces"),
        None => (file.span(), "skill_sources"),
    };
    let names = namespaces.as_ref().map(|names| names.get_ref().as_slice());
    let selected = catalog.select(names).map_err(|error| (span.clone(), format!("{key}: {error}")))?;
    for source in selected {
        let wrong = |why: String| (span.clone(), format!("{key}: {why}"));
        pins.push(found(source).map_err(wrong)?.into());
        check(&pins).map_err(wrong)?;
    }
    Ok(pins)
}

/// Reads a file of sources.
fn of_file(place: &Path) -> Result<SkillCatalog, String> {
    let text = small_file(place)?;
    let catalog: SkillCatalog = reading::read(&text).map_err(|wrong| wrong.told(&text))?;
    catalog.check().map_err(|error| error.to_string())?;
    Ok(catalog.beneath(place.parent().unwrap_or(Path::new("/"))))
}

/// Returns the source with the real path of its folder or repository, which must exist.
fn found(source: SkillSource) -> Result<SkillSource, String> {
    source.canonical().map_err(|error| error.to_string())
}

/// Checks what can be checked without reading archives and commits.
fn check(pins: &[SkillPin]) -> Result<(), String> {
    let folders = pins.iter().filter(|pin| !pin.source().is_pinned()).cloned().collect();
    Skills::pinned(folders, SkillCache::at("")).map(drop).map_err(|error| error.to_string())
}
