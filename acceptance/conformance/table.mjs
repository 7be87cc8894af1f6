// The table of the stores, made of the suite's JSON reports in a folder:
//   table.mjs print FOLDER          prints it
//   table.mjs write FOLDER PAGE     puts it between the markers of a Markdown page
//   table.mjs check FOLDER PAGE     ends with 1 if another one stands there

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BEGIN = "<!-- stores -->\n";
const END = "<!-- /stores -->\n";

/** These stand first, in this order; whatever else there is follows. */
const ORDER = ["sqlite", "postgres", "redis", "redis-cluster", "memory"];

const SHARED_BY = { process: "one process", machine: "one machine", network: "many machines" };

const place = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

function row(folder, name) {
  const { store, level, verdict, capabilities, cases, milliseconds } = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const count = (...statuses) => cases.filter((one) => statuses.includes(one.status)).length;
  const [passed, skipped] = [count("PASSED"), count("SKIPPED")];
  // What a package says of itself beyond its version is of no use here.
  const backend = capabilities?.backend.replace(/ \(.*/, "") ?? name;
  return [
    `[${backend[0].toUpperCase()}${backend.slice(1)}](docs/conformance/${name}.md)`, `\`${store.name}\` ${store.version}`,
    SHARED_BY[capabilities?.shared_by] ?? "", level, verdict, passed, cases.length - passed - skipped, skipped,
    Math.round(milliseconds / 1000),
  ];
}

function table(folder) {
  const names = readdirSync(folder).filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -".json".length));
  names.sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
  const head = ["store", "crate", "shared by", "level", "verdict", "passed", "failed", "skipped", "seconds"];
  const line = (cells) => `| ${cells.join(" | ")} |\n`;
  const rule = `|${"---|".repeat(5)}${"---:|".repeat(4)}\n`;
  return line(head) + rule + names.map((name) => line(row(folder, name))).join("");
}

const [what, folder, page] = process.argv.slice(2);
const made = table(folder);
if (what === "print") {
  process.stdout.write(made);
} else {
  const text = readFileSync(page, "utf8");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${page}: has no ${BEGIN.trim()} … ${END.trim()}`);
  const whole = text.slice(0, begin + BEGIN.length) + made + text.slice(end);
  if (what === "write") writeFileSync(page, whole);
  if (what === "check" && whole !== text) {
    console.error(`${page}: its table of stores is not that of the reports in ${folder}`);
    process.exitCode = 1;
  }
}
