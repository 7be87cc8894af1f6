// The provider that others wrote, and what its journal says it was asked.

import { Started, until } from "./process.mjs";

/** Each wire has a provider of its own: fixtures that answer differently the second time count by process. */
export const WIRES = {
  openai: { model: "openai:gpt-4o", base: "/v1", path: "/v1/chat/completions" },
  anthropic: { model: "anthropic:claude-sonnet-4-5", base: "/v1", path: "/v1/messages" },
};

export class Provider {
  static async start(program, fixtures, wire) {
    const provider = new Provider();
    provider.wire = WIRES[wire];
    // Without a match it answers 503 at once: a wrong fixture shows in the journal.
    provider.process = new Started(program, ["-p", "0", "-f", fixtures, "--strict"]);
    provider.address = await until("the provider listens", () => {
      if (!provider.process.alive) throw new Error(`the provider ended: ${provider.process.err.join("\n")}`);
      return provider.process.out.map((line) => line.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0]).find(Boolean);
    });
    return provider;
  }

  get model() {
    return ["--model", this.wire.model, "--base-url", this.address + this.wire.base];
  }

  /** The requests whose turn began with this message, oldest first. */
  async asked(message) {
    const answer = await fetch(`${this.address}/__aimock/journal?limit=1000`);
    const entries = (await answer.json()).filter((entry) => entry.path === this.wire.path);
    return entries.filter((entry) => text(entry.body.messages.findLast((one) => one.role === "user")) === message);
  }
}

/** The text of a message, whichever way it is written. */
export function text(message) {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}
