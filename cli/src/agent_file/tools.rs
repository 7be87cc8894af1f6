//! The tools that a file lists and declares.

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

/// Checks that `program` exists. Makes it absolute if it is a path, and otherwise looks it up in `PATH`.
pub(super) fn existing_program(program: &mut String, folder: &Path) -> Result<(), String> {
    beside(program, folder)?;
    if program.contains('/') {
        return Ok(());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|place| place.join(&program).is_file()) {
        return Ok(());
    }
    Err(format!("{program}: is in no folder of PATH"))
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
