//! The picture that Restate shows of a session.

use holdover_core::ids::SessionKey;
use holdover_core::store::SessionStatus;
use holdover_runtime_local::Seen;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::client::Api;
use crate::error::RestateError;
use crate::names::object_key;

/// The calls of handlers for a session that are not over. A call with the status `scheduled` is a timer.
const CALLS: &str = "SELECT target_service_name AS service, status AS shown FROM sys_invocation \
                     WHERE status <> 'completed' AND target_service_key = ";
/// The statuses in the objects of a session, as JSON.
const STATUSES: &str = "SELECT service_name AS service, value_utf8 AS shown FROM state \
                        WHERE key = 'status' AND service_key = ";

#[derive(Deserialize)]
struct Rows<R> {
    rows: Vec<R>,
}

#[derive(Deserialize)]
struct Row {
    service: String,
    shown: String,
}

/// Performs a query that ends with the key of the session's objects.
pub(crate) async fn query<R: DeserializeOwned>(
    admin: &Api,
    query: &str,
    key: &SessionKey,
) -> Result<Vec<R>, RestateError> {
    let query = format!("{query}'{}'", object_key(key).replace('\'', "''"));
    let answer: Rows<R> = admin.post("query", &json!({ "query": query })).await?;
    Ok(answer.rows)
}

/// Returns what Restate shows of the objects of a session whose services begin with `base`. Returns `None` if Restate has no
/// such object.
pub(crate) async fn look(admin: &Api, base: &str, key: &SessionKey) -> Result<Option<Seen>, RestateError> {
    let prefix = format!("{base}.");
    let ours = |row: &Row| row.service.starts_with(&prefix);
    // A call that ends in between leaves its state, which is read afterwards.
    let calls: Vec<Row> = query(admin, CALLS, key).await?.into_iter().filter(ours).collect();
    let statuses: Vec<Row> = query(admin, STATUSES, key).await?.into_iter().filter(ours).collect();
    if calls.is_empty() && statuses.is_empty() {
        return Ok(None);
    }
    let at_work = calls.iter().any(|call| call.shown != "scheduled");
    let status = statuses.first().and_then(|row| serde_json::from_str::<SessionStatus>(&row.shown).ok());
    Ok(Some(Seen::new(status, at_work)))
}
