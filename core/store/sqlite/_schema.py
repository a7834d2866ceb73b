"""The tables, and how an older database becomes a newer one.

``MIGRATIONS[n]`` brings a database from ``user_version`` n to n + 1.
"""

from __future__ import annotations

import uuid

from core.store.sqlite._driver import Connection, rollback

APPLICATION_ID = 0x5374_6272  # "Stbr"

_TERMINAL = "('completed', 'failed', 'cancelled')"

# A step's intent, its one outcome and what came too late: one event each.
_PHASE = """
    CASE kind WHEN 'request' THEN 0 WHEN 'tool_started' THEN 0 WHEN 'late_result' THEN 2 ELSE 1 END
"""

_FIRST = (
    """
    CREATE TABLE meta (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TABLE run (
        run_id TEXT PRIMARY KEY,
        status TEXT NOT NULL CHECK (status IN (
            'queued', 'running', 'waiting_for_approval', 'waiting_for_input',
            'completed', 'failed', 'cancelled')),
        termination_reason TEXT,
        model TEXT NOT NULL,
        prompt TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL,
        closed_us INTEGER,
        end_seq INTEGER,
        owner TEXT,
        claim INTEGER NOT NULL CHECK (claim > 0),
        next_seq INTEGER NOT NULL CHECK (next_seq > 0),
        round INTEGER NOT NULL,
        tool_calls INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cost_usd REAL,
        estimated INTEGER NOT NULL CHECK (estimated IN (0, 1)),
        open_steps TEXT NOT NULL,
        cancel_us INTEGER,
        cancel_by TEXT NOT NULL,
        cancel_reason TEXT NOT NULL,
        level INTEGER CHECK (level IN (1, 2)),
        cancel_seq INTEGER,
        CHECK ((status IN {_TERMINAL}) = (termination_reason IS NOT NULL)),
        CHECK (status NOT IN ('completed', 'failed') OR closed_us IS NOT NULL),
        CHECK (closed_us IS NULL OR status IN {_TERMINAL}),
        CHECK ((closed_us IS NULL) = (end_seq IS NULL)),
        CHECK (closed_us IS NULL OR owner IS NULL),
        CHECK (end_seq IS NULL OR end_seq < next_seq),
        CHECK ((status = 'cancelled') = (cancel_us IS NOT NULL)),
        CHECK ((cancel_us IS NULL) = (level IS NULL)),
        CHECK ((cancel_us IS NULL) = (cancel_seq IS NULL)),
        FOREIGN KEY (run_id, end_seq) REFERENCES event (run_id, seq) DEFERRABLE INITIALLY DEFERRED
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX run_newest ON run (created_us, run_id)",
    "CREATE INDEX run_unclosed ON run (run_id) WHERE closed_us IS NULL",
    f"""
    CREATE TRIGGER run_terminal BEFORE UPDATE OF status ON run
    WHEN OLD.status IN {_TERMINAL} AND NEW.status <> OLD.status
    BEGIN SELECT RAISE(ABORT, 'a terminal status never changes'); END
    """,
    """
    CREATE TRIGGER run_closed BEFORE UPDATE OF closed_us ON run
    WHEN OLD.closed_us IS NOT NULL AND NEW.closed_us IS NOT OLD.closed_us
    BEGIN SELECT RAISE(ABORT, 'a closed run stays closed'); END
    """,
    """
    CREATE TABLE body (
        sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
        data TEXT NOT NULL
    ) STRICT
    """,
    f"""
    CREATE TABLE event (
        run_id TEXT NOT NULL REFERENCES run (run_id),
        seq INTEGER NOT NULL CHECK (seq >= 0),
        kind TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        round INTEGER NOT NULL,
        step TEXT,
        body TEXT,
        body_ref BLOB REFERENCES body (sha256),
        phase INTEGER GENERATED ALWAYS AS ({_PHASE}) VIRTUAL,
        PRIMARY KEY (run_id, seq),
        CHECK ((body IS NULL) <> (body_ref IS NULL)),
        CHECK (length(CAST(body AS BLOB)) <= 16384)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX event_step ON event (run_id, step, phase) WHERE step IS NOT NULL",
    f"CREATE UNIQUE INDEX event_end ON event (run_id) WHERE kind IN {_TERMINAL}",
    """
    CREATE TRIGGER event_kept BEFORE UPDATE ON event
    BEGIN SELECT RAISE(ABORT, 'an event never changes'); END
    """,
    """
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY CHECK (seq > 0),
        at_us INTEGER NOT NULL,
        action TEXT NOT NULL,
        success INTEGER NOT NULL CHECK (success IN (0, 1)),
        status INTEGER NOT NULL,
        method TEXT,
        host TEXT,
        path TEXT,
        credential TEXT,
        run_id TEXT,
        step TEXT,
        call_id TEXT,
        actor TEXT NOT NULL,
        message TEXT,
        key_id TEXT NOT NULL,
        mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT
    """,
    "CREATE UNIQUE INDEX audit_call ON audit (call_id) WHERE call_id IS NOT NULL",
    "CREATE INDEX audit_action ON audit (action, seq)",
    "CREATE INDEX audit_run ON audit (run_id, seq) WHERE run_id IS NOT NULL",
    "CREATE TABLE audit_count (action TEXT PRIMARY KEY, rows INTEGER NOT NULL) STRICT",
    # The times of each 1,024 rows: a window of time is found without an index on it, also
    # where a clock was set back.
    """
    CREATE TABLE audit_block (
        block INTEGER PRIMARY KEY,
        first_us INTEGER NOT NULL,
        last_us INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TRIGGER audit_counted AFTER INSERT ON audit BEGIN
        INSERT INTO audit_count VALUES (NEW.action, 1)
        ON CONFLICT (action) DO UPDATE SET rows = rows + 1;
        INSERT INTO audit_block VALUES (NEW.seq >> 10, NEW.at_us, NEW.at_us)
        ON CONFLICT (block) DO UPDATE
        SET first_us = min(first_us, NEW.at_us), last_us = max(last_us, NEW.at_us);
    END
    """,
    """
    CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
    """,
    """
    CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
    """,
    """
    CREATE TABLE secret (
        name TEXT PRIMARY KEY,
        version INTEGER NOT NULL CHECK (version > 0),
        placement TEXT NOT NULL,
        field TEXT NOT NULL,
        hosts TEXT NOT NULL,
        key_id TEXT NOT NULL,
        wrapped_key BLOB NOT NULL,
        nonce BLOB NOT NULL,
        ciphertext BLOB NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    f"PRAGMA application_id = {APPLICATION_ID}",
)

_SECOND = (
    # What was about to be sent: taken away by the call's row, in its transaction.
    """
    CREATE TABLE call_intent (
        call_id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        method TEXT,
        host TEXT,
        path TEXT,
        credential TEXT,
        run_id TEXT,
        step TEXT,
        actor TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX call_intent_owner ON call_intent (owner)",
    """
    CREATE TABLE chain_key (
        key_id TEXT PRIMARY KEY,
        wrapped_by TEXT NOT NULL,
        wrapped_key BLOB NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "ALTER TABLE secret ADD COLUMN expires_us INTEGER",
    "ALTER TABLE secret ADD COLUMN description TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE secret ADD COLUMN format INTEGER NOT NULL DEFAULT 1",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
VERSION = len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """Return a database's ``user_version``; 0 for a new one."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def is_foreign(connection: Connection) -> bool:
    """Return whether another program made this database."""
    # In this order: another process may be filling the file, tables and id at once.
    if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None:
        return False
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return bool(application != APPLICATION_ID)


def migrate(connection: Connection) -> None:
    """Bring the database to ``VERSION`` in one transaction; the caller holds the gate."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # another process may have been faster
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        if version < VERSION:
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute(
                "INSERT INTO meta VALUES ('database_id', ?) ON CONFLICT DO NOTHING",
                (str(uuid.uuid4()),),
            )
        connection.execute("COMMIT")
    except BaseException:
        rollback(connection)
        raise


def database_id(connection: Connection) -> str | None:
    """Return the id that the database got when it was made; None if it was removed."""
    found = connection.execute(
        "SELECT value FROM meta WHERE name = 'database_id' LIMIT 1"
    ).fetchone()
    return None if found is None else str(found[0])
