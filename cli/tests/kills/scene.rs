//! The sessions of the test: many run effects, and some ask people.

use std::fmt::Write as _;

use crate::support::Fixture;
use crate::world::{Call, PUT, SEND};

/// The number of sessions that run effects.
pub(crate) const SESSIONS: usize = 20;
/// The number of sessions that ask people.
pub(crate) const ASKERS: usize = 4;
/// A number of steps that is larger than a session needs: the session ends when an effect returns `enough`. Each step
/// has two effects, one that is never repeated and one that may be. Which of them comes first alternates from step to
/// step.
const STEPS: usize = 300;

/// A script that logs its start, sleeps, logs its end, and prints `enough` if the test is to end. The parent process is
/// the worker that sent the call. If the worker dies before it has written the arguments, the effect does nothing.
const EFFECT: &str = r#"call=$(sed 's/.*"call": *"\([^"]*\)".*/\1/')
[ -n "$call" ] || exit 1
echo "start $call $PPID" >> world.log
sleep 0.15
echo "end $call $PPID" >> world.log
if [ -e enough ]; then echo enough; fi
"#;

const ACTS: &str = r#"
name = "acts"
model = "scripted:SESSION-script.toml"
root = "files"

[[tool]]
name = "send"
description = "Sends a letter"
command = ["sh", "effect.sh"]
parameters = { type = "object", properties = { call = { type = "string" } } }

[[tool]]
name = "put"
description = "Puts something somewhere"
command = ["sh", "effect.sh"]
effect = "idempotent"
parameters = { type = "object", properties = { call = { type = "string" } } }

[limits]
max_steps = 300
"#;

const ASKS: &str = r#"
name = "asks"
model = "scripted:asks-script.toml"
root = "files"
tools = ["write_file", "ask_user"]

[[approval]]
tool = "write_file"
action = "ask"

[limits]
max_steps = 300
"#;

/// A model that alternately asks a question and makes a call that requires approval, until an answer contains `stop`.
const ASKS_SCRIPT: &str = r#"
[[turns]]
when = { result_of = "ask_user", result_contains = "stop" }
say = "All done."

[[turns]]
when = { result_of = "ask_user" }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "noted" } }]

[[turns]]
calls = [{ tool = "ask_user", arguments = { question = "What else?" } }]
"#;

pub(crate) fn acting(session: usize) -> String {
    format!("s{session:02}")
}

pub(crate) fn asking(asker: usize) -> String {
    format!("p{asker}")
}

/// Writes the agents, and leaves a message in each session for a worker to take up.
pub(crate) fn prepare(fixture: &Fixture) {
    fixture.write("files/effect.sh", EFFECT);
    fixture.write("asks.toml", ASKS);
    fixture.write("asks-script.toml", ASKS_SCRIPT);
    for session in 0..SESSIONS {
        let (name, agent) = (acting(session), format!("{}.toml", acting(session)));
        fixture.write(&format!("{name}-script.toml"), &script(session));
        fixture.write(&agent, &ACTS.replace("SESSION", &name));
        fixture.run(&["run", &agent, "--session", &name, "--detach", &name]).ends(0);
    }
    for name in (0..ASKERS).map(asking) {
        fixture.run(&["run", "asks.toml", "--session", &name, "--detach", "begin"]).ends(0);
    }
}

/// Returns a script with one turn for each step, whatever the result of the step before. The session ends when `send`
/// returns `enough`.
fn script(session: usize) -> String {
    let mut script = String::from(
        "[[turns]]\nwhen = { result_of = 'send', result_contains = 'enough' }\nsay = 'All done.'\n\n",
    );
    for step in 1..=STEPS {
        let calls = Call::of_step(session, step).map(|call| {
            let tool = if call.sends { SEND } else { PUT };
            format!("{{ tool = '{tool}', arguments = {{ call = '{call}' }} }}")
        });
        writeln!(script, "[[turns]]\nwhen = {{ nth = {step} }}\ncalls = [{}]\n", calls.join(", ")).unwrap();
    }
    script
}

/// Returns the number of sessions that have not come to rest.
pub(crate) fn open_sessions(fixture: &Fixture) -> usize {
    let listed = fixture.run(&["sessions", "list", "--json", "--limit", "100"]).ends(0).lines();
    assert_eq!(listed.len(), SESSIONS + ASKERS);
    listed
        .iter()
        .filter(|session| session["status"] != "idle")
        .inspect(|session| {
            let status = session["status"].as_str().unwrap();
            let name = session["session"].as_str().unwrap();
            let shown = || fixture.run(&["sessions", "show", name]).out;
            assert!(["active", "suspended"].contains(&status), "{}", shown());
        })
        .count()
}
