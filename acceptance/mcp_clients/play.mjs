// The server that is played with, and a play.
import assert from 'node:assert/strict';

const { HOLDOVER, STAGE, MCP_URL, TOKEN } = process.env;

// The store is that of `holdover serve`, and each process has a worker.
export const stdio = { command: HOLDOVER, args: ['mcp', 'agent.toml', '--as', 'ann'], cwd: STAGE, stderr: 'ignore' };
export const url = MCP_URL;
export const headers = { authorization: `Bearer ${TOKEN}` };

export async function play(name, { client, asked }, job) {
    // The client compares the content of each answer with the schema of its tool once it knows the tools.
    const { tools } = await client.listTools();
    assert.ok(tools.every((tool) => tool.title && tool.description && tool.outputSchema && tool.annotations));
    const call = async (name, args) => {
        const result = await client.callTool({ name, arguments: args });
        assert.ok(!result.isError, JSON.stringify(result.content));
        return result.structuredContent;
    };
    await job(call, asked);
    await client.close();
    console.log(`played: ${name}`);
}
