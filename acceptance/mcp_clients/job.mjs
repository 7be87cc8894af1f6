// The job that every client does: a session with an approval, from its start to its end. `call` calls a tool and returns its
// structured content.
import assert from 'node:assert/strict';

export const APPROVE = { action: 'accept', content: { decision: 'approve', reason: 'she called us' } };

const START = { agent: 'clerk', message: 'refund order 7' };

// Decides with a tool. `start` are more arguments of the start.
export async function byTool(call) {
    const agents = await call('list_agents', {});
    assert.deepEqual(agents.items.map((agent) => agent.name), ['clerk']);
    const { session } = await call('start_session', START);
    const waits = await call('wait', { session });
    assert.equal(waits.ended, 'waits');
    await decide(call, session, waits.pending.items);
    const over = await call('wait', { session });
    assert.equal(over.ended, 'over');
    await ended(call, session, over);
}

// The user decides in a form, which the client shows while it waits. `asked` returns what the forms have shown.
export async function byForm(call, asked) {
    const before = asked().length;
    const { session, state } = await call('start_session', { ...START, wait_seconds: 30 });
    assert.equal(state.ended, 'over');
    const forms = asked().slice(before);
    assert.equal(forms.length, 1, 'one session asks once');
    for (const shown of ['Tool: run_command', 'echo receipt 4711', 'money leaves the house']) {
        assert.ok(forms[0].includes(shown), forms[0]);
    }
    await ended(call, session, state);
}

// The client could show a form, but this transport and generation of the protocol has no way to ask for it.
export async function byToolInstead(call, asked) {
    const { session, state } = await call('start_session', { ...START, wait_seconds: 30 });
    assert.equal(state.ended, 'waits');
    assert.equal(asked().length, 0);
    await decide(call, session, state.pending.items);
    await ended(call, session, await call('wait', { session }));
}

async function decide(call, session, pending) {
    assert.equal(pending.length, 1);
    const [{ id, digest, tool, prompt }] = pending;
    assert.deepEqual([tool, prompt], ['run_command', 'money leaves the house']);
    const decision = { session, pending: id, digest, decision: 'approve', reason: 'she called us' };
    assert.equal((await call('decide', decision)).accepted, true);
}

async function ended(call, session, state) {
    assert.equal(state.result.text, 'Order 7 is paid back.');
    assert.deepEqual(state.pending.items, []);
    const { items } = await call('read_transcript', { session });
    assert.deepEqual(items.map(({ message }) => told(message)), [
        'user: refund order 7',
        'assistant: I ask for it.',
        'decision: ann: she called us',
        'tool: exit code 0\nstdout:\nreceipt 4711',
        'assistant: Order 7 is paid back.',
    ]);
    const { items: events } = await call('read_events', { session });
    assert.equal(events.filter(({ event }) => event.type === 'call' && event.is === 'executing').length, 1, 'the tool ran once');
}

function told(message) {
    switch (message.role) {
        case 'decision':
            return `decision: ${message.decision.by}: ${message.decision.reason}`;
        case 'assistant':
            return `assistant: ${message.parts.filter((part) => part.type === 'text').map((part) => part.text).join('')}`;
        case 'tool':
            return `tool: ${message.content.trim()}`;
        default:
            return `${message.role}: ${message.text}`;
    }
}
