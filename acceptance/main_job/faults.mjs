// The main job with faults: a process is killed with SIGKILL, or the provider hangs up or asks the client to wait. Each
// scene checks that its fault happened.

import { EXIT } from "./scene.mjs";

/** The scenes in which a process is killed. */
export const kills = [
  ["killed in an answer", "die in an answer", killedInAnswer],
  ["killed while a call is streamed", "die in a call", killedInCall],
  ["killed in a command", "die in a command", killedInCommand],
  ["killed in an at-most-once tool", "die in a mail", killedInMail],
  ["killed in an idempotent tool", "die in a post", killedInPost],
  ["killed between approval and execution", "die after approval", killedAfterApproval],
];

export const faults = [
  ["cut off", "hang up", cutOff],
  ["told to wait shortly", "wait a little", waitsShortly],
  ["told to wait for long", "wait for long", waitsLong],
];

/** Checks that another process took the session over from the dead run, and completed it. */
async function endsElsewhere(scene, ended) {
  scene.check("another process ends it", [EXIT.completed, EXIT.completed], [ended.code, ended.code]);
  const { status, runs } = await scene.show();
  scene.check("the session rests, completed", ["idle", "completed"], [status, runs.at(-1)?.outcome]);
  scene.check("by another worker than the dead one", true, runs.at(-1)?.worker !== runs.at(-2)?.worker);
  scene.check("the dead run is known to be lost", "lost", runs.at(-2)?.outcome);
}

async function killedInAnswer(scene) {
  const doomed = scene.sayDoomed();
  await scene.until("the provider is asked", async () => (await scene.asked()).length > 0);
  // The fixture stalls after its first words.
  await scene.until("the first words are shown to others", async () => (await scene.saying()).startsWith("This answer"));
  await scene.kill(doomed, "within the stream");
  scene.check("nothing of the answer is in the transcript", [], await scene.said());
  await endsElsewhere(scene, await scene.run("resume", scene.session));
  scene.check("the answer is whole, once",
    ["This answer is long, it is said once, and it comes from a second attempt."], await scene.said());
  scene.check("the model call that was cut was sent again, once", ["0 results: 200", "0 results: 200"],
    await scene.calls());
}

async function killedInCall(scene) {
  await scene.leave();
  const doomed = scene.workDoomed();
  await scene.until("the name of the tool has come", () => doomed.out.some((line) => line.includes("asks for write_file")));
  await scene.kill(doomed, "with the name of the tool read and its arguments to come");
  scene.check("nothing was written", false, scene.has("note.txt"));
  await endsElsewhere(scene, await scene.work());
  scene.check("the file is written", "written once, by the second attempt", scene.read("note.txt"));
  scene.check("the call has one result", ["c1-0 write_file: done"], await scene.results());
  scene.check("the model call that was cut was sent again, no other",
    ["0 results: 200", "0 results: 200", "1 results: 200"], await scene.calls());
}

/** Checks that a call that was sent is not sent again, but ends in doubt, and that the model goes on from there. */
async function endsInDoubt(scene, tool, answer) {
  await endsElsewhere(scene, await scene.work());
  scene.check("its end is in doubt", [`c1-0 ${tool}: in_doubt`], await scene.results());
  scene.check("the model was told so", true, (await scene.told())[0]?.includes("in doubt"));
  scene.check("it answered that", answer, (await scene.said()).at(-1));
  scene.check("each model call was sent once", ["0 results: 200", "1 results: 200"], await scene.calls());
}

async function killedInCommand(scene) {
  const doomed = scene.sayDoomed();
  await scene.until("the command has acted", () => scene.lines("effects").length > 0);
  await scene.kill(doomed, "while the command ran");
  await endsInDoubt(scene, "run_command", "It may have run: I look before I try again.");
  scene.check("the command was run once", ["acted"], scene.lines("effects"));
}

async function killedInMail(scene) {
  const doomed = scene.sayDoomed();
  await scene.until("the mail is sent", () => scene.lines("sends").length > 0);
  await scene.kill(doomed, "while the mail was out");
  scene.write("gate", "");
  await endsInDoubt(scene, "mail", "It may have gone out: I ask before I mail again.");
  scene.check("the mail was sent once", 1, scene.lines("sends").length);
}

/** Checks what a service with an idempotency key saw: the same call came twice, and was applied once. */
function sentTwiceAppliedOnce(scene) {
  const sends = scene.lines("sends");
  scene.check("the call was sent again with the same key and the same bytes", [2, 1], [sends.length, new Set(sends).size]);
  scene.check("it was applied once, with that key", [sends[0]?.split(" ")[0]], scene.lines("applied"));
}

