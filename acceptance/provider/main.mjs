// A streamed answer, two tool calls in parallel on real files, an approval from another process, against
// a provider that we did not write. What was asked of the provider is read from its own journal.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [provider, holdover] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdover-acceptance-"));
const root = join(folder, "files");
const store = `sqlite:${join(folder, "sessions.db")}`;
let failures = 0;

function check(what, holds, found) {
  console.log(`${holds ? "ok    " : "FAILED"} ${what}${holds ? "" : `: found ${JSON.stringify(found)}`}`);
  if (!holds) failures += 1;
}

function run(args) {
  const done = spawnSync(holdover, [...args, "--store", store, "--json"], {
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, HOLDOVER_STORE: "" },
  });
  const lines = done.stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  if (done.stderr !== "") console.log(done.stderr.trimEnd());
  return { code: done.status, lines, last: lines.at(-1) ?? {} };
}

async function startProvider() {
  const child = spawn(provider, ["-p", "0", "-f", join(here, "fixtures.json"), "--strict"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const address = line.match(/http:\/\/127\.0\.0\.1:\d+/);
    if (address) return { child, address: address[0] };
  }
  throw new Error("the provider ended before it listened");
}

async function journal(address) {
  const answer = await fetch(`${address}/__aimock/journal?limit=1000`);
  return (await answer.json()).filter((entry) => entry.path.endsWith("/chat/completions"));
}

const eventsOf = (lines, type) => lines.map((line) => line.event ?? line).filter((event) => event.type === type);

async function checks(address) {
  const agent = join(here, "agent.toml");
  const model = ["--base-url", `${address}/v1`, "--root", root];
  mkdirSync(root);
  writeFileSync(join(root, "plan.txt"), "water the plants\n");

  const plain = run(["run", agent, "hello", ...model]);
  check("a plain answer completes", plain.code === 0 && plain.last.outcome?.kind === "completed", plain);
  let asked = await journal(address);
  check("it was asked for once, as a stream", asked.length === 1 && asked[0].body.stream === true, asked.length);
  const said = run(["sessions", "messages", plain.last.session]);
  check("the whole streamed answer is in the transcript",
    JSON.stringify(said.lines).includes("this answer is streamed in several pieces."), said.lines);

  const tools = run(["run", agent, "what is in the folder", ...model]);
  check("two tool calls and an answer complete", tools.code === 0, tools);
  const states = eventsOf(tools.lines, "call").map((event) => event.is);
  check("both calls were out at once",
    JSON.stringify(states) === JSON.stringify(["executing", "executing", "done", "done"]), states);
  asked = await journal(address);
  check("the model was asked twice", asked.length === 3, asked.length);
  const results = (asked.at(-1)?.body.messages ?? []).filter((message) => message.role === "tool");
  check("the provider saw one result for each call, with the contents of the real files",
    results.length === 2 && new Set(results.map((result) => result.tool_call_id)).size === 2 &&
    results[0].content.includes("plan.txt") && results[1].content.includes("water the plants"), results);

  const parked = run(["run", agent, "write a note", ...model]);
  check("a write waits for a person", parked.code === 10 && parked.last.outcome?.kind === "suspended_client_tool",
    parked.last);
  check("nothing was written before the approval", !existsSync(join(root, "note.txt")), "note.txt");
  const answer = parked.last.outcome?.owed?.[0]?.answer ?? [];
  check("the suspension names the command that answers it", answer[1] === "approve", answer);
  const approved = run(answer.slice(1).filter((word, at, all) => word !== "--store" && all[at - 1] !== "--store"));
  check("another process approves and the turn completes",
    approved.code === 0 && approved.last.outcome?.kind === "completed", approved);
  check("the file was written as it was approved",
    existsSync(join(root, "note.txt")) && readFileSync(join(root, "note.txt"), "utf8") === "watered\n", "note.txt");
  asked = await journal(address);
  check("each model call was sent once", asked.length === 5 && asked.every((entry) => entry.response.status === 200),
    asked.map((entry) => entry.response));
}

const { child, address } = await startProvider();
try {
  await checks(address);
} finally {
  child.kill();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failures === 0 ? "all checks passed" : `${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
