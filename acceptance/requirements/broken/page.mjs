// docs/broken-rules.md: the rules that were broken, and the messages of the tests.

import { existsSync, readFileSync } from 'node:fs';
import { COUNT, SEED } from './draw.mjs';
import { CHOSEN, digestOf } from './breaks.mjs';

export const PAGE = 'docs/broken-rules.md';
const CHARS_MAX = 160;

/** Returns the text as one line that fits into a table cell. */
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replace(/\s+/g, ' ').trim();
const short = (text) => (text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX - 1)}…` : text);

/** Reads the page: for each id, the digest of the break that was run, and the message of its test. */
export const seen = () => {
    const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
    const rows = page.split('\n').flatMap((line) => {
        const [, id, digest, said] = line.match(/^\| ([\w-]+) \|.*\| \[([0-9a-f]{8})\]\([^)]*\) \| (.*) \|$/) ?? [];
        return id ? [[id, { digest, said }]] : [];
    });
    return new Map(rows);
};

/** Returns the message of a test as the page shows it. */
export const saidOn = (said) => cell(short(said.replace(/\s+/g, ' ').trim()));

/** Returns the page with all breaks in `seen`. */
export const pageOf = (breaks, seen) => {
    const rowsOf = (chosen) => breaks.filter(({ id, from }) => seen.has(id) && (from === CHOSEN) === chosen).map((one) => {
        const { digest, said } = seen.get(one.id);
        const [path, name] = one.test.split('::');
        const change = `[${digest}](../acceptance/requirements/${one.from}/${one.id}.json)`;
        return `| ${one.id} | ${cell(one.rule)} | ${cell(one.broken)} | [${name}](../${path}) | ${change} | ${said} |\n`;
    });
    const [rows, chosen] = [rowsOf(false), rowsOf(true)];
    const sofar = rows.length < COUNT ? ` So far ${rows.length} of the ${COUNT} were broken.` : '';
    return `# Rules that were broken on purpose

A test shows a rule only if it fails when the rule is broken. The seed \`${SEED}\` drew ${COUNT} ids: all ids are ordered by
the SHA-256 of the seed and the id, those that do not apply are left out, those that are open are passed by, and the first
${COUNT} that are *shown* in [requirements.md](requirements.md) are drawn. The code was changed so that it broke the rule, and it
still compiled; a test of the rule's row, which passes on the code as it is, failed.${sofar}

\`\`\`sh
node acceptance/requirements/broken.mjs
node acceptance/requirements/broken.mjs --run
\`\`\`

The first checks that each change still fits the code, that the row still names the test, and that this page tells of these
changes; \`./check\` does so. The second makes them all again, in a copy, and writes this page. With ids behind it, it makes
these alone. A row that becomes shown later may take the place of another in the draw. Then nothing fails; the first says
which rules of the draw no change breaks yet.

| id | the rule | how it was broken | the test that failed | the change | what the test said |
|---|---|---|---|---|---|
${rows.join('')}
## Chosen breaks

These were chosen, mostly because a fault of this kind was once put in and no test noticed it. They belong to no draw; each
test fails under its change, as above.

| name | the rule | how it was broken | the test that failed | the change | what the test said |
|---|---|---|---|---|---|
${chosen.join('')}`;
};

/** Returns the faults of the page. */
export const faultsOfPage = (breaks, seen) => {
    const faults = breaks.flatMap((one) => {
        const digest = seen.get(one.id)?.digest;
        // A chosen break that was not run yet is only reported, and fails no check.
        if (digest === digestOf(one) || (one.from === CHOSEN && digest === undefined)) return [];
        return [`${one.id}: ${digest ? 'it was another change that was run' : 'it was not run'}: broken.mjs --run ${one.id}`];
    });
    if (faults.length > 0) return faults;
    return readFileSync(PAGE, 'utf8') === pageOf(breaks, seen) ? [] : [`${PAGE} is not what --run writes`];
};
