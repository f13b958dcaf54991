"""The reference memory server of the Model Context Protocol: each worker starts a server of its own on one MEMORY_FILE_PATH,
as every client does, and makes one entity a call. SERVER_FOLDER in the environment is where the package is installed.
"""

import json
import os
import subprocess

import peer

PACKAGE = os.path.join(os.environ["SERVER_FOLDER"], "node_modules", "@modelcontextprotocol", "server-memory")


class Server:
    def __init__(self, path):
        command = ["node", os.path.join(PACKAGE, "dist", "index.js")]
        environment = dict(os.environ, MEMORY_FILE_PATH=os.path.abspath(path))
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.calls = 0
        client = {"name": "comparison", "version": "1"}
        self.call("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, method, parameters):
        self.calls += 1
        self.send({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": parameters})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.calls:
                if "error" in message:
                    raise RuntimeError(message["error"].get("message"))
                return message["result"]
        raise RuntimeError("the server ended")

    def tool(self, name, arguments):
        result = self.call("tools/call", {"name": name, "arguments": arguments})
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise RuntimeError(text)
        return json.loads(text)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def version():
    with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as manifest:
        return json.load(manifest)["version"]


def write(path, worker, count):
    server = Server(path)

    def put(name, text):
        made = server.tool("create_entities", {"entities": [{"name": name, "entityType": "note", "observations": [text]}]})
        if name not in json.dumps(made):
            raise RuntimeError(f"not made: {made}")

    peer.write(worker, count, put, lambda error: False)
    server.close()


def read(path):
    server = Server(path)
    graph = server.tool("read_graph", {})
    peer.read((entity["name"], "".join(entity["observations"])) for entity in graph["entities"])
    server.close()


peer.main(version, lambda path: None, write, read)
