// Drives pages in Chromium against `holdover serve`, and compares what they show with the transcript. Prints a line for each
// check (TAP), and exits with 1 if one failed. Arguments: words that the names of the scenes to play contain.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { play } from './cuts.mjs';
import { play as read } from './readers.mjs';
import { play as playSix } from './six.mjs';
import { Started, freePort, killAll, until } from '../main_job/process.mjs';

const { HOLDOVER, PAGES_TOOLS } = process.env;
const tools = createRequire(join(PAGES_TOOLS, 'package.json'));
const { build } = tools('esbuild');
const { chromium } = tools('playwright-core');
const here = import.meta.dirname;
/** The number of readers at each server, unless the environment sets another. */
const READERS = Number(process.env.HOLDOVER_READERS ?? 200);
/** The number of connections that are cut. */
const CUTS = 200;
const browserAt = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync) ?? process.env.CHROMIUM;

const folder = mkdtempSync(join(tmpdir(), 'holdover-pages-'));
for (const name of ['agent.toml', 'script.toml']) cpSync(join(here, name), join(folder, name));
mkdirSync(join(folder, 'files'));
const store = ['--store', `sqlite:${join(folder, 'pages.db')}`];
const token = JSON.parse(execFileSync(HOLDOVER, [...store, 'tokens', 'create', '--name', 'ann', '--may', 'read,send,decide',
    '--expires', '1h', '--json'], { encoding: 'utf8' })).token;

/** Bundles a page, as its author would. */
async function bundle(name) {
    const { outputFiles } = await build({
        entryPoints: [join(here, name)], bundle: true, write: false, format: 'esm', jsx: 'automatic', target: 'esnext',
        nodePaths: [join(PAGES_TOOLS, 'node_modules')], logLevel: 'error', define: { 'process.env.NODE_ENV': '"production"' },
    });
    return outputFiles[0].text;
}
const scripts = { '/chat.js': await bundle('chat.jsx'), '/agui.js': await bundle('agui.js') };
const files = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    const script = scripts[pathname];
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(script ?? `<!doctype html><title>page</title><div id="page"></div><script type="module" src="${pathname}.js"></script>`);
});
await new Promise((resolve) => files.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${files.address().port}`;

/** Starts a server at this address. */
async function serve(url, ...more) {
    const address = ['--listen', new URL(url).host, '--origin', origin];
    const words = [...store, 'serve', 'agent.toml', ...address, '--lease', '2s', ...more];
    const started = new Started(HOLDOVER, words);
    await until('the server is ready', async () => (await fetch(`${url}/v1/ready`).catch(() => ({}))).ok);
    return started;
}
const [server, other] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];

process.chdir(folder);
let serving = await serve(server);
const browser = await chromium.launch({ executablePath: browserAt, args: ['--no-sandbox'] });

const api = async (path, init = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return (await fetch(`${server}/v1${path}`, { headers, ...init })).json();
};

let count = 0;
let failed = 0;
function check(what, holds, seen) {
    count += 1;
    if (!holds) failed += 1;
    console.log(`${holds ? 'ok' : 'not ok'} ${count} - ${what}`);
    if (!holds) console.log(`# ${JSON.stringify(seen)}`);
}

/** A page of one kind on a session of its own. */
class Page {
    constructor(kind, name) {
        this.kind = kind;
        this.session = `${kind}-${name}`;
    }

    async open() {
        this.tab = await browser.newPage();
        this.errors = [];
        this.tab.on('pageerror', (error) => this.errors.push(String(error)));
        const words = new URLSearchParams({ server, token, session: this.session });
        await this.tab.goto(`${origin}/${this.kind}#${words}`);
        await this.tab.waitForSelector('#page[data-ready=true]');
        return this;
    }

    async say(text) {
        await this.tab.fill('#text', text);
        await this.tab.click('#send');
    }

    status(status) {
        return this.tab.waitForSelector(`main[data-status=${status}]`, { timeout: 30_000 });
    }

    /** Waits until the page shows that nothing runs and the session rests. */
    async rests() {
        await until(`${this.session} rests`, async () => {
            const { status } = await api(`/sessions/${this.session}`);
            return status !== 'active' && await this.tab.evaluate(() => document.querySelector('main').dataset.status === 'ready');
        });
    }

    /** Waits until the page shows at least this many characters of the answer, and returns them. */
    streams(least) {
        return until('text streams', async () => {
            const text = (await this.answers()).at(-1) ?? '';
            return text.length >= least && text;
        });
    }

    /** Returns the texts of the agent, as the page shows them. */
    answers() {
        return this.tab.$$eval('article[data-role=assistant] [data-part=text]', (parts) => parts.map((it) => it.textContent));
    }

