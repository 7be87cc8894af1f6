// Rules that are broken on purpose: breaks/ holds for rules that a seed drew a small change of the code, and the test
// of its row in docs/requirements.md that must fail then; chosen/ holds the same for rules that were chosen.
//
//   node acceptance/requirements/broken.mjs                the changes fit the code, and docs/broken-rules.md tells of them
//   node acceptance/requirements/broken.mjs --run [ID…]    makes them in a copy, runs their tests, and writes the page
//   node acceptance/requirements/broken.mjs --seed WORD    what another seed would draw
//
// The copy lies in --in FOLDER, else among the temporary files; it stays there with its target folder, and the next run
// builds on it. CARGO_TARGET_DIR puts the target folder elsewhere.

import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CHOSEN, digestOf, faultsOf, readBreaks } from './broken/breaks.mjs';
import { COUNT, SEED, draw } from './broken/draw.mjs';
import { commandOf, killAll } from './broken/kill.mjs';
import { PAGE, faultsOfPage, pageOf, seen } from './broken/page.mjs';
import { readPage, rowsOf } from './rows.mjs';

const { values: flags, positionals: ids } = parseArgs({
    options: { run: { type: 'boolean' }, seed: { type: 'string' }, in: { type: 'string' } }, allowPositionals: true,
});
const endIf = (wrong) => {
    for (const line of wrong) console.log(line);
    if (wrong.length > 0) process.exit(1);
};

const rows = rowsOf(readPage());
if (flags.seed !== undefined) {
    console.log(draw(rows, flags.seed).drawn.join(' '));
    process.exit(0);
}
const breaks = readBreaks();
const has = (id) => breaks.some((one) => one.id === id);
const { drawn, open } = draw(rows, SEED);
// What was open when the changes were made, and is shown now, is owed; whoever showed it breaks no check by that. The page
// says how many were broken, and none of them is open.
const owed = drawn.filter((id) => !has(id));
const ofTheDraw = breaks.filter((one) => one.from !== CHOSEN);
const over = ofTheDraw.map((one) => one.id).filter((id) => !drawn.includes(id));

const wrong = breaks.flatMap((one) => faultsOf(one, rows));
wrong.push(...ids.filter((id) => !has(id)).map((id) => `${id}: there is no such change`));

const known = seen();
if (flags.run) {
    const chosen = breaks.filter((one) => ids.length === 0 || ids.includes(one.id));
    endIf(ids.length === 0 ? wrong : chosen.flatMap((one) => faultsOf(one, rows)));
    const survived = [];
    const folder = resolve(flags.in ?? join(tmpdir(), 'holdover-broken'));
    for await (const { one, seconds, said, wrong: instead } of killAll(folder, chosen)) {
        console.log(`${one.id} ${said === undefined ? `SURVIVES: ${instead}` : `fails: ${said}`} (${commandOf(one)}, ${seconds} s)`);
        if (said === undefined) {
            survived.push(`${one.id}: ${one.test}: ${instead.split('\n')[0]}`);
            known.delete(one.id);
        } else {
            known.set(one.id, { digest: digestOf(one), said });
        }
        writeFileSync(PAGE, pageOf(breaks, known));
    }
    endIf(survived);
    if (ids.length > 0) process.exit(0);
}
endIf(wrong.length > 0 ? wrong : faultsOfPage(breaks, known));

console.log(`${ofTheDraw.length - over.length} of the ${COUNT} rules that are drawn were broken on purpose, and a test of each failed.`);
const chosen = breaks.filter((one) => one.from === CHOSEN);
const unmade = chosen.filter(({ id }) => !known.has(id)).map(({ id }) => id);
console.log(`So were ${chosen.length - unmade.length} that were chosen.`);
if (unmade.length > 0) console.log(`Chosen and still to be run: ${unmade.join(', ')}.`);
if (owed.length > 0) console.log(`The draw is not current. Still to be broken: ${owed.join(', ')}.`);
if (over.length > 0) console.log(`Broken and not in the draw any more: ${over.join(', ')}.`);
if (open.length > 0) console.log(`Passed by as long as they are open: ${open.join(', ')}.`);
