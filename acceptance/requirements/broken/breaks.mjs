// The breaks: one file each in breaks/, named by the id of the rule.
//
//   rule      the rule in a few words
//   broken    what is done to it
//   file      the file that is changed
//   find      a text that stands in it exactly once
//   replace   what is put in its place: it compiles, and breaks this rule
//   test      the test that is to fail, as the row of the rule names it
//   hangs     true where a test that never ends says the same as one that fails

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { testsOf } from '../rows.mjs';

const FOLDER = 'acceptance/requirements/breaks';
const FIELDS = ['rule', 'broken', 'file', 'find', 'replace', 'test'];

export const readBreaks = () => readdirSync(FOLDER).sort().map((name) => {
    const id = name.replace(/\.json$/, '');
    return { id, ...JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8')) };
});

/** What says in eight digits whether a break is still the one that was run. */
export const digestOf = ({ file, find, replace, test }) =>
    createHash('sha256').update(JSON.stringify([file, find, replace, test])).digest('hex').slice(0, 8);

/** What is wrong with a break as the code and its row stand now. */
export const faultsOf = (one, rows) => {
    const { id, file, find, replace, test } = one;
    const missing = FIELDS.filter((field) => typeof one[field] !== 'string' || one[field] === '');
    if (missing.length > 0) return [`${id}: ${missing.join(', ')}: to be said`];
    const faults = [];
    const times = existsSync(file) ? readFileSync(file, 'utf8').split(find).length - 1 : 0;
    if (times !== 1) faults.push(`${id}: what is to be changed stands ${times} times in ${file}`);
    if (find === replace) faults.push(`${id}: nothing is changed`);
    const row = rows.find((row) => row.id === id);
    if (row?.state !== 'shown') faults.push(`${id}: is no rule that is shown`);
    else if (!testsOf(row).includes(test)) faults.push(`${id}: its row does not name ${test}`);
    return faults;
};
