-- In the schema "dpforest_ledger", which is first in the search path. One row: which ledger this is.
CREATE TABLE ledger (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    id text NOT NULL,
    schema_version integer NOT NULL
);

CREATE TABLE heads (
    data_set text NOT NULL PRIMARY KEY,
    number bigint NOT NULL,
    hash text NOT NULL,
    state text NOT NULL
);

CREATE TABLE entries (
    data_set text NOT NULL,
    number bigint NOT NULL,
    id text NOT NULL UNIQUE,
    kind text NOT NULL,
    text text NOT NULL,
    hash text NOT NULL,
    signature text NOT NULL,
    key text NOT NULL,
    PRIMARY KEY (data_set, number)
);

-- Against mistakes alone: who owns the tables can drop these. The chain of hashes tells.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are only ever added, and a head only moves on';
END $$;

CREATE TRIGGER entries_are_never_changed BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER entries_are_never_emptied BEFORE TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER heads_are_never_deleted BEFORE DELETE ON heads
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER heads_are_never_emptied BEFORE TRUNCATE ON heads
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER heads_only_move_on BEFORE UPDATE ON heads
FOR EACH ROW WHEN (new.number <= old.number OR new.data_set <> old.data_set)
EXECUTE FUNCTION refuse_change();
