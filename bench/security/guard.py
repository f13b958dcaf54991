"""The benchmark of agent-memory-guard (PyPI), on Kapsa as the owner uses it. Prints one line for each case.

    python3 -m venv venv && venv/bin/pip install agent-memory-guard
    KAPSA=target/release/kapsa venv/bin/python bench/security/guard.py
"""

import json
import sys

from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome
from agent_memory_guard.bench.harness import run_suite

from capsule import Capsule, Refused, table, version

# How far what comes from elsewhere is trusted; what the user says is the owner's.
ORIGINS = {"external_tool": "tool", "agent_authored": "model"}
# What no tool may say without a review, in the second of the two runs.
PROTECTED = ["identity", "system"]


class Kapsa(MemorySystemAdapter):
    """As it comes. The first part of a key is the domain."""

    name = "kapsa"
    version = version()
    protected = ()

    def __init__(self):
        self.capsule = Capsule()
        for domain in self.protected:
            self.capsule.call("review", "rule", "review", "--domain", domain, "--of-trust", "tool")

    def __del__(self):
        self.capsule.close()

    def remember(self, key, value, *, source_class="external_tool"):
        words = ["put", "--plain", "--uri", uri(key), "--domain", key.split(".")[0], "-"]
        if source_class in ORIGINS:
            words += ["--trust", ORIGINS[source_class]]
        try:
            self.capsule.json(*words, text=str(value))
        except Refused as refused:
            held = "held_for_review" in str(refused)
            return RememberOutcome.QUARANTINED if held else RememberOutcome.BLOCKED
        return RememberOutcome.STORED

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


class WithRules(Kapsa):
    """With a rule of the owner for each protected domain."""

    protected = PROTECTED


def main():
    alone, ruled = run_suite(Kapsa).runs, run_suite(WithRules).runs
    result = lambda run: "as it must be" if run.passed else "FAILED"
    rows = [[one.scenario_id, one.final_outcome, result(one), two.final_outcome, result(two)]
            for one, two in zip(alone, ruled)]
    print(table(["case", "as it comes", "result", "with rules", "result"], rows))
    for name, runs in [("as it comes", alone), ("with rules", ruled)]:
        attacks = [run for run in runs if run.malicious]
        benign = [run for run in runs if not run.malicious]
        defended, lost = sum(run.passed for run in attacks), sum(run.false_positive for run in benign)
        print(f"\nkapsa {Kapsa.version}, {name}: {defended} of {len(attacks)} defended, "
              f"{lost} of {len(benign)} benign ones lost")
    return 0 if defended >= len(attacks) - 1 and lost == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
