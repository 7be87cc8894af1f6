// Work W as a Restate service: a workflow whose model and tool calls are each a `ctx.run`.
// Arguments: port, mode (work, doomed or successor), steps, milliseconds that the model takes.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";

// The SDK uses this function of Node 22; Node 20 lacks it.
Promise.withResolvers ??= () => {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

// The SDK is installed outside of the repository; NODE_PATH says where.
const restate = createRequire(`${process.env.NODE_PATH}/`)("@restatedev/restate-sdk");

const [port, mode, steps, modelMs] = process.argv.slice(2);
const killedAt = 25;
const warm = { session: "warm-up", steps: 5 };

function payload(session, step, part) {
  return createHash("shake256", { outputLength: 150 }).update(`${session}/${step}/${part}`).digest("base64");
}

async function model(session, step) {
  if (mode !== "work" && session !== warm.session) {
    console.log(JSON.stringify({ step }));
    if (mode === "successor" || step >= killedAt) await new Promise(() => {});
  }
  if (modelMs > 0) await pause(Number(modelMs));
  return payload(session, step, "model");
}

const agent = restate.workflow({
  name: "agent",
  handlers: {
    run: async (ctx) => {
      const messages = [];
      const asked = ctx.key === warm.session ? warm.steps : Number(steps);
      for (let step = 0; step < asked; step++) {
        messages.push(await ctx.run("model", () => model(ctx.key, step)));
        messages.push(await ctx.run("tool", () => payload(ctx.key, step, "tool")));
      }
      return messages.length;
    },
  },
});

await restate.serve({ services: [agent], port: Number(port) });
console.log(JSON.stringify({ loaded: true }));
