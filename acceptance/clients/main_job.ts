// Plays the main job with a client that was generated from the description. The arguments are the URL and the token.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import { follow } from "./follow.js";
import type { components, paths } from "./holdover.js";

const [url, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });

// A start under a key: its repeat finds the same session.
const start = async () => {
  const { data, error, response } = await client.POST("/v1/sessions", {
    params: { header: { "Idempotency-Key": "typescript" } },
    body: { agent: "clerk", message: "make a note", labels: { made_by: "typescript" } },
  });
  assert(data, error?.detail);
  return { ...data, status: response.status };
};
const first = await start();
const again = await start();
assert.deepEqual([first.status, first.duplicate], [201, false]);
assert.deepEqual([again.status, again.duplicate, again.session], [200, true, first.session]);
const session = first.session;

// Follow it until it waits for a person.
const texts: string[] = [];
const ids = new Set<string>();
let cursor: string | undefined;
let started = 0;
async function read(until: components["schemas"]["Until"]) {
  for await (const item of follow(client, session, { after: cursor, until, messages: true })) {
    if (item.event === "problem") assert.fail(item.data.detail);
    if (item.event !== "end") {
      assert(!ids.has(item.id), `${item.id} came twice`);
      ids.add(item.id);
    }
    cursor = item.id;
    if (item.event !== "event") continue;
    if (item.data.event.type === "step_started") started = item.data.event.step;
    const message = item.data.message?.message;
    if (message?.role === "user") texts.push(message.text);
    if (message?.role === "assistant") {
      for (const part of message.parts) if (part.type === "text") texts.push(part.text);
    }
  }
}
await read("parked");

// A person sees the call, and decides on exactly these arguments.
const waiting = await client.GET("/v1/sessions/{session}/pending", { params: { path: { session } } });
const call = waiting.data?.items[0];
assert(call, waiting.error?.detail);
assert.deepEqual([call.tool, call.kind, JSON.parse(call.arguments).content], ["write_file", "approval", "rain"]);
const approve = (digest: string) =>
  client.POST("/v1/sessions/{session}/pending/{pending}/approve", {
    params: { path: { session, pending: call.id } },
    body: { digest },
  });
const refused = await approve("0".repeat(64));
assert.deepEqual([refused.response.status, refused.error?.code], [409, "not_seen"]);
const approved = await approve(call.digest);
assert.equal(approved.data?.accepted, true, approved.error?.detail);

// Follow it to its end. The transcript says the same as the events did.
await read("rest");
assert.equal(started, 2);
const transcript = await client.GET("/v1/sessions/{session}/messages", { params: { path: { session } } });
assert(transcript.data, transcript.error?.detail);
const said = transcript.data.items.flatMap(({ message }) => {
  if (message.role === "user") return [message.text];
  return message.role === "assistant" ? message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [];
});
assert.deepEqual(said, ["make a note", "I ask first.", "It is written down: «Grüße, 東京»."]);
assert.deepEqual(texts, said);
const decision = transcript.data.items.find(({ message }) => message.role === "decision");
assert(decision, "the decision is on record");

// Find it in a list, and delete it.
const listed = async (status: components["schemas"]["SessionStatus"][]) => {
  const query = { status, labels: { made_by: "typescript" } };
  const { data, error } = await client.GET("/v1/sessions", { params: { query } });
  assert(data, error?.detail);
  return data.items.map((item) => item.session);
};
assert.deepEqual(await listed(["idle", "failed"]), [session]);
assert.deepEqual(await listed(["suspended"]), []);
const deleted = await client.DELETE("/v1/sessions/{session}", { params: { path: { session } } });
assert.equal(deleted.response.status, 204);
const gone = await client.GET("/v1/sessions/{session}", { params: { path: { session } } });
assert.deepEqual([gone.response.status, gone.error?.code], [404, "not_found"]);
console.log("typescript: the main job is played");
