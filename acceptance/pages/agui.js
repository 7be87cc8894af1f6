// A page with the client of AG-UI, without a framework. The same marks as in chat.jsx.

import { HttpAgent } from '@ag-ui/client';

const { server, token, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const headers = { authorization: `Bearer ${token}` };
const agent = new HttpAgent({ url: `${server}/api/ag-ui/clerk`, headers, threadId: session });
const page = document.getElementById('page');
page.innerHTML = `<main><div id="messages"></div><div id="interrupts"></div><p id="error"></p><input id="text">
    ${['send', 'stop', 'resume'].map((name) => `<button id="${name}">${name}</button>`).join('')}</main>`;
const find = (id) => document.getElementById(id);
const make = (name, marks, text) => {
    const made = document.createElement(name);
    Object.assign(made.dataset, marks);
    made.textContent = text ?? '';
    return made;
};

let interrupts = [];

function draw() {
    page.firstChild.dataset.status = agent.isRunning ? 'streaming' : 'ready';
    page.firstChild.dataset.state = JSON.stringify(agent.state);
    const shown = agent.messages.map((message) => {
        const article = make('article', { id: message.id, role: message.role });
        if (message.content) {
            const part = message.role === 'reasoning' ? 'reasoning' : 'text';
            article.append(make('p', { part }, message.content));
        }
        for (const call of message.toolCalls ?? []) {
            const answered = agent.messages.some((other) => other.toolCallId === call.id);
            const state = answered ? 'output-available' : 'input-available';
            article.append(make('section', { part: 'tool', tool: call.function.name, state }, call.function.arguments));
        }
        return article;
    });
    find('messages').replaceChildren(...shown);
    find('interrupts').replaceChildren(...interrupts.flatMap((interrupt) => ['approve', 'deny'].map((name) => {
        const button = make('button', { interrupt: interrupt.id }, name);
        button.className = name;
        button.onclick = () => decide(interrupt, name === 'approve');
        return button;
    })));
}

async function run(parameters) {
    find('error').textContent = '';
    interrupts = [];
    try {
        await agent.runAgent(parameters, {
            onEvent: () => queueMicrotask(draw),
            onMessagesChanged: draw,
            onRunFinishedEvent: ({ event }) => { interrupts = event.outcome?.interrupts ?? []; },
        });
    } catch (error) {
        find('error').textContent = error.message || 'failed';
    }
    draw();
    // The tools that this page runs.
    const last = agent.messages.at(-1);
    const scan = last?.toolCalls?.find((call) => call.function.name === 'scan');
    if (scan && interrupts.length === 0 && !find('error').textContent) {
        agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: scan.id, content: 'total 12.50' });
        await run();
    }
}

const decide = (interrupt, approved) => run({
    resume: [{
        interruptId: interrupt.id,
        status: 'resolved',
        payload: approved ? { approved } : { approved, reason: 'not today' },
    }],
});

find('send').onclick = () => {
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: find('text').value });
    find('text').value = '';
    run();
};
find('stop').onclick = () => fetch(`${server}/v1/sessions/${session}/interrupt`, {
    method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{"reason":"enough"}',
});
find('resume').onclick = () => {
    agent.messages = [];
    run();
};
draw();
const known = await fetch(`${server}/v1/sessions/${session}`, { headers });
if (known.ok) run();
page.dataset.ready = 'true';
