//! Databases that take too much. A process of its own: the limit of memory is one of the process.

use kapsa_ingest::sessions;
use rusqlite::Connection;

#[test]
fn a_database_that_takes_too_much_is_an_error_that_says_so() {
    let root = tempfile::tempdir().expect("a folder");
    let tables = "CREATE TABLE message(id, session_id, time_created INT, data TEXT);
        CREATE TABLE part(id, message_id, data TEXT); INSERT INTO session(id) VALUES ('s');";
    let computed = "CREATE TABLE session(id, time_created INT, \
        slow TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL);";
    // Every message has every part.
    let joined = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000)
        INSERT INTO message SELECT 'm', 's', n, '{\"role\":\"user\"}' FROM c;
        INSERT INTO part SELECT id, 'm', '{\"type\":\"text\",\"text\":\"hi\"}' FROM message;";
    let plain = "CREATE TABLE session(id, time_created INT);";
    for (name, schema, limit) in [
        ("computed.db", [computed, tables, ""], "32 MiB for one value"),
        ("joined.db", [plain, tables, joined], "192 MiB of memory"),
    ] {
        let path = root.path().join(name);
        let database = Connection::open(&path).expect("a database");
        database.execute_batch(&schema.concat()).expect("tables");
        drop(database);
        let read = sessions(&path, &mut |_| std::ops::ControlFlow::Continue(()));
        let error = read.expect_err("too much").to_string();
        assert!(error.contains(limit), "{error}");
    }
}
