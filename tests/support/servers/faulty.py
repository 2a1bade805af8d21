"""An MCP server that misbehaves on request; standard library only.

Usage: faulty.py MODE. Modes are faults of the server as a whole, tools are faults of one call.
SERVER_LOG names a file that gets a line for each start, each message and the end of input.
START_COUNTER names a file that counts starts; those listed in FAILING_STARTS ("2,3") exit at once.
INSTRUCTIONS is the JSON of what it says about its use.
In the mode "meet", a server starts only while as many as MEETING_SIZE start in the folder MEETING.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

MODE = sys.argv[1]


def log(**entry: object) -> None:
    if path := os.environ.get("SERVER_LOG"):
        line = json.dumps({"pid": os.getpid(), **entry}) + "\n"
        os.write(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY), line.encode())


def send(**message: object) -> None:
    indent = 2 if MODE == "indented" else None
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, indent=indent) + "\n")
    sys.stdout.flush()


def text(value: str) -> JSONObject:
    return {"content": [{"type": "text", "text": value}]}


def tool(name: str, **properties: object) -> JSONObject:
    return {
        "name": name,
        "description": f"{name} it",
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": {"idempotentHint": True} if name == "die" else {},
    }


# --- tools -----------------------------------------------------------------------------------


def echo(arguments: JSONObject, id_: int) -> JSONObject:
    return text(arguments.get("text", ""))


def environment(arguments: JSONObject, id_: int) -> JSONObject:
    return text(json.dumps(dict(os.environ)))


def where(arguments: JSONObject, id_: int) -> JSONObject:
    return text(str(Path.cwd()))


def hang(arguments: JSONObject, id_: int) -> None:
    pass


def die(arguments: JSONObject, id_: int) -> None:
    sys.stderr.write("fatal: out of cheese\n")
    sys.stderr.flush()
    os._exit(7)


def close_output(arguments: JSONObject, id_: int) -> None:
    os.close(1)


def spawn(arguments: JSONObject, id_: int) -> JSONObject:
    """Start a child that outlives its parent and holds its pipes."""
    child = subprocess.Popen(["sleep", "600"])
    if arguments.get("then") == "die":
        Path(arguments["file"]).write_text(str(child.pid))
        os._exit(7)
    return text(str(child.pid))


def daemonize(arguments: JSONObject, id_: int) -> JSONObject:
    """Start a process that leaves the session, and that nobody is the parent of."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            arguments["held"] = b"\1" * (arguments.get("megabytes", 0) << 20)
            os.write(writing, str(os.getpid()).encode())
            time.sleep(600)
        os._exit(0)
    os.wait()
    stray = os.read(reading, 20).decode()
    if arguments.get("then") == "die":
        Path(arguments["file"]).write_text(stray)
        os._exit(7)
    return text(stray)


def huge(arguments: JSONObject, id_: int) -> JSONObject:
    return text("x" * arguments["size"])


def fail(arguments: JSONObject, id_: int) -> JSONObject:
    return {**text("the lamp is broken"), "isError": True}


def refuse(arguments: JSONObject, id_: int) -> None:
    send(id=id_, error={"code": -32602, "message": "arguments are wrong"})


def refuse_generic(arguments: JSONObject, id_: int) -> None:
    send(id=id_, error={"code": -32000, "message": "backend unavailable"})


def bad_reply(arguments: JSONObject, id_: int) -> None:
    sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {id_}, "result": {{,}}}}\n')
    sys.stdout.flush()


def rich(arguments: JSONObject, id_: int) -> JSONObject:
    resource = {"uri": "file:///a.md", "mimeType": "text/markdown", "text": "y" * 5000}
    return {
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "data": "AAAA" * 1000, "mimeType": "image/png"},
            {"type": "resource", "resource": resource},
        ]
    }


def structured(arguments: JSONObject, id_: int) -> JSONObject:
    return {**text("42 degrees"), "structuredContent": {"degrees": 42}}


