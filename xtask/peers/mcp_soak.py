"""Calls a memory over MCP for long, from many clients, and kills clients and the server on the way.

Reads a line of JSON on standard input: program, folder, calls, clients, kills. Writes a line of JSON: calls made,
writes acknowledged, writes lost, memory in KiB as it went, milliseconds of calls. Standard library only.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

PATIENCE = 60


class Http:
    """A client of the server over HTTP, without a session: each request stands alone."""

    def __init__(self, port, token):
        self.port, self.token, self.number = port, token, 0
        self.connection = None

    def call(self, tool, arguments):
        self.number += 1
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params})
        headers = {
            "Authorization": "Bearer " + self.token,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            self.connection.request("POST", "/mcp", body, headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except Exception:
            self.close()
            raise
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}: {text[:200]}")
        lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")] or [text]
        message = json.loads([line for line in lines if line][-1])
        return message["result"]

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Pipes:
    """A server of one client's own, over pipes."""

    def __init__(self, program, folder):
        self.child = subprocess.Popen(
            [program, "mcp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.number = 0
        greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        self.ask("initialize", greeting)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.child.stdout.readline()
            if not line:
                raise RuntimeError("the server ended")
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                return message["result"]

    def call(self, tool, arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self):
        self.child.kill()
        self.child.wait()


def resident(pid):
    """The process's own memory, in KiB: pages of the capsule, which grows, are the system's to take back."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    return 0


class Soak:
    def __init__(self, told):
        self.program, self.folder = told["program"], told["folder"]
        self.calls, self.clients, self.kills = told["calls"], told["clients"], told["kills"]
        self.port = told.get("port", 8791)
        self.lock = threading.Lock()
        self.made, self.acknowledged, self.times, self.memory = 0, set(), [], []
        self.server, self.begun = None, threading.Event()

    def start(self):
        token = os.path.join(self.folder, "token")
        command = [self.program, "mcp", "--http", f"127.0.0.1:{self.port}", "--token-file", token]
        self.server = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.server.stderr.readline()
        with open(token) as file:
            self.token = file.read().strip()
        self.begun.set()

    def work(self, number):
        chance = random.Random(number)
        over_http = number % 2 == 0
        door = None
        while True:
            with self.lock:
                if self.made >= self.calls:
                    break
                self.made += 1
                call = self.made
            try:
                if door is None:
                    self.begun.wait()
                    door = Http(self.port, self.token) if over_http else Pipes(self.program, self.folder)
                text = f"call {call} of client {number} about subject{chance.randrange(1000)}"
                writes = chance.random() < 0.1
                arguments = {"text": text, "uri": f"note/soak-{call}"} if writes else {"query": f"subject{chance.randrange(1000)}"}
                begin = time.perf_counter()
                result = door.call("memory_write" if writes else "memory_search", arguments)
                took = (time.perf_counter() - begin) * 1000
                if result.get("isError"):
                    raise RuntimeError(result["content"][0]["text"])
                with self.lock:
                    self.times.append(took)
                    if writes:
                        self.acknowledged.add(f"note/soak-{call}")
                if not over_http and chance.random() < self.kills / 1000:
                    door.close()
                    door = None
            except (OSError, RuntimeError, http.client.HTTPException, KeyError, ValueError):
                if door is not None:
                    door.close()
                    door = None
                time.sleep(0.05)
        if door is not None:
            door.close()

    def watch(self):
        """Notes the server's memory, and kills it now and then."""
        chance, alive = random.Random(0), 0
        while self.made < self.calls:
            time.sleep(0.5)
            alive += 1
            if self.server.poll() is None:
                self.memory.append((alive, resident(self.server.pid)))
            if self.kills and chance.random() < self.kills / 500:
                self.begun.clear()
                self.server.send_signal(signal.SIGKILL)
                self.server.wait()
                self.memory.append((0, 0))
                alive = 0
                self.start()

    def run(self):
        self.start()
        threads = [threading.Thread(target=self.work, args=(number,)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        self.watch()
        for thread in threads:
            thread.join()
        self.server.terminate()
        self.server.wait()
        listed = subprocess.run(
            [self.program, "timeline", "--limit", "1000000", "--json"], cwd=self.folder, capture_output=True, check=True
        )
        stored = {record["uri"].split("/", 3)[-1] for record in json.loads(listed.stdout)["records"]}
        lost = sorted(self.acknowledged - stored)
        times = sorted(self.times)
        part = lambda share: round(times[min(len(times) - 1, int(len(times) * share))], 2) if times else None
        # After the first tenth of a life: what is opened once is opened by then.
        lives, life = [], []
        for alive, kib in self.memory + [(0, 0)]:
            if alive == 0:
                if len(life) > 20:
                    lives.append(life)
                life = []
            else:
                life.append(kib)
        longest = max(lives, key=len, default=life)
        settled = longest[len(longest) // 10 :] or [0]
        half = len(settled) // 2 or 1
        median = lambda values: sorted(values)[len(values) // 2] if values else 0
        print(
            json.dumps(
                {
                    "calls": self.made,
                    "answered": len(times),
                    "acknowledged": len(self.acknowledged),
                    "lost": len(lost),
                    "lives": len(lives),
                    "resident_kib_first_half": median(settled[:half]),
                    "resident_kib_second_half": median(settled[half:]),
                    "ms_p50": part(0.5),
                    "ms_p99": part(0.99),
                }
            )
        )
        sys.exit(1 if lost else 0)


Soak(json.loads(sys.stdin.readline())).run()
