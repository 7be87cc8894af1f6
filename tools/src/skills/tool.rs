//! The tool `read_skill`.

use std::path::Path;

use holdover_core::ids::ToolName;
use holdover_core::skill::READ_SKILL;
use holdover_core::tool::{EffectClass, ResourceProfile, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bundle::Bundle;
use super::{Home, SkillErrorKind, Skills};
use crate::FunctionTool;
use crate::blocking::{Dropped, blocking};
use crate::files::{RelativePath, Root, read_whole, show_whole};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadSkill {
    /// Which skill.
    name: String,
    /// A file of it, relative to the skill's folder. Left out: the skill itself.
    file: Option<String>,
}

/// Returns a tool that reads the body of a skill, or a text file or picture in its folder. No path leads out of the
/// skill's folder.
pub(super) fn read_skill(skills: Skills) -> FunctionTool<ReadSkill> {
    let name = ToolName::new(READ_SKILL).unwrap_or_else(|_| unreachable!("it is a name"));
    FunctionTool::new(
        name,
        "Reads a skill by its name, or a text file that comes with it. At most 128 KiB are shown.",
        move |asked: ReadSkill, _| {
            let skills = skills.clone();
            async move { read(skills, asked).await }
        },
    )
    .effect(EffectClass::ReadOnly)
    .resources(|_| ResourceProfile::Keys(Vec::new()))
}

async fn read(skills: Skills, asked: ReadSkill) -> Result<ToolOutput, ToolError> {
    let known = &skills.0.skills;
    let Some(skill) = known.iter().find(|skill| skill.entry.name == asked.name) else {
        let names: Vec<&str> = known.iter().map(|skill| skill.entry.name.as_str()).collect();
        let why = format!("there is no skill {:?}; there are: {}", asked.name, names.join(", "));
        return Err(ToolError::Failed(why));
    };
    match skill.home.clone() {
        Home::Folder(folder) => {
            blocking(move |dropped| read_in_folder(&skills, &folder, &asked, dropped)).await
        }
        Home::Pinned(own) => {
            let loaded = skills.loaded(skill.source).await.map_err(|error| match error.kind {
                SkillErrorKind::Unreachable => ToolError::Transient { detail: error.to_string(), wait: None },
                SkillErrorKind::Invalid | SkillErrorKind::Unreadable | SkillErrorKind::Changed => {
                    ToolError::Failed(error.to_string())
                }
            })?;
            read_in_bundle(&loaded.bundle, &own, &asked)
        }
    }
}

fn read_in_folder(
    skills: &Skills,
    folder: &Path,
    asked: &ReadSkill,
    dropped: &Dropped,
) -> Result<ToolOutput, ToolError> {
    match &asked.file {
        None => {
            let body =
                skills.body(&asked.name, folder).map_err(|error| ToolError::Failed(error.to_string()))?;
            Ok(ToolOutput::text(body.as_ref()))
        }
        Some(file) => {
            let root = Root::open(folder).map_err(|error| ToolError::Failed(error.to_string()))?;
            read_whole(&root, file, dropped)
        }
    }
}

fn read_in_bundle(bundle: &Bundle, own: &str, asked: &ReadSkill) -> Result<ToolOutput, ToolError> {
    let Some(skill) = bundle.skill(own) else {
        return Err(ToolError::Failed(format!("the source of skill {:?} has no skill {own:?}", asked.name)));
    };
    let Some(file) = &asked.file else { return Ok(ToolOutput::text(skill.body())) };
    let path = RelativePath::parse_file(file)?;
    match bundle.file(skill, &path.to_string()) {
        Some(bytes) => show_whole(bytes, &path),
        None => Err(ToolError::Failed(format!("{path}: the skill has no such file"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use holdover_core::ids::TurnNumber;
    use holdover_core::skill::SkillSet;
    use holdover_core::tool::ToolReturn;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Fixture, call};

    async fn run(skills: &Skills, arguments: Value) -> Result<String, String> {
        let tool = skills.tool();
        assert!(jsonschema::is_valid(&tool.spec().parameters, &arguments));
        match tool.call(call(arguments)).await {
            Ok(ToolReturn::Output(output)) => Ok(output.content),
            other => Err(format!("{:?}", other.unwrap_err())),
        }
    }

    #[tokio::test]
    async fn a_body_and_the_files_beside_it_are_read_and_nothing_outside() {
        let files = [
            ("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF\n---\nUse it so."),
            ("skills/pdf/more/forms.md", "Forms."),
            ("secret.txt", "secret"),
        ];
        let fixture = Fixture::new(&files);
        let folder = fixture.folder.path().join("skills");
        std::os::unix::fs::symlink("../../secret.txt", folder.join("pdf/link")).unwrap();
        let skills = Skills::open([&folder]).unwrap();
        assert_eq!(run(&skills, json!({ "name": "pdf" })).await.unwrap(), "Use it so.");
        assert_eq!(run(&skills, json!({ "name": "pdf", "file": "more/forms.md" })).await.unwrap(), "Forms.");
        for file in ["../../secret.txt", "/etc/hostname", "link"] {
            let line = run(&skills, json!({ "name": "pdf", "file": file })).await.unwrap_err();
            assert!(!line.contains("secret\""), "{line}");
        }
        let line = run(&skills, json!({ "name": "xls" })).await.unwrap_err();
        assert!(line.contains("there is no skill \\\"xls\\\"; there are: pdf"), "{line}");
    }

    #[tokio::test]
    async fn c12_bodies_are_read_when_a_turn_is_provisioned() {
        let body = |body: &str| format!("---\nname: pdf\ndescription: Reads PDF\n---\n{body}");
        let fixture = Fixture::new(&[("pdf/SKILL.md", &body("one"))]);
        let skills = Skills::open([fixture.folder.path()]).unwrap();
        let provisioner = skills.provisioner();
        let session = call(json!({})).session;
        let file = fixture.folder.path().join("pdf/SKILL.md");
        provisioner.provision(&session, TurnNumber(1)).await.unwrap();
        fs::write(&file, body("two")).unwrap();
        assert_eq!(run(&skills, json!({ "name": "pdf" })).await.unwrap(), "one", "as the turn began with it");
        provisioner.provision(&session, TurnNumber(2)).await.unwrap();
        assert_eq!(run(&skills, json!({ "name": "pdf" })).await.unwrap(), "two");
        fs::remove_file(&file).unwrap();
        let error = provisioner.provision(&session, TurnNumber(3)).await.unwrap_err();
        assert_eq!(error.code, "skills.unreadable");
        assert!(!provisioner.is_transient(&error));
        assert!(error.detail.contains("pdf/SKILL.md: "), "{}", error.detail);
    }
}
