// Shows the suite's JSON reports in a folder on the pages of the repository:
//   page.mjs print FOLDER    prints the table of stores
//   page.mjs write FOLDER    puts the table into README.md, and writes docs/conformance.md
//   page.mjs check FOLDER    exits with 1 if the pages differ; seconds and versions of servers may differ

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const README = "README.md";
const PAGE = "docs/conformance.md";
const BEGIN = "<!-- stores -->\n";
const END = "<!-- /stores -->\n";

/** The names of the stores that come first, in this order. All others follow. */
const ORDER = ["sqlite", "postgres", "redis", "redis-cluster", "custom-store", "memory"];

const SHARED_BY = { process: "one process", machine: "one machine", network: "many machines" };

const place = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
const line = (cells) => `| ${cells.join(" | ")} |\n`;
const head = (names, texts) => line(names) + `|${"---|".repeat(texts)}${"---:|".repeat(names.length - texts)}\n`;

/** The reports, each with the name of its file. */
function reports(folder) {
  const names = readdirSync(folder).filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -".json".length));
  names.sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
  return names.map((name) => ({ name, ...JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) }));
}

const count = (cases, status) => cases.filter((one) => one.status === status).length;

/** Returns the name and version of a store's backend, without what follows in brackets. */
function shown({ name, capabilities }) {
  const backend = capabilities?.backend.replace(/ \(.*/, "") ?? name;
  return backend[0].toUpperCase() + backend.slice(1);
}

function stores(all) {
  const row = (report) => {
    const { store, level, verdict, capabilities, cases, milliseconds } = report;
    const [passed, skipped] = [count(cases, "PASSED"), count(cases, "SKIPPED")];
    return [
      shown(report), `\`${store.name}\` ${store.version}`, SHARED_BY[capabilities?.shared_by] ?? "", level, verdict, passed,
      cases.length - passed - skipped, skipped, Math.round(milliseconds / 1000),
    ];
  };
  const names = ["store", "crate", "shared by", "level", "verdict", "passed", "failed", "skipped", "seconds"];
  return head(names, 5) + all.map((report) => line(row(report))).join("");
}

/** Returns a table of the numbers of passed cases by topic and store. Skipped cases follow a +. */
function topics(all) {
  const topic = ({ id }) => id.split(".")[0];
  const names = [...new Set(all.flatMap(({ cases }) => cases.map(topic)))];
  const cell = (cases) => {
    const [passed, skipped] = [count(cases, "PASSED"), count(cases, "SKIPPED")];
    const failed = cases.length - passed - skipped;
    return `${passed}${skipped ? ` + ${skipped}` : ""}${failed ? `, ${failed} failed` : ""}`;
  };
  const row = (name) => [name, ...all.map(({ cases }) => cell(cases.filter((one) => topic(one) === name)))];
  const stores = all.map((report) => shown(report).replace(/ [0-9.]+$/, ""));
  return head(["topic", ...stores], 1) + names.map((name) => line(row(name))).join("");
}

/** Returns a table of the claims that each store does not make. The cases of these claims are skipped. */
function gaps(all) {
  const row = (report) => ({ claim, reason }) => line([shown(report).replace(/ [0-9.]+$/, ""), claim, reason]);
  return head(["store", "not claimed", "why"], 3) + all.flatMap((report) => report.gaps.map(row(report))).join("");
}

function page(all) {
  return `# How the stores pass the suite

\`acceptance/conformance.sh\` starts the servers, runs the public suite on every store of this repository, and compares the
outcome with this page and with the table of the main README. \`acceptance/conformance.sh --write\` writes both. The reports
themselves, in Markdown, JSON and JUnit XML, lie in \`target/conformance\` afterwards. Seconds and the versions of servers differ
from machine to machine, and are not compared.

${stores(all)}
## By topic

Passed cases, and behind a + those that were skipped because the store does not claim what they need.

${topics(all)}
## Not claimed

${gaps(all)}`;
}

/** Returns a page without the parts that differ from machine to machine. */
const steady = (text) =>
  text.replace(/^\| (Postgres|Redis|Redis Cluster) [0-9.]+ \|/gm, "| $1 _ |").replace(/ \| [0-9]+ \|$/gm, " | _ |");

function readme(all) {
  const text = readFileSync(README, "utf8");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${README}: has no ${BEGIN.trim()} … ${END.trim()}`);
  return text.slice(0, begin + BEGIN.length) + stores(all) + text.slice(end);
}

const [what, folder] = process.argv.slice(2);
const all = reports(folder);
if (what === "print") process.stdout.write(stores(all));
for (const [path, made] of [[README, () => readme(all)], [PAGE, () => page(all)]]) {
  if (what === "write") writeFileSync(path, made());
  if (what === "check" && steady(made()) !== steady(readFileSync(path, "utf8"))) {
    console.error(`${path} is not what comes out today; acceptance/conformance.sh --write makes it anew`);
    process.exitCode = 1;
  }
}
