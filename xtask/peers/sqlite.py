"""SQLite as its documentation says for many writers: a busy timeout, synchronous=FULL. Each put opens a connection,
inserts, closes.

JOURNAL_MODE in the environment chooses `wal` or `delete` (the rollback journal).
"""

import os
import sqlite3
from contextlib import closing

import peer


def connect(path):
    connection = sqlite3.connect(path, timeout=peer.TIMEOUT, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def init(path):
    with closing(connect(path)) as connection:
        mode = os.environ["JOURNAL_MODE"]
        got = connection.execute(f"PRAGMA journal_mode={mode}").fetchone()[0]
        assert got == mode, got
        # No key: a record that is put twice must show.
        connection.execute("CREATE TABLE records (name TEXT NOT NULL, text TEXT NOT NULL)")


def write(path, worker, count):
    def put(name, text):
        with closing(connect(path)) as connection:
            connection.execute("INSERT INTO records VALUES (?, ?)", (name, text))

    def locked(error):
        return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)

    peer.write(worker, count, put, locked)


def read(path):
    with closing(connect(path)) as connection:
        peer.read(connection.execute("SELECT name, text FROM records"))


peer.main(lambda: sqlite3.sqlite_version, init, write, read)
