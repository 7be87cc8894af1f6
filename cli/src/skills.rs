//! The skills of an agent, and their cache on this machine.

use holdover_tools::{SkillCache, SkillPin, Skills};

/// Opens the skills of an agent without asking anybody. Their content is loaded when a turn begins.
pub(crate) fn open(pins: &[SkillPin]) -> Result<Skills, String> {
    Skills::pinned(pins.to_vec(), cache_for(pins)?).map_err(|error| format!("skills: {error}"))
}

/// Reads the skills of an agent. Those of archives and commits come from the cache, or else are fetched into it.
pub(crate) async fn fetch(pins: &[SkillPin]) -> Result<Skills, String> {
    let fetched = Skills::fetch_pins(pins.to_vec(), &cache_for(pins)?).await;
    fetched.map_err(|error| format!("skills: {error}"))
}

/// Returns the user's cache. Agents that have only folders need none, so the environment may lack its variables.
fn cache_for(pins: &[SkillPin]) -> Result<SkillCache, String> {
    if pins.iter().any(|pin| pin.source().is_pinned()) {
        return SkillCache::of_user().map_err(|error| format!("skills: {error}"));
    }
    Ok(SkillCache::at(""))
}
