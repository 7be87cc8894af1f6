// The clients of version 6 of the AI SDK accept what the server sends, also when an attempt dies: they refuse every part that
// they do not know.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Plain } from './cuts.mjs';

const tools = createRequire(join(process.env.PAGES_TOOLS, 'package.json'));
const { AbstractChat, DefaultChatTransport } = tools('ai6');

class Chat extends AbstractChat {
    constructor(init) {
        super({ ...init, state: new Plain() });
    }
}

const texts = (message) => message.parts.filter((part) => part.type === 'text').map((part) => part.text);

/** Plays a session with an approval, and one whose first attempt fails in the middle of its text. */
export async function play({ server, token, check, transcript }) {
    const begin = (id) => new Chat({
        id, transport: new DefaultChatTransport({ api: `${server}/api/chat`, headers: { authorization: `Bearer ${token}` } }),
    });
    const asks = begin('six-approves');
    await asks.sendMessage({ text: 'Take a note' });
    const part = asks.lastMessage.parts.find((it) => it.type === 'dynamic-tool');
    check('version 6: a call waits for approval', part?.state === 'approval-requested', { part, error: String(asks.error) });
    await asks.addToolApprovalResponse({ id: part.approval.id, approved: true });
    await asks.sendMessage();
    const wanted = (await transcript('six-approves')).answers;
    check('version 6: the answer goes on in the same message',
        asks.messages.length === 2 && `${texts(asks.lastMessage)}` === `${wanted}` && !asks.error,
        { said: texts(asks.lastMessage), wanted, error: String(asks.error) });

    const fails = begin('six-fails');
    await fails.sendMessage({ text: 'Stumble once' });
    const last = texts(fails.lastMessage).at(-1);
    const void_ = fails.lastMessage.parts.find((it) => it.type === 'data-void');
    check('version 6: what an attempt that died had said is named',
        last === (await transcript('six-fails')).answers[0] && void_?.data.parts.length === 1 && !fails.error,
        { message: fails.lastMessage, error: String(fails.error) });
}
