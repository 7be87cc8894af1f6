//! Hooks around a model call.

use std::sync::Arc;

use holdover_core::hook::{BeforeModel, HookPoint, ModelAsked};
use holdover_core::model::{ModelAnswer, ModelError, ModelErrorKind, ModelRequest};

use super::{Hooked, Hooks};

impl Hooks {
    /// Returns the request for the model after all hooks have seen or replaced it. Fails if a hook holds or denies
    /// the request, or fails itself and its failures count.
    pub(crate) async fn before_model(
        &self,
        asked: &ModelAsked,
        mut request: ModelRequest,
    ) -> Result<ModelRequest, ModelError> {
        for hooked in self.at(HookPoint::BeforeModel) {
            let (hook, told, shown) = (Arc::clone(&hooked.hook), asked.clone(), request.clone());
            let word = hooked
                .ask(HookPoint::BeforeModel, async move { hook.before_model(&told, &shown).await })
                .await
                .map_err(|failed| denied(failed.to_string()))?;
            match word.unwrap_or(BeforeModel::Ask) {
                BeforeModel::Ask => {}
                BeforeModel::AskWith(instead) => request = *instead,
                BeforeModel::Hold { wait, reason } => {
                    let retry_after = Some(wait);
                    return Err(ModelError { retry_after, ..said_by(hooked, ModelErrorKind::Held, &reason) });
                }
                BeforeModel::Deny { reason } => {
                    return Err(said_by(hooked, ModelErrorKind::Denied, &reason));
                }
            }
        }
        Ok(request)
    }

    /// Shows the model's answer to the hooks. Fails if a hook fails whose failures count.
    pub(crate) async fn after_model(
        &self,
        asked: &ModelAsked,
        answer: &ModelAnswer,
    ) -> Result<(), ModelError> {
        for hooked in self.at(HookPoint::AfterModel) {
            let (hook, told, answer) = (Arc::clone(&hooked.hook), asked.clone(), answer.clone());
            hooked
                .ask(HookPoint::AfterModel, async move { hook.after_model(&told, &answer).await })
                .await
                .map_err(|failed| denied(failed.to_string()))?;
        }
        Ok(())
    }
}

fn said_by(hooked: &Hooked, kind: ModelErrorKind, reason: &str) -> ModelError {
    ModelError::new(kind, format!("the hook {}: {reason}", hooked.name))
}

fn denied(why: String) -> ModelError {
    ModelError::new(ModelErrorKind::Denied, why)
}
