// An MCP server without any library of the protocol: `node server.mjs [--http]`. Over standard input and output it
// reads and writes a message a line; with --http it prints its port and answers POST /mcp, to whoever bears $TOKEN if
// that is set. What it is told beside the requests goes to the file $RECORD, a line each.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const record = (line) => process.env.RECORD && appendFileSync(process.env.RECORD, `${line}\n`);
const text = (said, more = {}) => ({ content: [{ type: 'text', text: said }], ...more });
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const tools = [
    { name: 'echo', description: 'Says it again', inputSchema: schema, annotations: { readOnlyHint: true } },
    { name: 'put', inputSchema: schema, annotations: { idempotentHint: true, destructiveHint: false } },
    { name: 'wipe.all', inputSchema: schema },
    { name: 'fail', inputSchema: schema },
    { name: 'refuse', inputSchema: schema },
    { name: 'hang', inputSchema: schema },
    { name: 'report', inputSchema: schema },
    { name: 'die', inputSchema: schema },
];

// Reports progress until the program ends, and never answers.
const report = (progressToken) => {
    let progress = 0;
    const tell = () => console.log(JSON.stringify({
        jsonrpc: '2.0', method: 'notifications/progress',
        params: { progressToken, progress: ++progress, total: 1000, message: `step ${progress}` },
    }));
    setInterval(tell, 10);
};

// The answer to a request; none if it is never answered.
const answer = ({ method, params }) => {
    switch (method) {
        case 'initialize':
            return { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'test', version: '1' } } };
        // Two pages.
        case 'tools/list':
            return { result: params?.cursor ? { tools: tools.slice(3) } : { tools: tools.slice(0, 3), nextCursor: 'more' } };
        case 'tools/call': {
            record(`call ${params.name} ${params._meta?.['holdover/idempotencyKey']}`);
            switch (params.name) {
                case 'echo': return { result: text(`you said ${params.arguments.text}`) };
                case 'put': return { result: text('put') };
                case 'fail': return { result: text('it is broken', { isError: true }) };
                case 'refuse': return { error: { code: -32602, message: 'no such\nthing' } };
                case 'hang': return undefined;
                case 'report': return report(params._meta.progressToken);
                case 'die': return process.exit(3);
            }
        }
    }
    return { error: { code: -32601, message: `unknown method ${method}` } };
};

const handle = (message) => {
    if (message.id === undefined) { record(`told ${message.method} ${message.params?.reason}`); return undefined; }
    const said = answer(message);
    return said && { jsonrpc: '2.0', id: message.id, ...said };
};

if (process.env.BROKEN) { console.error('I will not\nwork today'); process.exit(1); }
record(`began ${process.pid}`);
if (process.argv[2] === '--http') {
    const server = createServer(async (request, response) => {
        const end = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(body);
        if (process.env.TOKEN && request.headers.authorization !== `Bearer ${process.env.TOKEN}`) return end(401);
        if (request.method !== 'POST') return end(405);
        let body = '';
        for await (const chunk of request) body += chunk;
        const said = handle(JSON.parse(body));
        return said ? end(200, JSON.stringify(said)) : end(202);
    });
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
    process.stdin.resume().on('end', () => process.exit(0));
} else {
    createInterface({ input: process.stdin }).on('line', (line) => {
        const said = handle(JSON.parse(line));
        if (said) console.log(JSON.stringify(said));
    }).on('close', () => process.exit(0));
}
