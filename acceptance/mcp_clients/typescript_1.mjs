// The TypeScript SDK of generation 1 (@modelcontextprotocol/sdk), which speaks the protocol of 2025.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { APPROVE, byForm, byTool, byToolInstead } from './job.mjs';
import { play, stdio, url, headers } from './play.mjs';

async function connected(transport) {
    const client = new Client({ name: 'acceptance', version: '1' }, { capabilities: { elicitation: {} } });
    const asked = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        asked.push(params.message);
        return APPROVE;
    });
    await client.connect(transport);
    return { client, asked: () => asked };
}

// Forms are asked for with requests to the client, so the client that decides by tools shows none.
async function plain(transport) {
    const client = new Client({ name: 'acceptance', version: '1' });
    await client.connect(transport);
    return { client };
}

const http = () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
await play('typescript 1, stdio, by tool', await plain(new StdioClientTransport(stdio)), byTool);
await play('typescript 1, stdio, by form', await connected(new StdioClientTransport(stdio)), byForm);
await play('typescript 1, HTTP, by tool', await plain(http()), byTool);
await play('typescript 1, HTTP, no form', await connected(http()), byToolInstead);
