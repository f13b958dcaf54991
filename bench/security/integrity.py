"""The attacks of agent-memory-integrity (PyPI) on Kapsa: nine on the file, six through the program.

    python3 -m venv venv && venv/bin/pip install agent-memory-integrity
    KAPSA=target/release/kapsa venv/bin/python bench/security/integrity.py

Who attacks the file has no key. Where that is the strongest attack, it puts an older copy of the file in place, or goes on
writing to the true one; else it writes a whole new file with the program, whose checksums and chain are right.
"""

import json
import shutil
import sys

from agmi.adapters.base import MemoryAdapter, Record
from agmi.adapters.semantic_base import Retrieved, SemanticMemoryAdapter
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS
from agmi.signing import KEYRING

from capsule import Capsule, Refused, table, version

OWN, OTHER = "own", "other"


class AtRest(MemoryAdapter):
    """The file, with signed commits and an anchor that is kept elsewhere."""

    name = "kapsa"
    detection_point = "audit"
    supports_replay = supports_metadata = supports_snapshot = True

    def setup(self):
        self.capsule = Capsule()
        self.stranger = self.capsule.folder / "stranger"
        self.stranger.mkdir()
        self.copies = []
        made = self.capsule.json("key", "init")
        self.key = next(made[name] for name in ("public_key", "public", "key") if name in made)
        self._note()

    def teardown(self):
        self.capsule.close()

    def _note(self):
        """Keeps the newest hash of the chain, and a copy that the attacker may have made by then."""
        self.anchor = self.capsule.json("stats")["chain"]
        copy = self.capsule.folder / f"copy-{len(self.copies)}"
        shutil.copy2(self.capsule.path, copy)
        self.copies.append(copy)

    def _put(self, context, number, text):
        self.capsule.json("put", "--uri", f"{context}/{number}", "--text", text, "--agent", context)
        self._note()

    def seed(self, n):
        for number in range(n):
            self._put(OWN, number, f"{OWN} entry {number}")

    def seed_other(self, n):
        for number in range(n):
            self._put(OTHER, number, f"{OTHER} entry {number}")

    def append_genuine(self):
        self._put(OWN, 1000, f"{OWN} late entry")

    # What the attacker reads and writes.

    def _everything(self):
        return self.capsule.json("timeline", "--limit", "100000")["records"]

    def _records(self, context):
        mine = [entry for entry in self._everything() if f"/{context}/" in entry["uri"]]
        return [Record(seq, {"id": entry["uri"], "text": entry["text"], "agent": entry.get("agent", ""),
                             "created_at": entry["created_at"], "tags": entry.get("tags", {})})
                for seq, entry in enumerate(mine)]

    def read_all_raw(self):
        return self._records(OWN)

    def read_other_raw(self):
        return self._records(OTHER)

    def _rewrite(self, own):
        """A new file with these records in the place of the first context's, by the stranger."""
        lines = []
        for record in own + self._records(OTHER):
            fields = dict(record.fields)
            lines.append(json.dumps({"uri": fields.pop("id"), **fields}))
        new = self.capsule.folder / "new.kapsa"
        new.unlink(missing_ok=True)
        self.capsule.call("create", str(new), home=self.stranger)
        self.capsule.call("--capsule", str(new), "put", "-", "--batch", "1", text="\n".join(lines), home=self.stranger)
        shutil.move(new, self.capsule.path)

    def write_raw(self, record):
        own = self.read_all_raw()
        if record.seq == len(own):
            self.capsule.call("put", "--uri", f"{OWN}/{record.seq}", "--text", record.fields["text"], "--agent", OWN,
                              home=self.stranger)
            return
        own[record.seq].fields.update({**record.fields, "id": own[record.seq].fields["id"]})
        self._rewrite(own)

    def delete_raw(self, seq):
        own = self.read_all_raw()
        if seq == len(own) - 1:
            self.copies.pop()
            shutil.copy2(self.copies[-1], self.capsule.path)
            return
        del own[seq]
        self._rewrite(own)

    def replay_onto(self, victim_seq, donor):
        own = self.read_all_raw()
        own[victim_seq].fields["text"] = donor.fields["text"]
        self._rewrite(own)

    def read_meta(self, seq):
        fields = self.read_all_raw()[seq].fields
        return {"agent": fields["agent"], "created_at": fields["created_at"], **fields["tags"]}

    def write_meta(self, seq, meta):
        own, tags = self.read_all_raw(), dict(meta)
        fields = own[seq].fields
        fields["agent"], fields["created_at"] = tags.pop("agent"), tags.pop("created_at")
        fields["tags"] = {name: str(value) for name, value in tags.items()}
        self._rewrite(own)

    def snapshot_store(self):
        return self._copy_store(self.capsule.path)

    def restore_store(self, token):
        self._restore_store(token, self.capsule.path)

    # What the suite compares.

    def identity_of(self, record):
        return record.fields["id"]

    def payload_of(self, record):
        return record.fields["text"]

    def owner_of(self, record):
        return record.fields["id"].split("/")[-2]

    def mutate_payload(self, record):
        record.fields["text"] += " [changed]"
        return record

    def forge_record(self, template):
        return Record(template.seq + 1, {**template.fields, "text": "a forged entry"})

    def reload(self):
        pass

    def verify(self):
        ended = self.capsule.run("verify", "--trust", self.key, "--expect-chain", self.anchor)
        self.verify_detail = (ended.stderr or ended.stdout).strip().splitlines()[0] if ended.returncode else None
        return ended.returncode == 0


