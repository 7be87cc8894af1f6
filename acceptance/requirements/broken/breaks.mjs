// The breaks, one file each. Those in breaks/ are of rules that a seed drew, and are named by the id of the rule. Those in
// chosen/ were chosen, mostly because a break of that kind was once missed, and have names of their own.
//
//   rule      the rule in a few words
//   broken    how the change breaks the rule
//   file      the file that is changed
//   find      a text that the file contains exactly once
//   replace   the text that replaces it: the code still compiles, and breaks the rule
//   test      the test that must fail; for a drawn rule, one that its row names
//   hangs     true if the test may also hang instead of failing

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

/** Reads all breaks: first those of drawn rules, then the chosen ones. */
export const readBreaks = () => [DRAWN, CHOSEN].flatMap(readFrom);

/** Returns eight hexadecimal digits by which a break is recognized as the one that was run. */
export const digestOf = ({ file, find, replace, test }) =>
    createHash('sha256').update(JSON.stringify([file, find, replace, test])).digest('hex').slice(0, 8);

/** Returns the faults of the test of a chosen break, which no row names. */
const faultsOfTest = (id, test) => {
    const [path, name] = test.split('::');
    const there = existsSync(path) && readFileSync(path, 'utf8').includes(`fn ${name}(`);
    return there ? [] : [`${id}: there is no test ${test}`];
};

/** Returns the faults of a break, given the current code and rows. */
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
