// The sessions of a directory, as Claude's own SDK lists and reads them.
const [sdk, dir] = process.argv.slice(2);
const { listSessions, getSessionMessages } = await import(sdk);
for (const session of await listSessions({ dir })) {
  const messages = await getSessionMessages(session.sessionId, { dir });
  console.log(JSON.stringify({ ...session, types: messages.map((message) => message.type) }));
}
