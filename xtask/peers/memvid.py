"""memvid as its package's page says: a `with` around each put, which closes the file, and the lock's timeout of the
others. What was closed without an error is acknowledged."""

import importlib.metadata

import memvid_sdk
import peer


def init(path):
    memvid_sdk.create(path).close()


def write(path, worker, count):
    def put(name, text):
        with memvid_sdk.use("basic", path, mode="open", lock_timeout_ms=int(peer.TIMEOUT * 1000)) as memory:
            memory.put(title=name, label="note", text=text, uri=f"mv2://{name}")

    peer.write(worker, count, put, lambda error: isinstance(error, memvid_sdk.LockedError))


def read(path):
    with memvid_sdk.use("basic", path, read_only=True) as memory:
        for entry in memory.timeline(limit=1_000_000):
            name = entry["uri"].removeprefix("mv2://")
            # The preview is cut; its beginning names the record.
            if entry["preview"].startswith(f"{name} "):
                print(f"have {name}")


peer.main(lambda: importlib.metadata.version("memvid-sdk"), init, write, read)
