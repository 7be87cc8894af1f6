// Follows a session: a loop over Server-Sent Events that goes on where it was when the connection is lost.

import type { Client } from "openapi-fetch";
import type { components, paths } from "./holdover.js";

type Events = paths["/v1/sessions/{session}/events"]["get"];

/** An item of the stream, such as `{ event: "end", data: { reason: "reached", … }, id: "…" }`. */
export type Item = components["schemas"]["StreamItem"] & { id: string };

/** The longest wait before the next attempt to connect. */
const WAIT_MS_MAX = 5_000;

/** Follows a session until the stream ends by itself. Yields each item once, however often the connection is lost. */
export async function* follow(
  client: Client<paths>,
  session: string,
  query: Events["parameters"]["query"] = {},
): AsyncGenerator<Item, void, undefined> {
  let last = query?.after ?? undefined;
  for (let wait = 100; ; wait = Math.min(2 * wait, WAIT_MS_MAX)) {
    const lines = new Lines();
    try {
      const { data, error } = await client.GET("/v1/sessions/{session}/events", {
        params: { path: { session }, query, header: { "Last-Event-ID": last } },
        parseAs: "stream",
      });
      // An answer of 500 or more may be a server that starts or stops; any other refusal is final.
      if (error && error.status < 500) throw new Error(`${error.code}: ${error.detail}`);
      if (data) lines.from(data);
    } catch (lost) {
      if (!(lost instanceof TypeError)) throw lost; // `fetch` reports a lost connection so.
    }
    for (let item = await lines.item(); item; item = await lines.item()) {
      if (item.event === "end" && item.data.reason === "stopping") break; // It goes on at another server.
      if (item.event === "problem" && item.data.status >= 500) break;
      [last, wait] = [item.id || last, 100];
      yield item;
      if (item.event === "end" || item.event === "problem") return;
    }
    await lines.close();
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** The items of one connection. */
class Lines {
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  private decoder = new TextDecoder();
  private text = "";

  from(body: ReadableStream<Uint8Array>) {
    this.reader = body.getReader();
  }

  /** Returns the next item, or nothing if the connection is over. What was cut in the middle is dropped; it comes again. */
  async item(): Promise<Item | undefined> {
    for (;;) {
      const end = this.text.indexOf("\n\n");
      if (end >= 0) {
        const item = parsed(this.text.slice(0, end));
        this.text = this.text.slice(end + 2);
        if (item) return item;
        continue;
      }
      const chunk = await this.reader?.read().catch(() => undefined);
      if (!chunk || chunk.done) return undefined;
      this.text += this.decoder.decode(chunk.value, { stream: true });
    }
  }

  async close() {
    await this.reader?.cancel().catch(() => undefined);
  }
}

/** Reads one item, or nothing from a comment, which only keeps the connection open. */
function parsed(frame: string): Item | undefined {
  const fields: Record<string, string> = {};
  for (const line of frame.split("\n")) {
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    if (name) fields[name] = value ?? "";
  }
  if (fields.data === undefined) return undefined;
  return { event: fields.event, data: JSON.parse(fields.data), id: fields.id ?? "" } as Item;
}
