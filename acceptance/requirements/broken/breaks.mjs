// The breaks: one file each. Those in breaks/ were drawn by a seed and are named by the id of the rule; those in chosen/
// were chosen, mostly because a break of that kind was once missed, and have names of their own.
//
//   rule      the rule in a few words
//   broken    what is done to it
//   file      the file that is changed
//   find      a text that stands in it exactly once
//   replace   what is put in its place: it compiles, and breaks this rule
//   test      the test that is to fail; of a rule that was drawn, one that its row names
//   hangs     true where a test that never ends says the same as one that fails

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { testsOf } from '../rows.mjs';

export const DRAWN = 'breaks';
export const CHOSEN = 'chosen';
const FOLDER = 'acceptance/requirements';
const FIELDS = ['rule', 'broken', 'file', 'find', 'replace', 'test'];

const readFrom = (from) => readdirSync(`${FOLDER}/${from}`).sort().map((name) => {
    const id = name.replace(/\.json$/, '');
    return { id, from, ...JSON.parse(readFileSync(`${FOLDER}/${from}/${name}`, 'utf8')) };
});

/** All breaks: those that were drawn, then those that were chosen. */
export const readBreaks = () => [DRAWN, CHOSEN].flatMap(readFrom);

/** What says in eight digits whether a break is still the one that was run. */
export const digestOf = ({ file, find, replace, test }) =>
    createHash('sha256').update(JSON.stringify([file, find, replace, test])).digest('hex').slice(0, 8);

/** What is wrong with the test of a break that no row names. */
const faultsOfTest = (id, test) => {
    const [path, name] = test.split('::');
    const there = existsSync(path) && readFileSync(path, 'utf8').includes(`fn ${name}(`);
    return there ? [] : [`${id}: there is no test ${test}`];
};

/** What is wrong with a break as the code and its row stand now. */
export const faultsOf = (one, rows) => {
    const { id, file, find, replace, test } = one;
    const missing = FIELDS.filter((field) => typeof one[field] !== 'string' || one[field] === '');
    if (missing.length > 0) return [`${id}: ${missing.join(', ')}: to be said`];
    const faults = [];
    const times = existsSync(file) ? readFileSync(file, 'utf8').split(find).length - 1 : 0;
    if (times !== 1) faults.push(`${id}: what is to be changed stands ${times} times in ${file}`);
    if (find === replace) faults.push(`${id}: nothing is changed`);
    if (one.from === CHOSEN) return [...faults, ...faultsOfTest(id, test)];
    const row = rows.find((row) => row.id === id);
    if (row?.state !== 'shown') faults.push(`${id}: is no rule that is shown`);
    else if (!testsOf(row).includes(test)) faults.push(`${id}: its row does not name ${test}`);
    return faults;
};
