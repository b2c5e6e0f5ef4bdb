# An editor made with the protocol's SDK for Python. What it hears and what it is asked, it prints, one JSON object on each line.
import asyncio
import json
import os
import sys

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse


def say(at, **it):
    print(json.dumps({"at": at, **it}), flush=True)


def plain(model):
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


class Editor(acp.Client):
    async def session_update(self, session_id, update, **_):
        say("update", update=plain(update))

    async def request_permission(self, options, session_id, tool_call, **_):
        say("asked", title=tool_call.title)
        once = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=once.option_id))


async def main(exe, cwd):
    async with acp.spawn_agent_process(Editor(), exe, "acp", env=dict(os.environ)) as (agent, _):
        say("answer", step="initialize", answer=plain(await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)))
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("edit the greeting")])
        say("answer", step="prompt", answer=plain(answer))
        listed = await agent.list_sessions(cwd=cwd)
        say("answer", step="list", answer=plain(listed), session=session.session_id)
        await agent.close_session(session_id=session.session_id)


asyncio.run(main(*sys.argv[1:]))
