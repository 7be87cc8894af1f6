//! Loads pinned sources: from the memory of this process, from the cache, or from their place.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Instant;

use super::bundle::{self, Bundle, unpack};
use super::cache::SkillCache;
use super::pin::PinnedContent;
use super::source::{SkillPlace, SkillSource};
use super::{SkillError, SkillErrorKind, git};

/// A source that this process has loaded or is loading. It is locked while it is loaded, so that all callers that want it
/// wait for one attempt, and share its success or the error that the source cannot be reached.
type Slot = Arc<tokio::sync::Mutex<Held>>;

#[derive(Default)]
struct Held {
    loaded: Weak<Loaded>,
    /// The last attempt that did not reach the source, and the time at which it ended.
    failed: Option<(Instant, SkillError)>,
}

/// A pinned source with its files.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) bundle: Bundle,
    /// The digest that is recorded. See [`PinnedContent::digest`].
    pub(super) digest: String,
}

impl Loaded {
    pub(super) fn content(&self) -> PinnedContent {
        PinnedContent { digest: self.digest.clone(), index: self.bundle.index() }
    }
}

/// All sources that this process uses.
static SLOTS: LazyLock<Mutex<HashMap<(SkillCache, SkillSource), Slot>>> = LazyLock::new(Mutex::default);

fn slot(cache: &SkillCache, source: &SkillSource) -> Slot {
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    // Sources that nobody uses any more are forgotten.
    slots.retain(|_, slot| {
        Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|held| held.loaded.strong_count() > 0)
    });
    Arc::clone(slots.entry((cache.clone(), source.clone())).or_default())
}

/// Loads a pinned source. If the cache has it, nobody is asked. Otherwise it is fetched once, checked, and written to
/// the cache; after an error, the cache is as before. If the source cannot be reached, callers that waited for the attempt
/// get the same error and do not try again.
///
/// Fails if the source cannot be reached, if its content does not have the declared digest or the recorded one (`known`),
/// or if the content is not valid.
pub(super) async fn load(
    cache: &SkillCache,
    source: &SkillSource,
    known: Option<&str>,
) -> Result<Arc<Loaded>, SkillError> {
    let slot = slot(cache, source);
    let asked = Instant::now();
    let mut held = slot.lock().await;
    if let Some(loaded) = held.loaded.upgrade() {
        check(source, &loaded, known)?;
        return Ok(loaded);
    }
    let found = match cached(cache, source, known).await? {
        Some(loaded) => loaded,
        None => {
            if let Some((ended, error)) = &held.failed
                && *ended >= asked
            {
                return Err(error.clone());
            }
            match fetched(cache, source, known).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    if error.kind == SkillErrorKind::Unreachable {
                        held.failed = Some((Instant::now(), error.clone()));
                    }
                    return Err(error);
                }
            }
        }
    };
    check(source, &found, known)?;
    let loaded = Arc::new(found);
    *held = Held { loaded: Arc::downgrade(&loaded), failed: None };
    Ok(loaded)
}

fn check(source: &SkillSource, loaded: &Loaded, known: Option<&str>) -> Result<(), SkillError> {
    match known {
        Some(known) if known != loaded.digest => {
            let why = format!("its content has the digest {}, not {known}, as recorded", loaded.digest);
            Err(source.wrong(SkillErrorKind::Changed, why))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the content of a source from the cache, if it is there and has the digest `known`.
async fn cached(
    cache: &SkillCache,
    source: &SkillSource,
    known: Option<&str>,
) -> Result<Option<Loaded>, SkillError> {
    let (here, wanted) = (cache.clone(), source.clone());
    let found = blocking(source, move || {
        let bytes = here.read(&wanted)?;
        opened(&wanted, &bytes).ok()
    });
    Ok(found.await?.filter(|loaded| check(source, loaded, known).is_ok()))
}

/// Gets the content of a source from its place, and writes it to the cache.
async fn fetched(
    cache: &SkillCache,
    source: &SkillSource,
    known: Option<&str>,
) -> Result<Loaded, SkillError> {
    let told = |(kind, why)| source.wrong(kind, why);
    let (cache, wanted) = (cache.clone(), source.clone());
    match source.place() {
        SkillPlace::Folder(_) => Err(source.wrong(SkillErrorKind::Invalid, "a folder is not pinned")),
        SkillPlace::Archive { url, sha256, .. } => {
            let bytes = download(url).await.map_err(told)?;
            let sha256 = sha256.clone();
            let opened = blocking(source, move || {
                let found = bundle::sha256(&bytes);
                if found != sha256 {
                    let why = format!("the archive has the digest {found}, not {sha256}");
                    return Err(wanted.wrong(SkillErrorKind::Changed, why));
                }
                let loaded = opened(&wanted, &bytes)?;
                cache.write(&wanted, &bytes)?;
                Ok(loaded)
            });
            opened.await?
        }
        SkillPlace::Git { repository, commit, folder } => {
            let files = git::read(repository, commit, folder).await.map_err(told)?;
            let known = known.map(str::to_owned);
            let opened = blocking(source, move || {
                let invalid = |why: String| wanted.wrong(SkillErrorKind::Invalid, why);
                let bundle = Bundle::of(files).map_err(invalid)?;
                let loaded = Loaded { digest: bundle.digest(), bundle };
                check(&wanted, &loaded, known.as_deref())?;
                let packed = loaded.bundle.packed().map_err(|error| invalid(error.to_string()))?;
                cache.write(&wanted, &packed)?;
                Ok(loaded)
            });
            opened.await?
        }
    }
}

/// Opens the content of a source, in the form in which the cache keeps it.
fn opened(source: &SkillSource, bytes: &[u8]) -> Result<Loaded, SkillError> {
    let invalid = |why: String| source.wrong(SkillErrorKind::Invalid, why);
    let bundle_in = |folder: &str| Bundle::of(unpack(bytes, folder).map_err(invalid)?).map_err(invalid);
    match source.place() {
        SkillPlace::Folder(_) => Err(invalid("a folder is not pinned".to_owned())),
        SkillPlace::Archive { sha256, folder, .. } => {
            Ok(Loaded { bundle: bundle_in(folder)?, digest: sha256.clone() })
        }
        SkillPlace::Git { .. } => {
            let bundle = bundle_in("")?;
            Ok(Loaded { digest: bundle.digest(), bundle })
        }
    }
}

/// Runs `work` on a thread for blocking work.
async fn blocking<T: Send + 'static>(
    source: &SkillSource,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SkillError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        source.wrong(SkillErrorKind::Unreadable, format!("the worker thread ended: {error}"))
    })
}

#[cfg(feature = "skills-https")]
use super::https::download;

/// Fails: this build has no HTTP client.
#[cfg(not(feature = "skills-https"))]
async fn download(_url: &str) -> Result<Vec<u8>, (SkillErrorKind, String)> {
    let why =
        "it is not in the cache, and this build leaves out the feature skills-https, which downloads it";
    Err((SkillErrorKind::Unreachable, why.to_owned()))
}
