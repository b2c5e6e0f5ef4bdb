"""A program made for Claude's Agent SDK for Python: three turns, a callback, an interrupt, another model and mode."""

import asyncio
import dataclasses
import json
import sys

import claude_agent_sdk as sdk

exe, what = sys.argv[1:]


def show(at, **it):
    print(json.dumps({"at": at, **it}, default=lambda o: dataclasses.asdict(o) if dataclasses.is_dataclass(o) else str(o)))


def kind(message):
    return type(message).__name__


async def ask(name, given, context):
    show("asked", name=name, input=given)
    if what == "deny":
        return sdk.PermissionResultDeny(message="Use the other file instead.")
    return sdk.PermissionResultAllow()


async def once():
    options = sdk.ClaudeAgentOptions(cli_path=exe, include_partial_messages=True)
    async for message in sdk.query(prompt="hello", options=options):
        show("message", kind=kind(message), message=message)


async def talk():
    options = sdk.ClaudeAgentOptions(cli_path=exe, can_use_tool=ask)
    async with sdk.ClaudeSDKClient(options) as client:
        prompts = ["edit the greeting"] if what in ("allow", "deny") else ["hello one", "hello two", "hello three"]
        for prompt in prompts:
            await client.query(prompt)
            async for message in client.receive_response():
                show("message", kind=kind(message), message=message)
            if what == "turns":
                await client.set_permission_mode("plan")
                await client.set_model("gemini-2.5-flash")
        if what == "turns":
            try:
                await client.set_permission_mode("auto")
            except Exception as error:
                show("error", message=str(error))


async def tool():
    @sdk.tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(given):
        show("called", given=given)
        return {"content": [{"type": "text", "text": f"The sum is {given['a'] + given['b']:g}."}]}

    server = sdk.create_sdk_mcp_server("calc", "1.0.0", [add])
    options = sdk.ClaudeAgentOptions(cli_path=exe, mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"])
    async with sdk.ClaudeSDKClient(options) as client:
        await client.query("add 2 and 3")
        async for message in client.receive_response():
            show("message", kind=kind(message), message=message)


asyncio.run({"once": once, "tool": tool}.get(what, talk)())
