-- One row: which ledger this is. "in_use" tells a copy without its -wal from a whole file.
CREATE TABLE ledger (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    in_use INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE heads (
    data_set TEXT NOT NULL PRIMARY KEY CHECK (typeof(data_set) = 'text'),
    number INTEGER NOT NULL CHECK (typeof(number) = 'integer'),
    hash TEXT NOT NULL CHECK (typeof(hash) = 'text'),
    state TEXT NOT NULL CHECK (typeof(state) = 'text')
);

CREATE TABLE entries (
    data_set TEXT NOT NULL CHECK (typeof(data_set) = 'text'),
    number INTEGER NOT NULL CHECK (typeof(number) = 'integer'),
    id TEXT NOT NULL UNIQUE CHECK (typeof(id) = 'text'),
    kind TEXT NOT NULL CHECK (typeof(kind) = 'text'),
    text TEXT NOT NULL CHECK (typeof(text) = 'text'),
    hash TEXT NOT NULL CHECK (typeof(hash) = 'text'),
    signature TEXT NOT NULL CHECK (typeof(signature) = 'text'),
    key TEXT NOT NULL CHECK (typeof(key) = 'text'),
    PRIMARY KEY (data_set, number)
);

-- Against mistakes alone: who may write the file can drop these. The chain of hashes tells.
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;

CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;

CREATE TRIGGER heads_are_never_deleted BEFORE DELETE ON heads
BEGIN SELECT RAISE(ABORT, 'a data set is never deleted'); END;

CREATE TRIGGER heads_only_move_on BEFORE UPDATE ON heads
WHEN new.number <= old.number OR new.data_set <> old.data_set
BEGIN SELECT RAISE(ABORT, 'a head only moves on'); END;
