// Runs every scene on each wire, several at a time: each has a session, a tenant and a folder of its own.

import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { faults, kills } from "./faults.mjs";
import { Started, freePort, killAll } from "./process.mjs";
import { Provider, WIRES } from "./provider.mjs";
import { Scene, failures, print } from "./scene.mjs";
import { scenes } from "./scenes.mjs";

const AT_ONCE = 4;

const [llmock, holdover, store, engine] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdover-main-job-"));
const world = {
  folder,
  holdover: resolve(holdover),
  agent: join(here, "agent.toml"),
  store: store || `sqlite:${join(folder, "sessions.db")}`,
  // The mark is part of the tenants' names, so that sessions of an earlier run in the same store do not interfere.
  mark: `main-job-${Date.now().toString(36)}`,
  // With an engine, all commands leave the runs to one worker of it, and no scene kills that.
  engine: engine?.startsWith("restate") ? `${engine}&listen=127.0.0.1:${await freePort()}` : engine,
  providers: {},
};

async function play([wire, name, message, act]) {
  const scene = new Scene(world, wire, name, message);
  try {
    await act(scene);
  } catch (error) {
    scene.check("it can be played to its end", "no error", error.stack);
  }
  for (const line of scene.aside) console.log(`# ${wire}: ${name}: ${line}`);
  return print(scene.checks);
}

async function playAll() {
  for (const wire of Object.keys(WIRES)) {
    world.providers[wire] = await Provider.start(resolve(llmock), join(here, "fixtures.json"), wire);
  }
  if (world.engine) {
    const words = ["work", "--engine", world.engine, "--store", world.store, "--all-tenants"];
    new Started(world.holdover, words, { HOLDOVER_STORE: "", HOLDOVER_LOG: "" });
  }
  // The scenes that wait longest begin first.
  const all = [...faults.toReversed(), ...(world.engine ? [] : kills), ...scenes];
  const queue = all.flatMap((scene) => Object.keys(WIRES).map((wire) => [wire, ...scene]));
  const take = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await play(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
}

// On a signal, the program kills its processes and removes its folder.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await killAll();
    rmSync(folder, { recursive: true, force: true });
    process.exit(128 + constants.signals[signal]);
  });
}

const began = Date.now();
try {
  await playAll();
} finally {
  await killAll();
}
const checks = print([]);
const seconds = ((Date.now() - began) / 1000).toFixed(1);
console.log(`1..${checks}`);
if (failures.length === 0) {
  rmSync(folder, { recursive: true, force: true });
  console.log(`# all ${checks} checks passed in ${seconds} s`);
} else {
  console.log(`# ${failures.length} of ${checks} checks failed in ${seconds} s; what they left: ${folder}`);
  process.exitCode = 1;
}