class Through(SemanticMemoryAdapter):
    """The program: each user is a domain and a principal. What does not carry the user's signature is written by another
    principal, and what a user asks is asked of what its own agent wrote."""

    name = "kapsa"
    OUTSIDER = "outsider"

    def __init__(self):
        self.capsule = None

    def reset(self):
        self.close()
        self.capsule = Capsule()
        self.users = set()

    def close(self):
        if self.capsule:
            self.capsule.close()

    def _know(self, user):
        if user not in self.users:
            self.users.add(user)
            self.capsule.call("clearance", "set", user, f"{user}=internal")
            domains = [f"{known}=internal" for known in sorted(self.users)]
            self.capsule.call("clearance", "set", self.OUTSIDER, *domains)

    def add_memory(self, item):
        self._know(item.user_id)
        is_signed = KEYRING.verify(item.user_id, item.source, item.text, item.signature)
        principal = item.user_id if is_signed else self.OUTSIDER
        tags = [word for name, value in item.metadata.items() for word in ("--tag", f"{name}={value}")]
        try:
            self.capsule.call("put", "--text", item.text, "--domain", item.user_id, "--agent", principal, *tags,
                              "--as", principal)
        except Refused:
            pass  # Nothing was stored, which is a defence; the suite asks what comes back.

    def retrieve(self, query, user_id, k=5):
        return self.retrieve_where(query, user_id, {}, k)

    def retrieve_where(self, query, user_id, where, k=5):
        self._know(user_id)
        tags = [word for name, value in where.items() for word in ("--tag", f"{name}={value}")]
        found = self.capsule.json("find", query, "-k", str(k), "--full", "--agent", user_id, *tags, "--as", user_id)
        return [Retrieved(hit["text"], hit.get("domain", ""), hit["score"]) for hit in found["hits"]]

    def measured_on(self):
        return f"kapsa {version()}, the bundled model, find --agent"


def main():
    rows, detected, kept = [], 0, 0
    for attack in AT_REST_ATTACKS_WITH_SNAPSHOT:
        result = attack().run(AtRest())
        detected += result.error is None and result.detected
        rows.append([result.attack, "file", result.status, result.error or result.detail])
    through = Through()
    for attack in ALL_MEMORY_ATTACKS:
        result = attack().run(through)
        kept += result.error is None and result.safe
        rows.append([result.attack, "program", result.status, result.error or result.detail])
    through.close()
    print(table(["attack", "on", "result", "detail"], rows))
    print(f"\nkapsa {version()}: {detected} of {len(AT_REST_ATTACKS_WITH_SNAPSHOT)} on the file noticed, "
          f"{kept} of {len(ALL_MEMORY_ATTACKS)} through the program kept out")
    return 0 if detected == len(AT_REST_ATTACKS_WITH_SNAPSHOT) and kept >= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
