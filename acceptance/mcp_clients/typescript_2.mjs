// The TypeScript SDK of generation 2 (@modelcontextprotocol/client), which speaks the protocol of 2026-07-28.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { APPROVE, byForm, byTool } from './job.mjs';
import { play, stdio, url, headers } from './play.mjs';

async function connected(transport, forms) {
    const capabilities = forms ? { elicitation: { form: {} } } : {};
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const client = new Client({ name: 'acceptance', version: '1' }, { capabilities, versionNegotiation });
    const asked = [];
    if (forms) {
        client.setRequestHandler('elicitation/create', async ({ params }) => {
            asked.push(params.message);
            return APPROVE;
        });
    }
    await client.connect(transport);
    return { client, asked: () => asked };
}

const http = () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
await play('typescript 2, stdio, by tool', await connected(new StdioClientTransport(stdio), false), byTool);
await play('typescript 2, stdio, by form', await connected(new StdioClientTransport(stdio), true), byForm);
await play('typescript 2, HTTP, by tool', await connected(http(), false), byTool);
await play('typescript 2, HTTP, by form', await connected(http(), true), byForm);
