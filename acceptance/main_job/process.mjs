// Starts, watches and kills processes. Only processes that were started here are killed.

import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { createInterface } from "node:readline";

const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 20;

const running = new Set();
let over = false;

/** Calls `probe` until it returns something truthy, and returns that. Throws after `PATIENCE_MS`. */
export async function until(what, probe) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Returns a port of this machine that nobody listens on. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** A started process, and the lines that it has printed so far. */
export class Started {
  constructor(program, words, environment) {
    if (over) throw new Error("nothing is started any more");
    this.name = [program.split("/").at(-1), ...words.slice(0, 2)].join(" ");
    this.out = [];
    this.err = [];
    this.child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...environment } });
    running.add(this);
    createInterface({ input: this.child.stdout }).on("line", (line) => this.out.push(line));
    createInterface({ input: this.child.stderr }).on("line", (line) => this.err.push(line));
    this.closed = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", () => {
        running.delete(this);
        resolve();
      });
    });
  }

  get alive() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits until the process has ended. Kills it after `PATIENCE_MS`. */
  async end() {
    const late = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE_MS);
    await this.closed;
    clearTimeout(late);
    return { code: this.child.exitCode, out: this.out, err: this.err };
  }

  /** Kills the process with SIGKILL. Returns true if it was alive and died of that. */
  async kill() {
    const wasAlive = this.alive;
    this.child.kill("SIGKILL");
    await this.closed;
    return wasAlive && this.child.signalCode === "SIGKILL";
  }
}

/** Kills all processes that were started here and still run. No process can be started afterwards. */
export async function killAll() {
  over = true;
  await Promise.allSettled([...running].map((process) => process.kill()));
}
