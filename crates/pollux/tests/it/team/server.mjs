// An MCP server of somebody's own, made with the official TypeScript SDK: it can add.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [sdk] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(sdk, 'dist/esm', file)).href);
const { Server } = await load('server/index.js');
const { StdioServerTransport } = await load('server/stdio.js');
const { CallToolRequestSchema, ListToolsRequestSchema } = await load('types.js');

const number = { type: 'number' };
const inputSchema = { type: 'object', properties: { a: number, b: number } };
const server = new Server({ name: 'calc', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'add', description: 'Adds', inputSchema }] }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: 'text', text: `the sum is ${params.arguments.a + params.arguments.b}` }],
}));
await server.connect(new StdioServerTransport());
