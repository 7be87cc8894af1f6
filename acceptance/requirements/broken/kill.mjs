// Breaks a rule, and runs its test.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { change, copyTo } from './copy.mjs';
import { saidOn } from './page.mjs';

/** The time after which a test counts as hanging. */
const TEST_MS = 300_000;

/** Returns cargo's arguments for the target of the test `path::name`, and the name. */
const placeOf = (test) => {
    const [path, name] = test.split('::');
    const [, folder, kind, rest] = path.match(/^(.+?)\/(src|tests)\/(.+)$/);
    const [, crate] = readFileSync(`${folder}/Cargo.toml`, 'utf8').match(/^name = "([^"]+)"/m);
    const target = kind === 'tests' ? ['--test', rest.split('/')[0].replace(/\.rs$/, '')]
        : [existsSync(`${folder}/src/lib.rs`) ? '--lib' : '--bins'];
    return { target: ['test', '-p', crate, ...target], name };
};

/** Returns the command that runs the test of a break. */
export const commandOf = (one) => {
    const { target, name } = placeOf(one.test);
    return ['cargo', ...target, '--', name].join(' ');
};

/** Runs cargo in `folder`. After `ms` milliseconds, if given, kills it with all processes that it started. */
const cargo = (folder, words, { ms, offline } = {}) => new Promise((resolve) => {
    const env = { ...process.env, CARGO_TERM_COLOR: 'never', INSTA_UPDATE: 'no', RUST_BACKTRACE: '0' };
    if (offline) env.CARGO_NET_OFFLINE = 'true';
    const child = spawn('cargo', words, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, hung] = ['', false];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { out += data; });
    const timer = ms && setTimeout(() => { hung = true; process.kill(-child.pid, 'SIGKILL'); }, ms);
    child.on('close', (code) => { clearTimeout(timer); resolve({ out, hung, code }); });
});

/** Returns how the test of this name ended: ok, FAILED, or undefined if it was not run. */
const endOf = (out, name) =>
    out.match(new RegExp(`^test (?:\\S+::)?${name}(?: - should panic)? \\.\\.\\. .*?(ok|FAILED)$`, 'm'))?.[1];

/** Returns the first line of the test's panic, and the values that it compared. */
const saidIn = (out, name, folder) => {
    const [, told] = out.match(new RegExp(`^---- (?:\\S+::)?${name} stdout ----\\n([^]*?)(?=^---- |^failures:$)`, 'm')) ?? [];
    const [, panic] = told?.match(/panicked at [^\n]*\n([^]*)/) ?? [];
    const [first, ...more] = (panic ?? told ?? '').trim().split('\n');
    const compared = more.filter((line) => /^\s*(left|right): /.test(line)).map((line) => line.trim());
    return saidOn([first, ...compared].join('; ').replaceAll(`${folder}/`, ''));
};

/** Runs the tests of these breaks while nothing is broken. Returns the faults: each test must pass. */
const unbroken = async (folder, breaks) => {
    const targets = new Map();
    for (const { test } of breaks) {
        const { target, name } = placeOf(test);
        const key = target.join(' ');
        targets.set(key, { target, names: new Set(targets.get(key)?.names).add(name) });
    }
    const wrong = [];
    for (const { target, names } of targets.values()) {
        const { out } = await cargo(folder, [...target, '--', ...names]);
        for (const name of names) {
            if (endOf(out, name) !== 'ok') wrong.push(`${name} does not pass while nothing is broken:\n${out.slice(-2000)}`);
        }
    }
    return wrong;
};

/** Breaks one rule. Returns `said`, the message of its test, if the test failed; otherwise `wrong`, what happened instead. */
const kill = async (folder, one) => {
    const { target, name } = placeOf(one.test);
    change(folder, one);
    const built = await cargo(folder, [...target, '--no-run'], { offline: true });
    if (built.code !== 0) return { wrong: `it does not compile\n${built.out.slice(-2000)}` };
    const { out, hung } = await cargo(folder, [...target, '--', name], { ms: TEST_MS, offline: true });
    if (hung) return one.hangs ? { said: `it was not over after ${TEST_MS / 1000} s` } : { wrong: 'it hangs' };
    const end = endOf(out, name);
    if (end === 'FAILED') return { said: saidIn(out, name, folder) };
    return { wrong: end === 'ok' ? 'it passes although the rule is broken' : `it was not run\n${out.slice(-2000)}` };
};

/** Breaks one rule after another in `folder`, grouped by target, and yields each result. Restores the code at the end. */
export const killAll = async function* (folder, all) {
    const order = (one) => `${commandOf(one).split(' -- ')[0]} ${one.file}`;
    const breaks = all.toSorted((one, other) => (order(one) < order(other) ? -1 : 1));
    copyTo(folder);
    const wrong = await unbroken(folder, breaks);
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    try {
        for (const one of breaks) {
            const began = Date.now();
            const end = await kill(folder, one);
            copyTo(folder);
            yield { one, seconds: Math.round((Date.now() - began) / 1000), ...end };
        }
    } finally {
        copyTo(folder);
    }
};
