// Which rules are broken: all ids in an order that a seed decides, and of those that are shown the first.

import { createHash } from 'node:crypto';

export const SEED = 'holdover';
export const COUNT = 40;

/**
 * What `seed` draws of these rows: the ids `drawn`, in order, and the `open` ones that were passed by, which are drawn
 * once they are shown. A row that does not apply has no rule to break.
 */
export const draw = (rows, seed) => {
    const rank = (id) => createHash('sha256').update(seed + id).digest('hex');
    const ranked = rows.map((row) => ({ ...row, rank: rank(row.id) })).sort((one, other) => (one.rank < other.rank ? -1 : 1));
    const drawn = ranked.filter((row) => row.state === 'shown').slice(0, COUNT);
    const last = drawn.at(-1)?.rank ?? '';
    const open = ranked.filter((row) => row.state === 'open' && row.rank < last);
    return { drawn: drawn.map((row) => row.id), open: open.map((row) => row.id) };
};
