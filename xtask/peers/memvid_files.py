"""Memvid's SDK for Python: `write FILE` writes documents and a card, and says what they are; `read FILE WORD` says what
documents are in it, and what the word finds."""

import json
import sys

import memvid_sdk

TEXTS = {"Port": "The database\nlistens on port 5433.", "Plain": "The badger sleeps."}


def write(path):
    memory = memvid_sdk.create(path)
    memory.put(
        title="Port",
        label="note",
        labels=["ops"],
        tags=["alpha"],
        text=TEXTS["Port"],
        uri="mv2://notes/port",
        metadata={"author": "ann", "n": 3},
    )
    memory.put(title="Plain", label="doc", text=TEXTS["Plain"])
    memory.add_memory_cards([{"entity": "Ann", "slot": "employer", "value": "Acme", "kind": "fact"}])
    memory.close()
    with memvid_sdk.use("basic", path, read_only=True) as memory:
        documents = [memory.frame(entry["uri"]) for entry in memory.timeline(limit=100)]
    told = []
    for document in documents:
        metadata = {
            name: json.loads(value)
            for name, value in document.get("extra_metadata", {}).items()
            if name != "extractous_metadata"
        }
        title = document["title"]
        told.append({"title": title, "text": TEXTS[title], "labels": document["labels"], "metadata": metadata})
    print(json.dumps(told))


def read(path, word):
    with memvid_sdk.use("basic", path, read_only=True) as memory:
        documents = []
        for entry in memory.timeline(limit=100):
            document = memory.frame(entry["uri"])
            documents.append(
                {
                    "uri": document["uri"],
                    "title": document["title"],
                    "labels": document["labels"],
                    "metadata": document.get("extra_metadata", {}),
                    "text": memory.blob(document["uri"]).decode(),
                }
            )
        hits = [{"title": hit["title"], "text": hit["text"]} for hit in memory.find(word)["hits"]]
    print(json.dumps({"documents": documents, "hits": hits}))


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    read(sys.argv[2], sys.argv[3])
