// Breaks rules on purpose. For each rule that a seed drew, breaks/ has a small change of the code, and a test of the rule's
// row in docs/requirements.md that must fail with that change. chosen/ has the same for rules that were chosen by hand.
//
//   node acceptance/requirements/broken.mjs                checks that the changes fit the code and docs/broken-rules.md
//   node acceptance/requirements/broken.mjs --run [ID…]    makes the changes in a copy, runs their tests, writes the page
//   node acceptance/requirements/broken.mjs --seed WORD    prints what another seed would draw
//
// The copy lies in the folder that --in names, by default in a temporary folder. The copy and its target folder stay there,
// and the next run uses them again. CARGO_TARGET_DIR puts the target folder elsewhere.

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
// A drawn rule without a change is owed: it was open when the changes were made, and is shown now. That fails no check. The
// page says how many rules were broken. None of them is open.
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
