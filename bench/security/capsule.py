"""A capsule in a temporary folder, driven by the program `kapsa`. Knows nothing of what is tried on it."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAM = os.environ.get("KAPSA", "kapsa")


class Refused(Exception):
    """A call that ended with an error."""


class Capsule:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kapsa-security-"))
        self.path = self.folder / ".kapsa" / "workspace.kapsa"
        self.home = self.folder / "home"
        self.home.mkdir()
        self.call("init")

    def environment(self, home):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KAPSA")}
        return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}

    def run(self, *words, text=None, home=None):
        """The call as it ended."""
        return subprocess.run(
            [PROGRAM, *words],
            cwd=self.folder,
            env=self.environment(home or self.home),
            input=text if text is not None else "",
            capture_output=True,
            text=True,
            check=False,
        )

    def call(self, *words, text=None, home=None):
        """What a call printed; `Refused` with what it said when it failed."""
        ended = self.run(*words, text=text, home=home)
        if ended.returncode != 0:
            raise Refused(ended.stderr.strip() or ended.stdout.strip())
        return ended.stdout

    def json(self, *words, **more):
        lines = [json.loads(line) for line in self.call("--json", *words, **more).splitlines() if line]
        return lines[0] if len(lines) == 1 else lines

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def version():
    ended = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    return ended.stdout.strip().removeprefix("kapsa ")


def table(head, rows):
    """Lines of a Markdown table."""
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in [head, ["---"] * len(head), *rows])