def meet(arguments: JSONObject, id_: int) -> JSONObject:
    """Answer once as many servers as ``size`` are here at the same time."""
    met = gather(arguments["folder"], arguments["size"])
    return {**text("met" if met else "nobody came"), "isError": not met}


def change_list(arguments: JSONObject, id_: int) -> JSONObject:
    send(method="notifications/tools/list_changed")
    return text("changed")


TOOLS = {
    f.__name__: f
    for f in (
        echo,
        environment,
        where,
        hang,
        die,
        close_output,
        spawn,
        daemonize,
        huge,
        fail,
        refuse,
        refuse_generic,
        bad_reply,
        rich,
        structured,
        meet,
        change_list,
    )
}


# --- the protocol ----------------------------------------------------------------------------


def initialize(params: JSONObject) -> JSONObject:
    version = {"oldproto": "2024-11-05", "badproto": "1999-01-01"}.get(MODE, "2025-11-25")
    if MODE == "badinit":
        return {"hello": "world"}
    info = {"name": "faulty", "version": "1.0"}
    instructions = json.loads(os.environ.get("INSTRUCTIONS", "null"))
    about = {} if instructions is None else {"instructions": instructions}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info, **about}


def list_tools(params: JSONObject) -> JSONObject:
    cursor = params.get("cursor")
    if MODE == "paged":
        page = int(cursor or 0)
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        return {"tools": [tool(f"tool{page}a"), tool(f"tool{page}b")], **more}
    if MODE in ("loopcursor", "lostpage"):
        return {"tools": [tool("echo")], "nextCursor": "again"}
    if MODE == "badtools":
        wrong = [
            {"name": "noschema"},
            {"name": "badschema", "inputSchema": "no"},
            {"description": "nameless"},
        ]
        odd = [{"name": "emptyschema", "inputSchema": {}}, 7, tool("echo", text={"type": "string"})]
        return {"tools": wrong + odd + [tool("echo")]}
    return {"tools": [tool(name) for name in TOOLS]}


def answer(message: JSONObject) -> None:
    method, id_, params = message.get("method"), message.get("id"), message.get("params") or {}
    if id_ is None or method is None:
        return
    if method == "initialize":
        send(id=id_, result=initialize(params))
    elif method == "tools/list" and (MODE == "toolless" or (MODE == "lostpage" and params)):
        send(id=id_, error={"code": -32601, "message": "Method not found"})
    elif method == "tools/list":
        send(id=id_, result=list_tools(params))
    elif method == "tools/call":
        result = TOOLS[params["name"]](params.get("arguments") or {}, id_)
        if result is not None:
            send(id=id_, result=result)
    else:
        send(id=id_, error={"code": -32601, "message": "Method not found"})


def count_start() -> None:
    path = os.environ.get("START_COUNTER")
    if path is None:
        return
    counter = Path(path)
    counter.write_text((counter.read_text() if counter.exists() else "") + "x")
    start = counter.stat().st_size
    if str(start) in os.environ["FAILING_STARTS"].split(","):
        sys.exit(f"start {start} fails as told")


def gather(folder: str, size: int) -> bool:
    Path(folder, str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len([*Path(folder).iterdir()]) < size:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def main() -> None:
    log(event="start")
    count_start()
    if MODE == "exit3":
        sys.stderr.write(
            "fatal: missing API key, got " + os.environ.get("DEMO_API_KEY", "none") + "\n"
        )
        sys.exit(3)
    if MODE == "meet" and not gather(os.environ["MEETING"], int(os.environ["MEETING_SIZE"])):
        sys.exit("nobody came")
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "garbage":
        print("Welcome to the faulty server!\n{\n[1, 2]\n")
    for line in sys.stdin:
        message = json.loads(line)
        log(event="message", method=message.get("method"), params=message.get("params"))
        if MODE == "garbage":
            print("DEBUG got", message.get("method"), "\x00\x1b[31m")
        if MODE != "mute" and MODE != "stubbornmute":
            answer(message)
    log(event="end of input")
    while MODE in ("deaf", "stubborn"):
        time.sleep(60)


main()
