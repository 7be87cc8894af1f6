// One scene: a session of its own, in a tenant and a folder of its own, against one provider.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { Started, until } from "./process.mjs";
import { text } from "./provider.mjs";

/** The exit codes, as cli/src/exit.rs names them. */
export const EXIT = { completed: 0, suspended: 10 };
/** The lease of a process that is going to be killed: the shortest that is allowed. */
const DOOMED = ["--lease", "1s"];

let printed = 0;
export const failures = [];

/** Prints the checks of a scene, one on each line. Returns the number of checks printed so far. */
export function print(checks) {
  for (const { what, expected, found } of checks) {
    printed += 1;
    if (isDeepStrictEqual(found, expected)) {
      console.log(`ok ${printed} - ${what}`);
    } else {
      failures.push(what);
      console.log(`not ok ${printed} - ${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    }
  }
  return printed;
}

export class Scene {
  constructor(world, wire, name, message) {
    Object.assign(this, world, { wire, name, message, session: name.replaceAll(" ", "-") });
    this.checks = [];
    this.aside = new Set();
    this.provider = world.providers[wire];
    this.tenant = `${world.mark}-${wire}-${this.session}`;
    this.root = join(world.folder, wire, this.session);
    mkdirSync(this.root, { recursive: true });
    this.write("plan.txt", "water the plants\n");
  }

  check(what, expected, found) {
    this.checks.push({ what: `${this.wire}: ${this.name}: ${what}`, expected, found });
  }

  path = (name) => join(this.root, name);
  has = (name) => existsSync(this.path(name));
  read = (name) => (this.has(name) ? readFileSync(this.path(name), "utf8") : null);
  lines = (name) => (this.read(name) ?? "").split("\n").filter((line) => line !== "");
  write = (name, content) => writeFileSync(this.path(name), content);

  /** Starts the command line on this scene's store and tenant. */
  start(...words) {
    const common = ["--store", this.store, "--tenant", this.tenant];
    const engine = this.engine ? { HOLDOVER_ENGINE: this.engine } : {};
    return new Started(this.holdover, [...words, ...common], { HOLDOVER_STORE: "", HOLDOVER_LOG: "", ...engine });
  }

  /** Runs the command line to its end. Returns its exit code, and the lines of its output, parsed as JSON. */
  async run(...words) {
    const { code, out, err } = await this.start(...words, "--json").end();
    err.forEach((line) => this.aside.add(line));
    const lines = out.map((line) => JSON.parse(line));
    return { code, lines, last: lines.at(-1) ?? {}, kind: lines.at(-1)?.outcome?.kind };
  }

  words(...more) {
    return ["run", this.agent, this.message, "--session", this.session, "--root", this.root, ...this.provider.model, ...more];
  }

  /** Says the scene's message in this process. */
  say = () => this.run(...this.words());
  /** Says the scene's message in a process that is going to be killed. */
  sayDoomed = () => this.start(...this.words("--json"), ...DOOMED);
  /** Leaves the scene's message to a worker. */
  leave = () => this.run(...this.words("--detach"));
  /** Starts a worker that is going to be killed. Its output is for people. */
  workDoomed = () => this.start("work", ...DOOMED);
  /** Runs a worker until nothing is left to do. */
  work = () => this.run("work", "--until-idle");
  show = async () => (await this.run("sessions", "show", this.session)).last;
  events = async () => (await this.run("events", this.session)).lines.map((line) => line.event);
  messages = async () => (await this.run("sessions", "messages", this.session)).lines.map((line) => line.message);

  /** Returns the result of each call, in the order of the transcript. */
  async results() {
    const results = (await this.messages()).filter((message) => message.role === "tool");
    return results.map((result) => `${result.call} ${result.tool}: ${result.status}`);
  }

  asked = () => this.provider.asked(this.message);

  /** Describes each request: the number of tool results that it showed the model, and its outcome. */
  async calls() {
    return (await this.asked()).map((entry) => {
      const results = entry.body.messages.filter((message) => message.role === "tool").length;
      return `${results} results: ${entry.response.status}${entry.response.interrupted ? ", cut off" : ""}`;
    });
  }

  /** Returns the tool results that the newest request showed the model. */
  async told() {
    const messages = (await this.asked()).at(-1)?.body.messages ?? [];
    return messages.filter((message) => message.role === "tool").map(text);
  }

  /** Returns the texts of the model's answers. */
  async said() {
    const answers = (await this.messages()).filter((message) => message.role === "assistant");
    return answers.map((answer) => answer.parts.map((part) => part.text ?? "").join(""));
  }

  /** Returns the streamed text that is not part of the transcript yet, as another process sees it. */
  async saying() {
    const shown = (await this.run("events", this.session, "--deltas")).lines;
    return shown.map((line) => line.delta?.text ?? "").join("");
  }

  /** Kills `process`, and checks that it was alive and that its session is still active. `what` names the moment. */
  async kill(process, what) {
    this.check(`the process was killed ${what}`, true, await process.kill());
    this.check("nobody had ended what it did", "active", (await this.show()).status);
  }

  until = (what, probe) => until(`${this.wire}: ${this.name}: ${what}`, probe);
}
