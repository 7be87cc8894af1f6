// Checks docs/requirements.md: every id has a row, every test that a row names exists, and that test cites the id,
// in its name (a27_…) or in a comment of its file. Prints what is wrong, a line each, and ends with 1; else the counts
// that stand at the head of the page. With --write these counts are written.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { PAGE, readPage, rowsOf } from './rows.mjs';

// How many ids each section has.
const SECTIONS = { A: 71, B: 50, C: 63, D: 23, H: 26, U: 13 };
const STATES = ['shown', 'shown but for children', 'does not apply', 'open'];

const wrong = [];
const page = readPage();
const rows = new Map();
for (const row of rowsOf(page)) {
    if (rows.has(row.id)) wrong.push(`${row.id}: two rows`);
    rows.set(row.id, row);
}

const files = new Map();
const read = (path) => {
    if (!files.has(path)) files.set(path, existsSync(path) ? readFileSync(path, 'utf8') : null);
    return files.get(path);
};

// `path::name`, where the name is that of a test function, or of a case for the conformance suite.
const check = (id, test) => {
    const [, path, name] = test.match(/^`([^`]+?)::([^`]+)`$/) ?? [];
    if (!path) return `${id}: not \`path::test\`: ${test}`;
    const text = read(path);
    if (text === null) return `${id}: there is no ${path}`;
    if (!new RegExp(`fn ${name}\\b|"${name}"|\\b${name}\\b.*=>`).test(text)) return `${id}: ${path} has no test ${name}`;
    const cited = name.toUpperCase().includes(id) || new RegExp(`\\b${id}\\b`).test(text);
    return cited ? null : `${id}: ${path} does not cite it`;
};

const counts = Object.fromEntries(STATES.map((state) => [state, 0]));
for (const [section, many] of Object.entries(SECTIONS)) {
    for (let number = 1; number <= many; number++) {
        const id = section + String(number).padStart(2, '0');
        const row = rows.get(id);
        if (!row) { wrong.push(`${id}: no row`); continue; }
        if (!STATES.includes(row.state)) { wrong.push(`${id}: ${row.state} is none of ${STATES.join(', ')}`); continue; }
        counts[row.state]++;
        if (row.state.startsWith('shown')) {
            const tests = row.by.split('<br>').map((test) => test.trim());
            // Its last words are about children.
            if (row.state !== 'shown' && tests.pop().startsWith('`')) wrong.push(`${id}: does not say what of it is about children`);
            if (tests.length === 0) wrong.push(`${id}: names no test`);
            for (const found of tests.map((test) => check(id, test))) if (found) wrong.push(found);
        }
        if (row.state === 'does not apply' && !/^“.+”/.test(row.by)) wrong.push(`${id}: quotes no line of the design`);
    }
}
for (const id of rows.keys()) {
    const most = SECTIONS[id[0]];
    if (Number(id.slice(1)) > most) wrong.push(`${id}: there is no such requirement`);
}

const head = `${Object.values(SECTIONS).reduce((sum, many) => sum + many)} requirements: `
    + STATES.map((state) => `${counts[state]} ${state}`).join(', ') + '.';
const marked = page.replace(/(<!-- counts -->\n)[^\n]*(\n<!-- \/counts -->)/, `$1${head}$2`);
if (process.argv[2] === '--write') writeFileSync(PAGE, marked);
else if (marked !== page) wrong.push(`the head of ${PAGE} does not say: ${head}`);

for (const line of wrong) console.log(line);
if (wrong.length === 0) console.log(head);
process.exit(wrong.length === 0 ? 0 : 1);
