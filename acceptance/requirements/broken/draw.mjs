// Draws the rules that are broken: a seed orders all ids, and the first `COUNT` that are shown are drawn.

import { createHash } from 'node:crypto';

export const SEED = 'holdover';
export const COUNT = 40;

/**
 * Draws rows by `seed`. Returns the `drawn` ids in order, and the `open` ids that were passed over: they will be drawn once
 * they are shown. A row that does not apply has no rule to break.
 */
export const draw = (rows, seed) => {
    const rank = (id) => createHash('sha256').update(seed + id).digest('hex');
    const ranked = rows.map((row) => ({ ...row, rank: rank(row.id) })).sort((one, other) => (one.rank < other.rank ? -1 : 1));
    const drawn = ranked.filter((row) => row.state === 'shown').slice(0, COUNT);
    const last = drawn.at(-1)?.rank ?? '';
    const open = ranked.filter((row) => row.state === 'open' && row.rank < last);
    return { drawn: drawn.map((row) => row.id), open: open.map((row) => row.id) };
};
