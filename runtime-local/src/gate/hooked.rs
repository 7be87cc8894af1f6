//! Asks the hooks about a call before the gate decides.

use std::sync::Arc;

use holdover_core::agent::ChildRules;
use holdover_core::children::Tasks;
use holdover_core::engine::Ruling;
use holdover_core::gate::{AtExpiry, GateQuestion};
use holdover_core::handoff::HandOffTo;
use holdover_core::hook::{BeforeSubAgent, BeforeTool, HookPoint, SubAgentAsked};
use holdover_core::ids::ToolName;
use holdover_core::payload::Digest;
use holdover_core::tool::ToolOutput;

use crate::agent::Agent;
use crate::hooks::{Failed, Hooked};

/// A call after the hooks have seen it, before the gate decides.
pub(crate) struct Passed {
    /// The call as it would run.
    pub(crate) question: GateQuestion,
    /// The name of the last hook that rewrote the call.
    rewritten_by: Option<String>,
    /// The text for the person whose approval a hook requires, if it has one. `None` if no hook requires an approval.
    held: Option<Option<String>>,
    /// The result that a hook gives in place of the call.
    answer: Option<ToolOutput>,
}

impl Passed {
    /// Shows a call, whose arguments fit the tool's schema, to the hooks. If a hook denies the call, fails it, or
    /// itself fails where failures count, returns the ruling as the error.
    pub(super) async fn of(agent: &Arc<Agent>, question: GateQuestion) -> Result<Self, Ruling> {
        let tool = question.tool.clone();
        let mut passed = Self { question, rewritten_by: None, held: None, answer: None };
        let mut denied = None;
        for hooked in agent.hooks().of_tool(HookPoint::BeforeTool, &tool) {
            let (hook, asked) = (Arc::clone(&hooked.hook), passed.question.clone());
            let word = hooked
                .ask(HookPoint::BeforeTool, async move { hook.before_tool(&asked).await })
                .await
                .map_err(|failed| Ruling::Unavailable { detail: failed.to_string() })?;
            match word.unwrap_or(BeforeTool::Allow) {
                BeforeTool::Allow => {}
                BeforeTool::Deny { reason } => denied = denied.or(Some(deny(hooked, reason))),
                BeforeTool::Hold { prompt } => passed.held = passed.held.or(Some(prompt)),
                BeforeTool::Rewrite { arguments } => {
                    passed
                        .rewrite(agent, hooked, HookPoint::BeforeTool, arguments)
                        .await
                        .map_err(unavailable)?;
                }
                BeforeTool::Answer(output) => passed.answer = passed.answer.or(Some(output)),
                BeforeTool::Fail { reason } => {
                    return Err(Ruling::Failed { detail: format!("the hook {}: {reason}", hooked.name) });
                }
            }
        }
        if let Some(rules) = agent.spec().sub_agent(tool.as_str()).filter(|_| denied.is_none()) {
            denied = passed.of_sub_agent(agent, rules, &tool).await?;
        }
        denied.map_or(Ok(passed), Err)
    }

    /// Shows the tasks of a call of a sub-agent to the hooks. For a call that hands over, the goal is the one task.
    /// Returns the denial if a hook denies the call.
    async fn of_sub_agent(
        &mut self,
        agent: &Arc<Agent>,
        rules: &ChildRules,
        tool: &ToolName,
    ) -> Result<Option<Ruling>, Ruling> {
        let mut denied = None;
        for hooked in agent.hooks().of_tool(HookPoint::BeforeSubAgent, tool) {
            // Tasks that the rules do not allow are refused later, when the children are to begin.
            let Ok(tasks) = tasks_in(&self.question.arguments, rules) else { break };
            let asked = SubAgentAsked {
                session: self.question.session.clone(),
                call: self.question.call.clone(),
                sub_agent: tool.clone(),
                tasks: tasks.clone(),
                approved: self.question.approved,
            };
            let hook = Arc::clone(&hooked.hook);
            let word = hooked
                .ask(HookPoint::BeforeSubAgent, async move { hook.before_sub_agent(&asked).await })
                .await
                .map_err(unavailable)?;
            match word.unwrap_or(BeforeSubAgent::Allow) {
                BeforeSubAgent::Allow => {}
                BeforeSubAgent::Deny { reason } => denied = denied.or(Some(deny(hooked, reason))),
                BeforeSubAgent::Rewrite { tasks: instead } => {
                    // The call cannot wait for more outcomes than there are tasks left.
                    let count = u32::try_from(instead.len()).unwrap_or(u32::MAX);
                    let first = tasks.first.map(|first| first.min(count));
                    let instead = Tasks { tasks: instead, first, ..tasks };
                    let arguments = arguments_of(instead, rules);
                    self.rewrite(agent, hooked, HookPoint::BeforeSubAgent, arguments)
                        .await
                        .map_err(unavailable)?;
                }
            }
        }
        Ok(denied)
    }