async function killedInPost(scene) {
  const doomed = scene.sayDoomed();
  await scene.until("the post is sent", () => scene.lines("sends").length > 0);
  await scene.kill(doomed, "while the post was out");
  scene.check("nothing was applied before", [], scene.lines("applied"));
  scene.write("gate", "");
  await endsElsewhere(scene, await scene.work());
  sentTwiceAppliedOnce(scene);
  scene.check("the arguments came as the model wrote them", { text: 'it\'s "ü"' },
    JSON.parse(scene.lines("sends")[0]?.split(" ").slice(1).join(" ") ?? "null"));
  scene.check("the call has one result", ["c1-0 post: done"], await scene.results());
  scene.check("the model was told it", ["posted"], await scene.told());
  scene.check("each model call was sent once", ["0 results: 200", "1 results: 200"], await scene.calls());
}

const decisions = async (scene) => (await scene.messages()).filter((message) => message.role === "decision").length;

async function killedAfterApproval(scene) {
  const parked = await scene.say();
  const owed = parked.last.outcome?.owed ?? [];
  scene.check("both calls wait for a person", [EXIT.suspended, "publish", "note"],
    [parked.code, ...owed.map((debt) => debt.tool)]);
  for (const debt of owed) {
    const approved = await scene.run("approve", scene.session, debt.call, "--detach");
    scene.check(`${debt.tool} is approved while nobody runs`, EXIT.completed, approved.code);
  }
  const doomed = scene.workDoomed();
  // The first call waits for its gate, and the second call waits for the first.
  await scene.until("the first call is sent", () => scene.lines("sends").length > 0);
  await scene.kill(doomed, "after its claim");
  scene.check("both decisions were durable", 2, await decisions(scene));
  scene.check("the second call was approved, and not sent", [], scene.lines("notes"));
  scene.write("gate", "");
  await endsElsewhere(scene, await scene.work());
  sentTwiceAppliedOnce(scene);
  scene.check("the second call acted once", ['{"line":"published"}'], scene.lines("notes"));
  scene.check("nobody was asked again", 2, await decisions(scene));
  scene.check("every call has one result", ["c1-0 publish: done", "c1-1 note: done"], await scene.results());
  scene.check("each model call was sent once", ["0 results: 200", "2 results: 200"], await scene.calls());
}

/** Checks that the provider saw a pause of at least `least` ms, and less than `most`, before the second request. */
async function pauses(scene, least, most) {
  const [first, second] = await scene.asked();
  const pause = second === undefined ? 0 : second.timestamp - first.timestamp;
  const wanted = `a pause of at least ${least} ms and less than ${most} ms`;
  scene.check("it waited as long as it was told to, not by its own schedule", wanted,
    pause >= least && pause < most ? wanted : `${pause} ms`);
}

async function cutOff(scene) {
  const run = await scene.say();
  scene.check("it completes", [EXIT.completed, "completed"], [run.code, run.kind]);
  scene.check("the provider hung up in mid-stream, and was asked again once", ["0 results: 200, cut off", "0 results: 200"],
    await scene.calls());
  scene.check("the answer is whole, once", ["This answer is cut off at first, and then it is whole."], await scene.said());
}

async function waitsShortly(scene) {
  const run = await scene.say();
  scene.check("it completes", [EXIT.completed, "completed"], [run.code, run.kind]);
  scene.check("it was refused, and asked again once", ["0 results: 429", "0 results: 200"], await scene.calls());
  await pauses(scene, 500, 5000);
  scene.check("one run slept through it", 1, (await scene.show()).runs.length);
  scene.check("it answered", ["That was short."], await scene.said());
}

async function waitsLong(scene) {
  const process = scene.start(...scene.words("--json"));
  await scene.until("it is suspended", async () => (await scene.asked()).length > 0 && (await scene.show()).status === "suspended");
  const { outcome } = await scene.show();
  scene.check("a long wait is durable: nothing runs meanwhile", "suspended_until", outcome?.kind);
  scene.check("the process that said it follows", true, process.alive);
  const { code, out } = await process.end();
  scene.check("it completes", [EXIT.completed, "completed"], [code, JSON.parse(out.at(-1) ?? "{}").outcome?.kind]);
  scene.check("it was refused, and asked again once", ["0 results: 429", "0 results: 200"], await scene.calls());
  await pauses(scene, 8000, 60_000);
  scene.check("another run went on", 2, (await scene.show()).runs.length);
  scene.check("it answered", ["That was long."], await scene.said());
}
