//! The system prompt of an agent, composed of layers.

use std::fmt::Write as _;

use crate::words::agent::AgentSpec;
use crate::words::mode::Mode;
use crate::words::skill::SkillEntry;

/// Returns the system prompt of `agent` in `mode`: the paragraph of the mode, the identity, the list of
/// skills, and the instructions. Equal arguments give equal bytes, so that a provider can use its cache.
pub fn system_prompt(agent: &AgentSpec, mode: Mode, skills: &[SkillEntry]) -> String {
    let layers = [mode.paragraph().to_owned(), identity(agent), index(skills), agent.instructions.clone()];
    let said: Vec<&str> = layers.iter().map(|layer| layer.trim()).filter(|layer| !layer.is_empty()).collect();
    said.join("\n\n")
}

fn identity(agent: &AgentSpec) -> String {
    match &agent.identity {
        Some(own) => own.clone(),
        None => format!("You are the agent {:?}.", agent.name),
    }
}

fn index(skills: &[SkillEntry]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "You have skills. When one fits what you are asked, read it with {} before you begin:",
        crate::words::skill::READ_SKILL
    );
    for SkillEntry { name, description } in skills {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {name}: {description}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c13_mode_identity_skills_and_instructions_in_this_order() {
        let agent = AgentSpec { instructions: "Be brief.\n".into(), ..AgentSpec::new("keeper") };
        let skills = [SkillEntry { name: "pdf".into(), description: "Reads PDF files".into() }];
        for mode in Mode::ALL {
            let prompt = system_prompt(&agent, mode, &skills);
            let layers: Vec<&str> = prompt.split("\n\n").collect();
            assert_eq!(layers[0], mode.paragraph());
            assert_eq!(layers[1], "You are the agent \"keeper\".");
            assert!(layers[2].ends_with("\n- pdf: Reads PDF files"), "{prompt}");
            assert_eq!(layers[3..], ["Be brief."]);
        }
        assert_eq!(Mode::default(), Mode::Agent);
    }

    #[test]
    fn an_empty_layer_leaves_no_gap() {
        let agent = AgentSpec { identity: Some(String::new()), ..AgentSpec::new("keeper") };
        assert_eq!(system_prompt(&agent, Mode::Ask, &[]), Mode::Ask.paragraph());
    }
}
