// The official TypeScript SDK of the Model Context Protocol as a client of Pollux: says what it hears, one line each.
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [sdk, plan] = process.argv.slice(2);
const { transport: kind, url, token, program, socket, cwd, calls } = JSON.parse(plan);
const load = (file) => import(pathToFileURL(join(sdk, 'dist/esm/client', file)).href);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function transport() {
  if (kind === 'http') {
    const { StreamableHTTPClientTransport } = await load('streamableHttp.js');
    const headers = { Authorization: `Bearer ${token}` };
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }
  const { StdioClientTransport } = await load('stdio.js');
  const env = { ...process.env, POLLUX_SOCKET: socket };
  return new StdioClientTransport({ command: program, args: ['mcp'], env, cwd });
}

const { Client } = await load('index.js');
const client = new Client({ name: 'a-client', version: '1.0.0' });
await client.connect(await transport());
say({ at: 'server', server: client.getServerVersion() });
const { tools } = await client.listTools();
say({ at: 'tools', names: tools.map((tool) => tool.name).sort() });
for (const [name, args, timeout] of calls) {
  const onprogress = (progress) => say({ at: 'progress', name, progress });
  const options = timeout ? { timeout } : { timeout: 120_000, onprogress };
  try {
    say({ at: 'result', name, result: await client.callTool({ name, arguments: args }, undefined, options) });
  } catch (error) {
    say({ at: 'error', name, message: String(error.message) });
  }
}
await client.close();
