// A page with useChat, as somebody would write it: messages, tools, decisions, and buttons.

import { useChat } from '@ai-sdk/react';
import {
    DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { createRoot } from 'react-dom/client';
import { useState } from 'react';

const { server, token, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const headers = { authorization: `Bearer ${token}` };
const chat = `${server}/api/chat`;
const shown = await (await fetch(`${chat}/${session}/messages`, { headers })).json();

const transport = new DefaultChatTransport({
    api: `${chat}?v=7`,
    headers,
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
        body: { id, messages: messages.slice(-1), trigger, messageId },
    }),
    prepareReconnectToStreamRequest: ({ id }) => ({
        api: `${chat}/${id}/stream?v=7${shown.cursor ? `&after=${shown.cursor}` : ''}`,
        headers,
    }),
});

function Page() {
    const it = useChat({
        id: session,
        messages: shown.messages ?? [],
        resume: true,
        transport,
        sendAutomaticallyWhen: (all) =>
            lastAssistantMessageIsCompleteWithApprovalResponses(all) || lastAssistantMessageIsCompleteWithToolCalls(all),
        onToolCall: ({ toolCall }) => {
            if (toolCall.toolName === 'scan') {
                it.addToolOutput({ tool: 'scan', toolCallId: toolCall.toolCallId, output: 'total 12.50' });
            }
        },
    });
    const [text, setText] = useState('');
    const stop = async () => {
        await fetch(`${chat}/${session}/stop`, { method: 'POST', headers });
    };
    return (
        <main data-status={it.status}>
            {it.messages.map((message) => (
                <article key={message.id} data-id={message.id} data-role={message.role}>
                    {message.parts.map((part, at) => <Part key={at} part={part} decide={it.addToolApprovalResponse} />)}
                </article>
            ))}
            {it.error && <p id="error">{it.error.message}</p>}
            <input id="text" value={text} onChange={(event) => setText(event.target.value)} />
            <button id="send" onClick={() => { it.sendMessage({ text }); setText(''); }}>Send</button>
            <button id="stop" onClick={stop}>Stop</button>
            <button id="again" onClick={() => it.regenerate()}>Again</button>
            <button id="resume" onClick={() => it.resumeStream()}>Resume</button>
        </main>
    );
}

function Part({ part, decide }) {
    if (part.type === 'text') return <p data-part="text">{part.text}</p>;
    if (part.type === 'reasoning') return <p data-part="reasoning">{part.text}</p>;
    if (part.type !== 'dynamic-tool') return null;
    const id = part.approval?.id;
    return (
        <section data-part="tool" data-tool={part.toolName} data-state={part.state}>
            <code>{JSON.stringify(part.input)}</code>
            <output>{part.output ?? part.errorText}</output>
            {part.state === 'approval-requested' && <>
                <button className="approve" onClick={() => decide({ id, approved: true })}>Approve</button>
                <button className="deny" onClick={() => decide({ id, approved: false, reason: 'not today' })}>Deny</button>
            </>}
        </section>
    );
}

const page = document.getElementById('page');
createRoot(page).render(<Page />);
page.dataset.ready = 'true';
