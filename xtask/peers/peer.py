"""How is a peer driven? Every script here answers the same four calls.

    version                     print the versions of what is tried
    init PATH                   make an empty store
    write PATH WORKER COUNT     print "ready", wait for a line, put COUNT records, print what came of each
    read PATH                   print "have NAME" for every record that is there with its contents

A put prints "acknowledged NAME", "refused NAME" (a lock, for longer than TIMEOUT) or "failed NAME why".
"""

import sys
import time

TIMEOUT = 10.0
FILLER = " ".join(["remember the staging port and the lock of the writer"] * 6)


def text_of(name):
    return f"{name} {FILLER}"


def write(worker, count, put, locked):
    """Puts with `put(name, text)`, again for as long as `locked(error)` says that nothing was written."""
    print("ready", flush=True)
    sys.stdin.readline()
    for index in range(count):
        name = f"w{worker}/{index}"
        print(write_one(name, put, locked), flush=True)


def write_one(name, put, locked):
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            put(name, text_of(name))
            return f"acknowledged {name}"
        except Exception as error:
            if not locked(error):
                return f"failed {name} {type(error).__name__}: {error}".replace("\n", " ")
            if time.monotonic() > deadline:
                return f"refused {name}"
            time.sleep(0.005)


def read(records):
    """Prints the names of those (name, text) whose text is the one that was put."""
    for name, text in records:
        if text == text_of(name):
            print(f"have {name}")


def main(version, init, write_all, read_all):
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb == "version":
        print(version())
    elif verb == "init":
        init(arguments[0])
    elif verb == "write":
        write_all(arguments[0], arguments[1], int(arguments[2]))
    elif verb == "read":
        read_all(arguments[0])
    else:
        sys.exit(f"unknown call {verb}")
