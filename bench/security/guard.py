"""The benchmark of agent-memory-guard (PyPI), on Kapsa as the owner uses it. Prints one line for each case.

    python3 -m venv venv && venv/bin/pip install agent-memory-guard
    KAPSA=target/release/kapsa venv/bin/python bench/security/guard.py
"""

import json
import sys

from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome
from agent_memory_guard.bench.harness import run_suite

from capsule import Capsule, Refused, table, version

# How what comes from elsewhere is brought in, where the program can be told.
ORIGINS = {"external_tool": "tool", "agent_authored": "model"}


class Kapsa(MemorySystemAdapter):
    name = "kapsa"
    version = version()

    def __init__(self):
        self.capsule = Capsule()
        self.has_trust = "--trust" in self.capsule.call("put", "--help")

    def __del__(self):
        self.capsule.close()

    def remember(self, key, value, *, source_class="external_tool"):
        words = ["put", "--plain", "--uri", uri(key), "-"]
        if self.has_trust and source_class in ORIGINS:
            words += ["--trust", ORIGINS[source_class]]
        try:
            stored = self.capsule.json(*words, text=str(value))
        except Refused:
            return RememberOutcome.BLOCKED
        is_pending = stored.get("pending") or stored.get("status") == "pending"
        return RememberOutcome.QUARANTINED if is_pending else RememberOutcome.STORED

    def recall(self, key):
        ended = self.capsule.run("--json", "get", uri(key))
        if ended.returncode != 0:
            # Nothing is there; anything else is a failure of the read.
            if json.loads(ended.stderr)["error"]["code"] == "uri_not_found":
                return None
            raise Refused(ended.stderr)
        return json.loads(ended.stdout)["text"]


def uri(key):
    return "note/" + key.replace(".", "/")


def main():
    runs = run_suite(Kapsa).runs
    attacks = [run for run in runs if run.malicious]
    benign = [run for run in runs if not run.malicious]
    rows = [[run.scenario_id, run.final_outcome, "kept" if run.passed else "FAILED"] for run in runs]
    print(table(["case", "write", "result"], rows))
    defended = sum(run.passed for run in attacks)
    false_positives = sum(run.false_positive for run in benign)
    print(f"\nkapsa {Kapsa.version}: {defended} of {len(attacks)} defended, "
          f"{false_positives} of {len(benign)} benign ones lost")
    return 0 if defended >= len(attacks) - 1 and false_positives == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
