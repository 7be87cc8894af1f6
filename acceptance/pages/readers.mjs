// Many readers of many sessions at one server: each gets all that is committed, a slow one harms no other, and each costs little
// memory. Prints times, which are measured and not checked.

import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../main_job/process.mjs';

/** The most memory of the server for one reader, in bytes. */
const BYTES_MAX = 64 << 10;
/** The number of readers from which on memory is checked. With fewer, what the server needs besides hides it. */
const MANY = 900;

/** The number of readers that are opened together. */
const AT_ONCE = 100;

const agent = new Agent({ keepAlive: false, maxSockets: Infinity });

/** Returns the resident memory of a process, in bytes. */
const memory = (pid) => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * 1024;

/** A reader of a session, from a cursor on. */
class Reader {
    texts = [];
    late = [];

    constructor(server, token, session, cursor) {
        const path = `/v1/sessions/${session}/events?messages=true&after=${cursor}`;
        const { hostname, port } = new URL(server);
        const headers = { authorization: `Bearer ${token}` };
        this.open = new Promise((resolve, reject) => {
            this.request = get({ hostname, port, path, headers, agent }, (response) => {
                this.response = response;
                let rest = '';
                response.setEncoding('utf8');
                response.on('data', (text) => {
                    const frames = (rest + text).split('\n\n');
                    rest = frames.pop();
                    frames.forEach((frame) => this.take(frame));
                });
                response.on('error', () => {});
                resolve(response.statusCode);
            }).on('error', reject);
        });
    }

    take(frame) {
        const data = frame.match(/^data: (.*)$/m);
        if (!data || !frame.includes('event: event')) return;
        const { at, message } = JSON.parse(data[1]);
        if (message?.message.role !== 'assistant') return;
        this.late.push(Date.now() - at);
        this.texts.push(message.message.parts[0].text);
    }

    close() {
        this.request.destroy();
    }
}

const centile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

/** Plays with this many readers at `server`, whose process has this id, and as many at another server. */
export async function play({ server, pid, other, token, readers, sessions, check }) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    // All is asked of the server itself, so that its worker is told at once.
    const api = async (path, init) => (await fetch(`${server}/v1${path}`, { headers, ...init })).json();
    const begun = await Promise.all(Array.from({ length: sessions }, async (_, at) => {
        const session = `read-${at}`;
        await api('/sessions', { method: 'POST', body: JSON.stringify({ agent: 'clerk', message: 'Hello', session }) });
        const cursor = await until(`${session} rests`, async () => {
            const shown = await api(`/sessions/${session}`);
            return shown.status === 'idle' && shown.unread === 0 && shown.messages >= 2 && shown.cursor;
        });
        return { session, cursor };
    }));
    const open = async (at, count) => {
        const made = [];
        const statuses = [];
        while (made.length < count) {
            const some = Array.from({ length: Math.min(AT_ONCE, count - made.length) }, (_, number) => {
                const { session, cursor } = begun[(made.length + number) % sessions];
                return new Reader(at, token, session, cursor);
            });
            made.push(...some);
            statuses.push(...await Promise.all(some.map((reader) => reader.open)));
        }
        check(`${count} readers are let in`, statuses.every((status) => status === 200), statuses);
        return made;
    };
    // What a server needs once is there after the first readers.
    (await open(server, sessions)).forEach((reader) => reader.close());
    await sleep(500);
    const before = memory(pid);
    const near = await open(server, readers);
    await sleep(500);
    const each = (memory(pid) - before) / readers;
    if (readers >= MANY) {
        check(`a reader costs at most ${BYTES_MAX >> 10} KB`, each <= BYTES_MAX, `${Math.round(each / 1024)} KB`);
    }
    const far = await open(other, readers);
    // One that does not read, at each session.
    const slow = await open(server, sessions);
    slow.forEach((reader) => reader.response.pause());
    await Promise.all(begun.map(({ session }) =>
        api(`/sessions/${session}/messages`, { method: 'POST', body: '{"text":"Are you there?"}' })));
    for (const [name, all] of [['the same server', near], ['another server', far]]) {
        await until('all have read', () => all.every((reader) => reader.texts.length > 0));
        const right = all.every((reader) => reader.texts.length === 1 && reader.texts[0] === 'Good day.');
        check(`${all.length} readers at ${name} have the answer, once`, right);
        const late = all.flatMap((reader) => reader.late).sort((one, two) => one - two);
        console.log(`# from commit to reader at ${name}: median ${centile(late, 0.5)} ms, p99 ${centile(late, 0.99)} ms`);
    }
    console.log(`# memory of the server for each of ${readers} readers: ${Math.round(each / 1024)} KB`);
    [...near, ...far, ...slow].forEach((reader) => reader.close());
}
