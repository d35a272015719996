PRAGMA application_id = 1685087852;
BEGIN TRANSACTION;
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
INSERT INTO "entries" VALUES('claims',0,'00000000-0000-4000-8000-000000000000','note','{"text":"entry 0"}','0000000000000000000000000000000000000000000000000000000000000000','ab','cd');
INSERT INTO "entries" VALUES('claims',1,'00000000-0000-4000-8000-000000000001','note','{"text":"entry 1"}','0000000000000000000000000000000000000000000000000000000000000001','ab','cd');
CREATE TABLE heads (
    data_set TEXT NOT NULL PRIMARY KEY CHECK (typeof(data_set) = 'text'),
    number INTEGER NOT NULL CHECK (typeof(number) = 'integer'),
    hash TEXT NOT NULL CHECK (typeof(hash) = 'text'),
    state TEXT NOT NULL CHECK (typeof(state) = 'text')
);
INSERT INTO "heads" VALUES('claims',1,'0000000000000000000000000000000000000000000000000000000000000001','{"number":1}');
CREATE TABLE ledger (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    in_use INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "ledger" VALUES(1,'c3e4d7aa-0f5a-4d0e-9c3f-0123456789ab',1,0);
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;
CREATE TRIGGER heads_are_never_deleted BEFORE DELETE ON heads
BEGIN SELECT RAISE(ABORT, 'a data set is never deleted'); END;
CREATE TRIGGER heads_only_move_on BEFORE UPDATE ON heads
WHEN new.number <= old.number OR new.data_set <> old.data_set
BEGIN SELECT RAISE(ABORT, 'a head only moves on'); END;
COMMIT;
