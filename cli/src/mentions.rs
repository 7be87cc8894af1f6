//! The files that a message mentions, beneath the folder of the agent's file tools.

use holdover_core::message::{Mention, Mentions};
use holdover_core::payload::Payload;
use holdover_tools::Root;

use crate::exit::Failure;
use crate::print::note;
use crate::recipe::Recipe;
use crate::source::Blueprint;

/// Returns the files that a message to an agent mentions: those of `paths` (`--mention`), and those that its text names,
/// if the agent file says so. `definition` is the stored definition of the agent.
///
/// Fails as wrong use if a path of `--mention` names no file that can be read, or if `--mention` is given and the
/// agent's files are not here. Also fails as wrong use if those files lie in a sandbox.
pub(crate) async fn of(definition: &Payload, text: &str, paths: &[String]) -> Result<Mentions, Failure> {
    let refuse = |why: String| Failure::wrong_use(format!("--mention: {why}"));
    let recipe: Recipe = match Blueprint::stored(definition) {
        Ok(blueprint) => blueprint.recipe,
        // The agent belongs to another program.
        Err(_) if paths.is_empty() => return Ok(Mentions::none()),
        Err(why) => return Err(refuse(why)),
    };
    let from_text = recipe.mentions && text.contains('@');
    if !from_text && paths.is_empty() {
        return Ok(Mentions::none());
    }
    if recipe.sandbox.is_some() {
        return Err(refuse("the files of the agent lie in a sandbox, not in root".to_owned()));
    }
    let root = match Root::open(&recipe.root) {
        Ok(root) => root,
        // Any machine may send a message to the session.
        Err(error) if paths.is_empty() => {
            note(&format!("no mentioned file is tracked: {error}"));
            return Ok(Mentions::none());
        }
        Err(error) => return Err(refuse(error.to_string())),
    };
    let mut found = match from_text {
        true => {
            let mentions = root.mentions_in(text).await;
            mentions.map_err(|error| Failure::failed(error.to_string()))?.iter().cloned().collect()
        }
        false => Vec::<Mention>::new(),
    };
    for path in paths {
        let mention = root.mention(path).await.map_err(|error| refuse(error.to_string()))?;
        if mention.why_not_read().is_some() {
            return Err(refuse(mention.to_string()));
        }
        found.push(mention);
    }
    Mentions::of(found).map_err(|why| refuse(why.to_string()))
}
