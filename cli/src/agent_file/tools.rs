//! The tools that a file lists and declares.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;

use holdover_mcp::McpServer;
use holdover_tools::{BUILT_IN, SANDBOX_TOOLS, SandboxOptions};
use toml::Spanned;

/// A position in the file, and the fault there.
type Wrong = (Range<usize>, String);

/// Returns the built-in tools of `tools = […]`.
pub(super) fn built_in(listed: &[Spanned<String>]) -> Result<Vec<String>, Wrong> {
    let mut tools: Vec<String> = Vec::new();
    for tool in listed {
        let name = tool.get_ref();
        if !BUILT_IN.contains(&name.as_str()) {
            let known = BUILT_IN.join(", ");
            return Err((tool.span(), format!("tools: unknown tool {name:?}; known are {known}")));
        }
        if tools.contains(name) {
            return Err((tool.span(), format!("tools: {name:?} is listed twice")));
        }
        tools.push(name.clone());
    }
    Ok(tools)
}

/// Returns true if the files that messages mention are tracked. Fails if that is requested together with a sandbox,
/// because the agent would not see those files.
pub(super) fn mentions(
    asked: Option<Spanned<bool>>,
    sandbox: Option<&SandboxOptions>,
) -> Result<bool, Wrong> {
    match asked {
        Some(asked) if *asked.get_ref() && sandbox.is_some() => {
            Err((asked.span(), "mentions: the files of the agent lie in a sandbox, not in root".to_owned()))
        }
        asked => Ok(asked.is_some_and(Spanned::into_inner)),
    }
}

/// Returns the `[sandbox]` table for an agent with these tools. Relative paths are resolved against the file's folder.
pub(super) fn sandbox(
    table: Option<Spanned<SandboxOptions>>,
    tools: &[String],
    folder: &Path,
) -> Result<Option<SandboxOptions>, Wrong> {
    let Some(table) = table else { return Ok(None) };
    let span = table.span();
    let mut options = table.into_inner();
    // A sandbox without tools is a mistake and protects nothing.
    if !tools.iter().any(|tool| SANDBOX_TOOLS.contains(&tool.as_str())) {
        let some = SANDBOX_TOOLS.join(", ");
        return Err((span, format!("sandbox: no tool works in it; list some of {some}")));
    }
    options.root = options.root.map(|root| folder.join(root));
    if let Some(image) = &options.image {
        let image = folder.join(image);
        let found = image.canonicalize();
        options.image = Some(
            found.map_err(|error| (span.clone(), format!("sandbox: image: {}: {error}", image.display())))?,
        );
    }
    let mut program = options.bubblewrap.to_string_lossy().into_owned();
    beside(&mut program, folder).map_err(|why| (span, format!("sandbox: bubblewrap: {why}")))?;
    options.bubblewrap = program.into();
    Ok(Some(options))
}

/// Returns the servers of the `[[mcp]]` tables. Program names with a `/` are resolved against the file's folder.
pub(super) fn servers(tables: Vec<Spanned<McpServer>>, folder: &Path) -> Result<Vec<McpServer>, Wrong> {
    let mut servers: Vec<McpServer> = Vec::new();
    for table in tables {
        let span = table.span();
        let wrong = |why: String| (span.clone(), why);
        let mut server = table.into_inner();
        server.check().map_err(|error| wrong(error.to_string()))?;
        if servers.iter().any(|other| other.name == server.name) {
            return Err(wrong(format!("mcp server {:?}: is declared twice", server.name)));
        }
        if let Some(program) = server.command.first_mut() {
            beside(program, folder).map_err(|why| wrong(format!("mcp server {:?}: {why}", server.name)))?;
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Checks that this process can run `program`. Makes it absolute if it is a path, and otherwise looks it up in `PATH`.
pub(super) fn existing_program(program: &mut String, folder: &Path) -> Result<(), String> {
    existing_in(program, folder, &std::env::var_os("PATH").unwrap_or_default())
}

/// Does the same as [`existing_program`], with this value of `PATH`.
fn existing_in(program: &mut String, folder: &Path, path: &OsStr) -> Result<(), String> {
    beside(program, folder)?;
    if program.contains('/') {
        return runnable(Path::new(program)).map_err(|why| format!("{program}: {why}"));
    }
    let mut found =
        std::env::split_paths(path).map(|place| place.join(&program)).filter(|place| place.is_file());
    let Some(first) = found.next() else { return Err(format!("{program}: is in no folder of PATH")) };
    // As when the program starts, files that cannot be run are passed over.
    match runnable(&first) {
        Err(why) if !found.any(|place| runnable(&place).is_ok()) => {
            Err(format!("{}: {why}", first.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Checks that `place` is a file that this process may execute.
fn runnable(place: &Path) -> Result<(), &'static str> {
    if !place.is_file() {
        return Err("is not a file");
    }
    rustix::fs::access(place, rustix::fs::Access::EXEC_OK).map_err(|_| "is not executable")
}

/// Makes `program` absolute if it is a path.
pub(super) fn beside(program: &mut String, folder: &Path) -> Result<(), String> {
    if program.contains('/') {
        let place = folder.join(&program);
        let place = place.canonicalize().map_err(|error| format!("{}: {error}", place.display()))?;
        *program = place.to_string_lossy().into_owned();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_file_that_can_be_run() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir(folder.join("inner")).unwrap();
        for (name, mode) in [("runs", 0o755), ("plain", 0o644)] {
            std::fs::write(folder.join(name), "").unwrap();
            std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let place = |name: &str| folder.join(name).display().to_string();
        let found = |program: &str, path: &[&Path]| {
            let mut program = program.to_owned();
            let path = std::env::join_paths(path).unwrap();
            existing_in(&mut program, &folder, &path).map(|()| program)
        };
        assert_eq!(found("./runs", &[]), Ok(place("runs")));
        assert_eq!(found("./plain", &[]), Err(format!("{}: is not executable", place("plain"))));
        assert_eq!(found("./inner", &[]), Err(format!("{}: is not a file", place("inner"))));
        assert_eq!(found("runs", &[&folder]), Ok("runs".to_owned()));
        assert_eq!(found("plain", &[&folder]), Err(format!("{}: is not executable", place("plain"))));
        assert_eq!(found("inner", &[&folder]), Err("inner: is in no folder of PATH".to_owned()));
        // A later folder may have it.
        let later = folder.join("inner");
        std::fs::copy(folder.join("runs"), later.join("plain")).unwrap();
        assert_eq!(found("plain", &[&folder, &later]), Ok("plain".to_owned()));
    }
}
