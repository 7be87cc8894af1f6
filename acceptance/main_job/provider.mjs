// The third-party mock provider, and the requests in its journal.

import { Started, until } from "./process.mjs";

/** The wire formats. Each has a provider process of its own, because fixtures count their requests per process. */
export const WIRES = {
  openai: { model: "openai:gpt-4o", base: "/v1", path: "/v1/chat/completions" },
  anthropic: { model: "anthropic:claude-sonnet-4-5", base: "/v1", path: "/v1/messages" },
};

export class Provider {
  static async start(program, fixtures, wire) {
    const provider = new Provider();
    provider.wire = WIRES[wire];
    // With --strict, a request that no fixture matches is answered with 503, so that the journal shows it.
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

  /** Returns the requests whose last user message is this message, oldest first. */
  async asked(message) {
    const answer = await fetch(`${this.address}/__aimock/journal?limit=1000`);
    const entries = (await answer.json()).filter((entry) => entry.path === this.wire.path);
    return entries.filter((entry) => text(entry.body.messages.findLast((one) => one.role === "user")) === message);
  }
}

/** Returns the text of a message, whether its content is a string or a list of parts. */
export function text(message) {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}
