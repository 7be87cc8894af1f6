//! Checks that an approved call was also run.

use holdover_core::gate::DeniedBy;
use holdover_core::message::Message;

use super::which::Asked;
use crate::exit::Failure;
use crate::front::Front;
use crate::print::one_line;

/// Returns the reason why an approved call was not run, if the policy denied it when it was asked again. An approval
/// satisfies a policy that requires one, but does not lift a denial.
pub(super) async fn denied_all_the_same(front: &Front, asked: &Asked) -> Result<Option<String>, Failure> {
    for entry in front.runtime.messages(&asked.asker).await?.into_iter().rev() {
        match entry.message {
            Message::Tool(found) if found.call.as_str() == asked.call => {
                let denial = found.denial.filter(|denial| denial.denied_by != DeniedBy::User);
                return Ok(denial.map(|denial| {
                    format!("it was approved, and the policy denied it: {}", one_line(&denial.reason))
                }));
            }
            Message::Tool(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::User(_)
            | Message::Notice(_)
            | Message::Summary(_) => {}
        }
    }
    Ok(None)
}