    questions() {
        return this.tab.$$eval('article[data-role=user] [data-part=text]', (parts) => parts.map((it) => it.textContent));
    }

    async same(what) {
        const wanted = await transcript(this.session);
        const shown = { questions: await this.questions(), answers: await this.answers() };
        check(`${this.session}: ${what}: the page shows the transcript`,
            JSON.stringify(shown) === JSON.stringify(wanted), { shown, wanted, errors: this.errors });
    }
}

/** Returns what was said, as the server knows it, without what was taken back. */
async function transcript(session) {
    let said = [];
    for (const { seq, message } of (await api(`/sessions/${session}/messages`)).items) {
        if (message.role === 'user' && !message.by_engine) said.push({ seq, of: 'questions', text: message.text });
        if (message.role === 'assistant') {
            const text = message.parts.filter((part) => part.type === 'text').map((part) => part.text).join('');
            if (text) said.push({ seq, of: 'answers', text });
        }
        if (message.role === 'notice' && message.rewound !== undefined) said = said.filter((it) => it.seq <= message.rewound);
    }
    const texts = (of) => said.filter((it) => it.of === of).map((it) => it.text);
    return { questions: texts('questions'), answers: texts('answers') };
}

const scenes = {
    async streams(page) {
        await page.say('Tell me a story');
        const early = await page.streams(10);
        await page.rests();
        const [whole] = await page.answers();
        check(`${page.session}: the text comes piece by piece`, whole.startsWith(early) && early.length < whole.length / 2,
            { early, whole });
        await page.same('after a story');
    },

    async approves(page) {
        await page.say('Take a note');
        await page.tab.click('.approve', { timeout: 30_000 });
        await until('the answer is there', async () => (await page.answers()).at(-1) === 'It is written down.');
        await page.rests();
        check(`${page.session}: the tool ran`, readFileSync(join(folder, 'files/note.txt'), 'utf8') === 'rain');
        const reasoning = await page.tab.$$eval('[data-part=reasoning]', (parts) => parts.map((it) => it.textContent));
        check(`${page.session}: the reasoning is shown`, reasoning.join() === 'A note is to be written.', reasoning);
        const { items } = await api(`/sessions/${page.session}/messages`);
        const decided = items.find(({ message }) => message.role === 'decision').message.decision;
        check(`${page.session}: the decision has its author`, decided.by === 'ann' && decided.approve, decided);
        await page.same('after an approval');
    },

    async denies(page) {
        rmSync(join(folder, 'files/note.txt'), { force: true });
        await page.say('Take a note');
        await page.tab.click('.deny', { timeout: 30_000 });
        await until('the answer is there', async () => (await page.answers()).at(-1) === 'Then I leave it.');
        await page.rests();
        check(`${page.session}: the tool did not run`, !existsSync(join(folder, 'files/note.txt')));
        const { items } = await api(`/sessions/${page.session}/messages`);
        const result = items.find(({ message }) => message.role === 'tool').message;
        check(`${page.session}: the model was told the reason`, result.content.includes('not today'), result);
        await page.same('after a denial');
    },

    async runs_a_tool(page) {
        await page.say('Please scan it');
        await until('the answer is there', async () => (await page.answers()).at(-1) === 'The receipt says 12.50.');
        await page.rests();
        await page.same('after a tool of the page');
    },

    async stops(page) {
        await page.say('Tell me a story');
        const early = await page.streams(10);
        await page.tab.click('#stop');
        await page.rests();
        const { status } = await api(`/sessions/${page.session}`);
        check(`${page.session}: the turn is stopped`, status === 'interrupted', status);
        const [stopped] = await page.answers();
        check(`${page.session}: what was said stays`, stopped.startsWith(early), { early, stopped });
        await page.same('after a stop');
        await page.say('Are you there?');
        await until('the answer is there', async () => (await page.answers()).at(-1) === 'Good day.');
        await page.rests();
        await page.same('after another message');
    },

    async is_reloaded(page) {
        await page.say('Tell me a story');
        await page.streams(10);
        await page.tab.reload();
        await page.tab.waitForSelector('#send');
        await page.streams(20);
        await page.rests();
        await page.same('after a reload in mid-stream');
        await page.tab.reload();
        await page.tab.waitForSelector('#send');
        await page.streams(100);
        await page.same('after a reload at the end');
    },

    async is_reloaded_while_it_waits(page) {
        await page.say('Take a note');
        await page.tab.waitForSelector('.approve', { timeout: 30_000 });
        await page.tab.reload();
        await page.tab.click('.approve', { timeout: 30_000 });
        await until('the answer is there', async () => (await page.answers()).at(-1) === 'It is written down.');
        await page.rests();
        await page.same('after a reload and an approval');
    },

    async sees_its_server_die(page) {
        await page.say('Tell me a story');
        // A connection that breaks leaves a promise of AG-UI's client that nobody waits for.
        page.allowed = /network error/;
        const early = await page.streams(20);
        check(`${page.session}: the server is killed`, await serving.kill());
        await page.tab.waitForFunction(() => document.getElementById('error')?.textContent, null, { timeout: 30_000 });
        serving = await serve(server);
        await page.tab.click('#resume');
        await page.streams(early.length + 40);
        await page.rests();
        const runs = await api(`/sessions/${page.session}/runs`);
        check(`${page.session}: another run took over`, runs.items.some((run) => run.found === 'active'), runs);
        await page.same('after its server was killed in mid-stream');
    },

    /** The stream goes on, and takes back what the attempt that died had said. */
    async sees_its_worker_die(page) {
        await serving.kill();
        // The worker of the server has its hands full, so that the one beside it takes the session.
        serving = await serve(server, '--max-running', '1');
        const busy = `busy-${page.session}`;
        await api('/sessions', { method: 'POST', body: JSON.stringify({ agent: 'clerk', message: 'Be slow', session: busy }) });
        await until('the server is busy', async () => (await api(`/sessions/${busy}`)).status === 'active');
        const work = () => new Started(HOLDOVER, [...store, 'work', '--lease', '2s']);
        const worker = work();
        await page.say('Tell me a story');
        const early = await page.streams(20);
        check(`${page.session}: the worker is killed`, await worker.kill());
        const next = work();
        await until('another run took over', async () => {
            const runs = await api(`/sessions/${page.session}/runs`);
            return runs.items.some((run) => run.found === 'active');
        });
        await page.streams(early.length + 40);
        await page.rests();
        await page.same('after its worker was killed in mid-stream');
        await next.kill();
        await serving.kill();
        serving = await serve(server);
        await api(`/sessions/${busy}/interrupt`, { method: 'POST', body: '{"reason":"it was a test"}' });
    },

    async shows_markup_as_text(page) {
        const evil = '<script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'">';
        await page.say(evil);
        await until('the answer is there', async () => (await page.answers()).at(-1)?.startsWith('You said'));
        await page.rests();
        check(`${page.session}: markup is text`, await page.tab.title() === 'page' && (await page.questions())[0] === evil);
        await page.same('after markup');
    },
};

