//! The connection to Temporal.

use std::time::Duration;

use temporalio_client::tonic::{Code, Request};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, TlsOptions};
use temporalio_common::protos::temporal::api::enums::v1::IndexedValueType;
use temporalio_common::protos::temporal::api::operatorservice::v1::ListSearchAttributesRequest;
use url::Url;

use crate::STATUS_ATTRIBUTE;
use crate::error::TemporalError;
use crate::options::TemporalOptions;

/// The time limit to connect. With the first answer of the server, twice this time is allowed.
const CONNECT: Duration = Duration::from_secs(5);

/// A client of a namespace.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) client: Client,
    /// True if the namespace has the search attribute for the status.
    pub(crate) shows: bool,
}

impl Connected {
    /// Connects, and checks whether the namespace has the search attribute.
    pub(crate) async fn new(options: &TemporalOptions, identity: &str) -> Result<Self, TemporalError> {
        let client = connect(options, identity).await?;
        let shows = match why_not_shown(&client, options).await? {
            None => true,
            Some(reason) => {
                tracing::warn!(
                    engine = options.address(),
                    attribute = STATUS_ATTRIBUTE,
                    reason,
                    "Temporal does not show the status of sessions; create the search attribute, of type Keyword, and \
                     restart"
                );
                false
            }
        };
        Ok(Self { client, shows })
    }
}

async fn connect(options: &TemporalOptions, identity: &str) -> Result<Client, TemporalError> {
    options.check()?;
    let failed =
        |detail: String| TemporalError::Unreachable { engine: options.address(), detail: one_line(&detail) };
    let address = &options.address;
    let scheme = if address.tls { "https" } else { "http" };
    let target = Url::parse(&format!("{scheme}://{}:{}", address.host, address.port));
    let target = target.map_err(|error| failed(error.to_string()))?;
    let tls = address
        .tls
        .then(|| TlsOptions::builder().maybe_server_root_ca_cert(options.authorities.clone()).build());
    let wanted = ConnectionOptions::new(target)
        .identity(identity)
        .maybe_tls_options(tls)
        .maybe_api_key(options.api_key.clone())
        .connect_timeout(CONNECT)
        .build();
    let connection = tokio::time::timeout(2 * CONNECT, Connection::connect(wanted)).await;
    let connection = connection.map_err(|_| failed(format!("no answer in {} s", (2 * CONNECT).as_secs())))?;
    let connection = connection.map_err(|error| failed(error.to_string()))?;
    Client::new(connection, ClientOptions::new(address.namespace.clone()).build())
        .map_err(|error| failed(error.to_string()))
}

/// Returns the reason why the status cannot be shown, or `None` if the namespace has the search attribute. A workflow that
/// sets an unknown attribute would not go on.
async fn why_not_shown(client: &Client, options: &TemporalOptions) -> Result<Option<String>, TemporalError> {
    let namespace = options.address.namespace.clone();
    let request = Request::new(ListSearchAttributesRequest { namespace });
    match client.connection().operator_service().list_search_attributes(request).await {
        Ok(known) => Ok(match known.into_inner().custom_attributes.get(STATUS_ATTRIBUTE) {
            Some(kind) if *kind == i32::from(IndexedValueType::Keyword) => None,
            Some(_) => Some("it has another type".to_owned()),
            None => Some("the namespace does not have it".to_owned()),
        }),
        // A client that may not ask can still work.
        Err(status) if matches!(status.code(), Code::PermissionDenied | Code::Unimplemented) => {
            Ok(Some(one_line(status.message())))
        }
        Err(status) => {
            Err(TemporalError::Unreachable { engine: options.address(), detail: one_line(status.message()) })
        }
    }
}

/// Returns the text in one line: each run of blanks and line breaks becomes one blank.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
