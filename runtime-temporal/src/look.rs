//! The picture that Temporal shows of a session.

use holdover_core::ids::SessionKey;
use holdover_core::store::SessionStatus;
use holdover_runtime_local::Seen;
use temporalio_client::errors::WorkflowInteractionError;
use temporalio_client::{Client, WorkflowDescribeOptions, WorkflowExecutionStatus};

use crate::ids::workflow_id_of;
use crate::workflow::{STATUS, SessionWorkflow};

/// Returns what Temporal shows of the session's open workflow, or `None` if there is none.
pub(crate) async fn look(
    client: &Client,
    key: &SessionKey,
) -> Result<Option<Seen>, WorkflowInteractionError> {
    let workflow = client.get_workflow_handle::<SessionWorkflow>(workflow_id_of(key));
    let described = match workflow.describe(WorkflowDescribeOptions::default()).await {
        Ok(described) => described,
        Err(WorkflowInteractionError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if described.status() != WorkflowExecutionStatus::Running {
        return Ok(None);
    }
    let raw = described.raw();
    let at_work = !raw.pending_activities.is_empty() || raw.pending_workflow_task.is_some();
    let shown = described.search_attributes().get(&STATUS);
    let status = shown.and_then(|shown| SessionStatus::from_wire(&shown));
    Ok(Some(Seen::new(status, at_work)))
}