    /// Takes rewritten arguments, and checks them immediately, so that later hooks are asked about arguments that
    /// fit.
    async fn rewrite(
        &mut self,
        agent: &Arc<Agent>,
        hooked: &Hooked,
        point: HookPoint,
        arguments: String,
    ) -> Result<(), Failed> {
        if arguments == self.question.arguments {
            return Ok(());
        }
        let digest = Digest::of(arguments.as_bytes());
        // An earlier approval was for other arguments.
        let rewritten = GateQuestion { arguments, digest, approved: false, ..self.question.clone() };
        match super::fits(agent, &rewritten).await {
            Ok(()) => {
                self.question = rewritten;
                self.rewritten_by = Some(hooked.name.clone());
                Ok(())
            }
            Err(ruling) => {
                let what = format!("the hook {} rewrote the arguments to what does not fit", hooked.name);
                let detail = match ruling {
                    Ruling::Invalid { detail } | Ruling::Unavailable { detail } => Some(detail),
                    Ruling::Allow { .. }
                    | Ruling::NeedsApproval { .. }
                    | Ruling::Deny { .. }
                    | Ruling::Rewritten { .. }
                    | Ruling::Answered { .. }
                    | Ruling::Failed { .. } => None,
                };
                hooked.let_pass(point, Failed { what, detail })
            }
        }
    }

    /// Combines the gate's ruling with that of the hooks.
    pub(crate) fn ruled(self, ruling: Ruling) -> Ruling {
        let held = self.held.filter(|_| !self.question.approved);
        let ruling = match (ruling, held) {
            (Ruling::Allow { profile }, Some(prompt)) => {
                Ruling::NeedsApproval { prompt, terms: Box::default(), profile }
            }
            // A hook requires a person's decision, so the deadline must not approve the call.
            (Ruling::NeedsApproval { prompt, mut terms, profile }, Some(told)) => {
                if terms.at_expiry == AtExpiry::Approve {
                    terms.at_expiry = AtExpiry::Deny;
                }
                Ruling::NeedsApproval { prompt: prompt.or(told), terms, profile }
            }
            (other, _) => other,
        };
        let ruling = match (ruling, self.answer) {
            // It is not known here whether the required approval already exists.
            (ruling @ (Ruling::Allow { .. } | Ruling::NeedsApproval { .. }), Some(output)) => {
                Ruling::Answered { output, ruling: Box::new(ruling) }
            }
            (other, _) => other,
        };
        match (self.rewritten_by, &ruling) {
            (Some(by), Ruling::Allow { .. } | Ruling::NeedsApproval { .. } | Ruling::Answered { .. }) => {
                let arguments = self.question.arguments;
                Ruling::Rewritten { arguments, by, ruling: Box::new(ruling) }
            }
            (_, _) => ruling,
        }
    }
}

fn deny(hooked: &Hooked, reason: String) -> Ruling {
    Ruling::Deny { reason, rule: Some(format!("hook {}", hooked.name)) }
}

/// Returns the tasks of a call of a sub-agent. For a call that hands over, the goal is the one task.
fn tasks_in(arguments: &str, rules: &ChildRules) -> Result<Tasks, String> {
    if !rules.takes_over {
        return Tasks::read(arguments, rules);
    }
    let HandOffTo { goal } = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    Ok(Tasks { tasks: vec![goal], ..Tasks::default() })
}

/// Returns the arguments of a call with these tasks. A call that hands over has one goal; if hooks gave several,
/// the returned arguments do not fit the tool.
fn arguments_of(tasks: Tasks, rules: &ChildRules) -> String {
    let written = match tasks.tasks.as_slice() {
        [goal] if rules.takes_over => serde_json::to_string(&HandOffTo { goal: goal.clone() }),
        _ => serde_json::to_string(&tasks),
    };
    written.unwrap_or_default()
}

fn unavailable(failed: Failed) -> Ruling {
    Ruling::Unavailable { detail: failed.to_string() }
}