const chatScenes = {
    async answers_again(page) {
        await page.say('Hello');
        await until('the answer is there', async () => (await page.answers()).at(-1) === 'Good day.');
        await page.rests();
        await page.tab.click('#again');
        await until('a second turn has run', async () => (await api(`/sessions/${page.session}/runs`)).items.length >= 2);
        await page.rests();
        await page.same('after another answer to the same message');
        await page.tab.reload();
        await page.tab.waitForSelector('article[data-role=assistant]');
        await page.same('after a reload');
    },
};

const wanted = process.argv.slice(2);
try {
    for (const kind of ['chat', 'agui']) {
        for (const [name, scene] of Object.entries(kind === 'chat' ? { ...scenes, ...chatScenes } : scenes)) {
            const page = new Page(kind, name);
            if (wanted.length > 0 && !wanted.some((word) => page.session.includes(word))) continue;
            await page.open();
            try {
                await scene(page);
            } catch (error) {
                check(`${page.session}: ${error.message.split('\n')[0]}`, false, {
                    page: await page.tab.evaluate(() => document.body.innerText), errors: page.errors,
                });
            }
            const errors = page.errors.filter((error) => !page.allowed?.test(error));
            check(`${page.session}: no error of the page`, errors.length === 0, errors);
            await page.tab.close();
        }
    }
    const plays = (name) => wanted.length === 0 || wanted.includes(name);
    if (plays('cuts') || plays('readers')) await serve(other);
    if (plays('six')) await playSix({ server, token, check, transcript });
    if (plays('readers')) {
        // A server that has done nothing yet, so that its memory is that of its readers.
        const fresh = `http://127.0.0.1:${await freePort()}`;
        const { pid } = (await serve(fresh)).child;
        await read({ server: fresh, pid, other, token, readers: READERS, sessions: READERS / 10, check });
    }
    if (plays('cuts')) {
        const story = 'Tell me a story';
        const cuts = await play({ servers: [server, other], token, cuts: CUTS, seed: 7, check, transcript, story });
        check(`${cuts} cuts were made`, cuts >= CUTS, cuts);
    }
} finally {
    if (failed > 0) console.log(serving.err.map((line) => `# ${line}`).join('\n'));
    await browser.close();
    files.close();
    await killAll();
    rmSync(folder, { recursive: true, force: true });
}
console.log(`1..${count}`);
process.exit(failed > 0 || count === 0 ? 1 : 0);
