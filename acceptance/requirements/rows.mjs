// The rows of docs/requirements.md.

import { readFileSync } from 'node:fs';

export const PAGE = 'docs/requirements.md';

/** Returns the rows of this page in order: id, state, and what shows the requirement or is missing. */
export const rowsOf = (page) => page.split('\n').flatMap((line) => {
    const [, id, state, by] = line.match(/^\| ([ABCDHU]\d\d) \| ([^|]*) \| (.*) \|$/) ?? [];
    return id ? [{ id, state: state.trim(), by: by.trim() }] : [];
});

/** Returns the tests that a row names, as `path::name` without backticks. */
export const testsOf = (row) => row.by.split('<br>').map((test) => test.trim().replace(/^`|`$/g, ''));

export const readPage = () => readFileSync(PAGE, 'utf8');
