// Readers that are cut at random bytes, with another server behind each connection, end with what one that is never cut has:
// of the API, of the AI SDK and of AG-UI, with their own clients.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const tools = createRequire(join(process.env.PAGES_TOOLS, 'package.json'));
const { AbstractChat, DefaultChatTransport } = tools('ai');
const { HttpAgent } = tools('@ag-ui/client');

/** The most connections that one reader may need. */
const CONNECTIONS_MAX = 2_000;

/** Random numbers that a seed repeats (mulberry32). */
function randomly(seed) {
    return () => {
        seed = (seed + 0x6D2B79F5) | 0;
        let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    };
}

/** A fetch whose answers break after random numbers of bytes, each on the next server. */
class Cutter {
    constructor(servers, cuts, seed, bytesMax) {
        Object.assign(this, { servers, left: cuts, made: 0, connections: 0, bytesMax, random: randomly(seed) });
        this.fetch = this.fetch.bind(this);
    }

    async fetch(url, init) {
        this.connections += 1;
        if (this.connections > CONNECTIONS_MAX) throw new Error('there are too many connections');
        const { pathname, search } = new URL(url);
        const server = this.servers[this.connections % this.servers.length];
        const response = await fetch(`${server}${pathname}${search}`, init);
        const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
        if (this.left === 0 || !isStream) return response;
        let rest = 1 + Math.floor(this.random() * this.bytesMax);
        const cut = new TransformStream({
            transform: (bytes, controller) => {
                controller.enqueue(bytes.subarray(0, rest));
                rest -= bytes.length;
                if (rest > 0) return;
                this.left -= 1;
                this.made += 1;
                controller.error(new TypeError('network: the connection was cut'));
            },
        });
        return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers });
    }
}

/** Reads the committed events of a session by the API, up to its rest, as text. */
async function readEvents(fetch, server, token, session) {
    let last;
    let events = '';
    for (;;) {
        const headers = { authorization: `Bearer ${token}`, ...(last && { 'last-event-id': last }) };
        const response = await fetch(`${server}/v1/sessions/${session}/events?until=rest&messages=true`, { headers });
        let text = '';
        try {
            for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) text += bytes;
        } catch {
            // The connection was cut. What came before is kept up to its last whole event.
        }
        const whole = text.slice(0, text.lastIndexOf('\n\n') + 1).split('\n\n').map((frame) => frame.trim()).filter(Boolean);
        for (const frame of whole) {
            const field = (name) => frame.match(new RegExp(`^${name}: (.*)$`, 'm'))?.[1];
            last = field('id') ?? last;
            if (field('event') === 'event') events += `${frame}\n\n`;
            if (field('event') === 'end' && JSON.parse(field('data')).reason === 'reached') return events;
        }
    }
}

/** The state of a chat without a page. */
export class Plain {
    status = 'ready';
    messages = [];
    pushMessage = (message) => { this.messages = [...this.messages, message]; };
    popMessage = () => { this.messages = this.messages.slice(0, -1); };
    replaceMessage = (at, message) => { this.messages = this.messages.with(at, structuredClone(message)); };
    snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
    constructor(init) {
        super({ ...init, state: new Plain() });
    }
}

/** Has a message answered, and returns the texts of the answer. */
async function chats(cutter, token, session, text) {
    const transport = new DefaultChatTransport({
        api: `${cutter.servers[0]}/api/chat?v=7`,
        headers: { authorization: `Bearer ${token}` },
        fetch: cutter.fetch,
        prepareReconnectToStreamRequest: ({ id, headers }) => ({
            api: `${cutter.servers[0]}/api/chat/${id}/stream?v=7&after=${cutter.first}`, headers,
        }),
    });
    const chat = new Chat({ id: session, transport });
    // Before the first message there is no cursor. One that is not the newest asks for the newest answer.
    cutter.first = '';
    await chat.sendMessage({ text });
    while (chat.status === 'error') {
        cutter.first ||= await firstCursor(cutter.servers[0], token, session);
        await chat.resumeStream();
    }
    return texts(chat.lastMessage);
}

const texts = (message) => (message?.parts ?? []).filter((part) => part.type === 'text').map((part) => part.text);

/** Returns the cursor of the first event of a session. */
async function firstCursor(server, token, session) {
    const path = `/v1/sessions/${session}/events?until=available`;
    const headers = { authorization: `Bearer ${token}` };
    const text = await (await fetch(`${server}${path}`, { headers })).text();
    return text.match(/^id: (.*)$/m)[1];
}

/** Has a message answered by AG-UI, and returns the texts of the answer. */
async function runs(cutter, token, session, text) {
    const agent = new HttpAgent({
        url: `${cutter.servers[0]}/api/ag-ui/clerk`,
        headers: { authorization: `Bearer ${token}` },
        fetch: cutter.fetch,
        threadId: session,
        initialMessages: [{ id: 'm1', role: 'user', content: text }],
    });
    for (;;) {
        try {
            await agent.runAgent();
            const said = agent.messages.filter((message) => message.role === 'assistant' && message.content);
            return said.map((message) => message.content);
        } catch {
            // A run without a message attaches to what runs.
            agent.messages = [];
        }
    }
}

// A connection that breaks leaves a promise of AG-UI's client that nobody waits for.
process.on('unhandledRejection', (error) => {
    if (!String(error).includes('network: ')) throw error;
});

/** Plays with this many cuts in all, and reports by `check`. */
export async function play({ servers, token, cuts, seed, check, transcript, story }) {
    const share = Math.ceil(cuts / 3);
    let made = 0;
    const cutter = (bytesMax) => new Cutter(servers, share, seed += 1, bytesMax);
    const quiet = console.error;
    console.error = () => {};
    try {
        const chat = cutter(700);
        const said = await chats(chat, token, 'cut-chat', story);
        let wanted = (await transcript('cut-chat')).answers;
        check(`AI SDK: ${chat.made} cuts on ${servers.length} servers`, `${said}` === `${wanted}`, { said, wanted });
        const agui = cutter(1_200);
        const run = await runs(agui, token, 'cut-agui', story);
        wanted = (await transcript('cut-agui')).answers;
        check(`AG-UI: ${agui.made} cuts on ${servers.length} servers`, `${run}` === `${wanted}`, { run, wanted });
        const api = cutter(250);
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const body = JSON.stringify({ agent: 'clerk', message: story, session: 'cut-api' });
        await fetch(`${servers[0]}/v1/sessions`, { method: 'POST', headers, body });
        const events = await readEvents(api.fetch, servers[0], token, 'cut-api');
        const whole = await readEvents(fetch, servers[0], token, 'cut-api');
        check(`API: ${api.made} cuts on ${servers.length} servers`, events === whole && whole.length > 0, { events, whole });
        made = chat.made + agui.made + api.made;
    } finally {
        console.error = quiet;
    }
    return made;
}
