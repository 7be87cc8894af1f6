// Copies the work tree to a folder in which code may be broken.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** The file that marks a folder whose contents may be overwritten and removed. */
const MARK = '.holdover-broken';

/** Returns the files of the work tree, committed or not, except those that git ignores. */
const listed = () => execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
    .toString().split('\0').filter((path) => path !== '' && existsSync(path));

const filesIn = (folder, under = '') => readdirSync(join(folder, under), { withFileTypes: true }).flatMap((entry) => {
    const path = join(under, entry.name);
    if (entry.isDirectory()) return path === 'target' ? [] : filesIn(folder, path);
    return path === MARK ? [] : [path];
});

/** Returns true if the folder lies outside of the work tree, and is new, empty, or already such a copy. */
const isOurs = (folder) => {
    if (!relative('.', folder).startsWith('..')) return false;
    return !existsSync(folder) || readdirSync(folder).length === 0 || existsSync(join(folder, MARK));
};

/**
 * Makes `folder` equal to the work tree. Files that are equal already are not written, so that cargo builds no more than it
 * must. Folders named `target` stay. This also undoes the changes that an earlier run left.
 */
export const copyTo = (folder) => {
    if (!isOurs(folder)) throw new Error(`${folder} lies in the work tree, or holds something else: it is left alone`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, MARK), '');
    const files = listed();
    const known = new Set(files);
    for (const path of filesIn(folder)) if (!known.has(path)) rmSync(join(folder, path));
    for (const path of files) {
        const [bytes, to] = [readFileSync(path), join(folder, path)];
        if (existsSync(to) && readFileSync(to).equals(bytes)) continue;
        mkdirSync(dirname(to), { recursive: true });
        writeFileSync(to, bytes, { mode: statSync(path).mode });
    }
};

/** Replaces the text `find` in `file` by `replace`. */
export const change = (folder, { file, find, replace }) => {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8').split(find).join(replace));
};
