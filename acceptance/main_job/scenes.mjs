// The scenes of the main job: name, message and function. The fixtures recognize a scene by its message.

import { EXIT } from "./scene.mjs";

export const scenes = [
  ["a plain answer", "say hello", plainAnswer],
  ["tools", "use the tools", tools],
  ["approval", "approve an edit", approval],
  ["edited approval", "approve another edit", editedApproval],
  ["denial", "deny an edit", denial],
  ["client tool", "ask a person", clientTool],
];

async function plainAnswer(scene) {
  const run = await scene.say();
  scene.check("it completes", [EXIT.completed, "completed"], [run.code, run.kind]);
  scene.check("the streamed answer is whole", ["Good day to you: this answer is streamed in several pieces."],
    await scene.said());
  scene.check("the model was asked once", ["0 results: 200"], await scene.calls());
  scene.check("it was asked for a stream", true, (await scene.asked())[0]?.body.stream);
}

async function tools(scene) {
  const run = await scene.say();
  scene.check("it completes", [EXIT.completed, "completed"], [run.code, run.kind]);
  scene.check("both files are written", ["water the plants\n", "feed the cat\n"],
    [scene.read("first.txt"), scene.read("second.txt")]);
  const moves = (await scene.events()).filter((event) => event.type === "call").map((event) => event.is);
  scene.check("the calls of a step were out at once", ["executing", "executing", "done", "done"], moves.slice(0, 4));
  const results = ["c1-0 write_file: done", "c1-1 write_file: done", "c2-0 list_files: done", "c2-1 read_file: done"];
  scene.check("every call has one result, in call order", results, await scene.results());
  scene.check("the model was asked once for each step", ["0 results: 200", "2 results: 200", "4 results: 200"],
    await scene.calls());
  const told = await scene.told();
  scene.check("it was told each result, in call order", [true, true, true, true], [
    told[0]?.includes("first.txt"), told[1]?.includes("second.txt"),
    told[2]?.includes("plan.txt"), told[3]?.includes("water the plants"),
  ]);
  const bodies = (await scene.asked()).map((entry) => entry.body.messages);
  const ids = bodies.at(-1)?.filter((message) => message.role === "tool").map((message) => message.tool_call_id) ?? [];
  const asked = bodies.at(-1)?.flatMap((message) => message.tool_calls ?? []).map((call) => call.id) ?? [];
  scene.check("each result carries the id of its call", asked, ids);
  scene.check("no id is used twice", 4, new Set(ids).size);
}

/** Runs until the session waits for a person. Returns the one call that waits. */
async function parks(scene, tool) {
  const parked = await scene.say();
  scene.check("it suspends", [EXIT.suspended, "suspended_client_tool"], [parked.code, parked.kind]);
  const owed = parked.last.outcome?.owed ?? [];
  scene.check("one call is owed an answer", [tool], owed.map((debt) => debt.tool));
  const { status, outcome } = await scene.show();
  scene.check("the store says so too", ["suspended", owed], [status, outcome?.owed]);
  return owed[0] ?? {};
}

/** Runs the command that a waiting call names for its answer, with the scene's own store and tenant. */
async function answers(scene, words, ...more) {
  const plain = (words ?? []).slice(1).filter((word, at, all) => ![word, all[at - 1]].some((one) => COMMON.includes(one)));
  return scene.run(...plain, ...more);
}

const COMMON = ["--store", "--tenant"];

async function approval(scene) {
  const owed = await parks(scene, "edit_file");
  scene.check("nothing was edited before", "water the plants\n", scene.read("plan.txt"));
  const approved = await answers(scene, owed.answer);
  scene.check("another process approves, and it completes", [EXIT.completed, "completed"], [approved.code, approved.kind]);
  scene.check("the edit was made as it was shown", "water the roses\n", scene.read("plan.txt"));
  scene.check("the call has one result", ["c1-0 edit_file: done"], await scene.results());
  scene.check("each model call was sent once", ["0 results: 200", "1 results: 200"], await scene.calls());
  const again = await answers(scene, owed.answer);
  scene.check("approving again changes nothing", [EXIT.completed, "water the roses\n"], [again.code, scene.read("plan.txt")]);
}

async function editedApproval(scene) {
  const owed = await parks(scene, "edit_file");
  const edited = JSON.stringify({ ...owed.arguments, new_text: "praise the plants" });
  const approved = await answers(scene, owed.answer, "--edit", edited);
  scene.check("another process approves other arguments, and it completes", [EXIT.completed, "completed"],
    [approved.code, approved.kind]);
  scene.check("the edit was made as it was approved", "praise the plants\n", scene.read("plan.txt"));
  scene.check("the call has one result", ["c1-0 edit_file: done"], await scene.results());
  scene.check("each model call was sent once", ["0 results: 200", "1 results: 200"], await scene.calls());
}

async function denial(scene) {
  const owed = await parks(scene, "edit_file");
  const denied = await answers(scene, owed.deny, "--reason", "not on a Friday");
  scene.check("another process denies, and it completes", [EXIT.completed, "completed"], [denied.code, denied.kind]);
  scene.check("nothing was edited", "water the plants\n", scene.read("plan.txt"));
  scene.check("the call ended with what was said", ["c1-0 edit_file: error"], await scene.results());
  scene.check("the model was told why", true, (await scene.told())[0]?.includes("not on a Friday"));
  scene.check("it answered that", "Then I leave it.", (await scene.said()).at(-1));
  scene.check("each model call was sent once", ["0 results: 200", "1 results: 200"], await scene.calls());
}

async function clientTool(scene) {
  const owed = await parks(scene, "ask_user");
  scene.check("the question is shown", "Which colour?", owed.arguments?.question);
  const answered = await scene.run("answer", scene.session, owed.call ?? "", "the blue one");
  scene.check("another process answers, and it completes", [EXIT.completed, "completed"], [answered.code, answered.kind]);
  scene.check("the model was told the answer", ["the blue one"], await scene.told());
  scene.check("it answered that", "Blue it is.", (await scene.said()).at(-1));
  scene.check("the call has one result", ["c1-0 ask_user: done"], await scene.results());
  scene.check("each model call was sent once", ["0 results: 200", "1 results: 200"], await scene.calls());
}
