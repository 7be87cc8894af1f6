// The rows of docs/requirements.md.

import { readFileSync } from 'node:fs';

export const PAGE = 'docs/requirements.md';

/** Each row of this page in order: its id, its state, what shows it or what is missing. */
export const rowsOf = (page) => page.split('\n').flatMap((line) => {
    const [, id, state, by] = line.match(/^\| ([ABCDHU]\d\d) \| ([^|]*) \| (.*) \|$/) ?? [];
    return id ? [{ id, state: state.trim(), by: by.trim() }] : [];
});

/** The tests that a row names: `path::name`, without the backticks. */
export const testsOf = (row) => row.by.split('<br>').map((test) => test.trim().replace(/^`|`$/g, ''));

export const readPage = () => readFileSync(PAGE, 'utf8');
