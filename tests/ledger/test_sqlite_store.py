"""Hazards of a ledger in a file: copies, disks, rights, moves, other programs."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from dpforest.exceptions import LedgerDamaged, LedgerUnreachable
from dpforest.ledger import places, queue, sqlite_store, steps
from dpforest.ledger.opening import open_store
from dpforest.ledger.queue import SUPPORTED
from dpforest.ledger.store import Head, Row

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
FORK = multiprocessing.get_context("fork")
ROOT = Path(__file__).resolve().parents[2]
on_linux = pytest.mark.skipif(not SUPPORTED, reason="needs locks that only Linux has")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "claims.ledger"


@pytest.fixture
def store(path):
    made = opened(path, create=True)
    yield made
    made.close()


def opened(path, **options):
    return open_store(f"sqlite:///{path}", **options)


def add(store, text="{}"):
    with store.locked("claims") as locked:
        number = locked.head.number + 1 if locked.head else 0
        row = Row("claims", number, str(uuid.uuid4()), "note", text, f"{number:064x}")
        locked.append(row, Head("claims", number, row.hash, "{}"))
    return row


def killed(action, status=-signal.SIGKILL):
    """Run something in a forked child that is to end in this way."""
    child = FORK.Process(target=action)
    child.start()
    child.join(60)
    assert child.exitcode == status


def kill_at(step):
    steps.watch(lambda at: os.kill(os.getpid(), signal.SIGKILL) if at == step else None)


# -- durability --------------------------------------------------------------------------


def pragmas(connection):
    return {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous")
    }


DURABLE = {"journal_mode": "wal", "synchronous": 2}


def test_every_connection_forces_its_commits_to_the_disk(store, path):
    assert pragmas(store._connection()) == DURABLE
    store.close()
    assert pragmas(store._connection()) == DURABLE
    again = opened(path)
    assert pragmas(again._connection()) == DURABLE
    again.close()
    killed(lambda: os._exit(pragmas(store._connection()) != DURABLE), status=0)
    assert pragmas(store._connection()) == DURABLE


class Weak:
    """A connection on which a setting does not take."""

    def __init__(self, inner, setting):
        self._inner, self._setting = inner, setting

    def execute(self, statement, *values):
        if self._setting in statement and "=" in statement:
            statement = "PRAGMA synchronous = NORMAL" if "sync" in statement else "SELECT 'delete'"
        return self._inner.execute(statement, *values)

    def __getattr__(self, name):
        return getattr(self._inner, name)


@pytest.mark.parametrize("setting", ["synchronous", "journal_mode"])
def test_a_file_that_does_not_keep_commits_is_refused(store, path, monkeypatch, setting):
    add(store)
    store.close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite_store.sqlite3, "connect", lambda *a, **k: Weak(connect(*a, **k), setting)
    )
    with pytest.raises(LedgerUnreachable, match="does not keep what is committed"):
        opened(path)


# -- copies ------------------------------------------------------------------------------


@on_linux
def test_a_path_that_is_too_long_for_sqlite_is_said_to_be(tmp_path):
    folder = tmp_path.joinpath(*["x" * 100] * 5)
    folder.mkdir(parents=True)
    with pytest.raises(LedgerUnreachable, match="or name a shorter path"):
        open_store(f"sqlite:///{folder / 'claims.ledger'}", create=True)


def test_a_copy_without_its_log_is_refused(store, path, tmp_path):
    add(store)
    copy = tmp_path / "copy.ledger"
    shutil.copy(path, copy)
    for _ in range(2):  # looking at it changes nothing
        with pytest.raises(LedgerDamaged, match="its -wal is missing"):
            opened(copy)
    with pytest.raises(LedgerDamaged, match="its -wal is missing"):
        opened(copy, create=True)
    for _ in range(2):  # nor does looking at what is left of it
        known = opened(copy, incomplete=True)
        assert known.rows("claims") == ()
        known.close()
        with pytest.raises(LedgerDamaged, match="incomplete=True"):
            opened(copy)
    known = opened(copy, incomplete=True)
    add(known)
    known.close()
    assert len(opened(copy).rows("claims")) == 1


@pytest.mark.parametrize("how", ["no locks", "no queue"])
def test_a_copy_without_its_log_is_refused_without_a_turn(store, path, tmp_path, monkeypatch, how):
    """Whoever goes without the queue sees as much."""
    add(store)
    copy = tmp_path / "copy.ledger"
    shutil.copy(path, copy)
    if how == "no locks":
        monkeypatch.setattr(queue, "SUPPORTED", False)
    else:
        Path(f"{copy}-queue").mkdir()
    with pytest.raises(LedgerDamaged, match="its -wal is missing"):
        opened(copy)
    assert len(opened(path).rows("claims")) == 1


@on_linux
def test_a_backup_of_what_lacks_entries_lacks_them_too(store, path, tmp_path):
    add(store)
    copy, backup = tmp_path / "copy.ledger", tmp_path / "backup.ledger"
    shutil.copy(path, copy)
    opened(copy, incomplete=True).backup(backup)
    with pytest.raises(LedgerDamaged, match="its -wal is missing"):
        opened(backup)
    assert opened(backup, incomplete=True).lacks_entries


@on_linux
@pytest.mark.parametrize("step", ["opened", "locked", "moved", "committed", "released", "closing"])
def test_a_copy_without_its_log_is_refused_after_a_kill(store, path, tmp_path, step):
    add(store)
    store.close()

    def child():
        kill_at(step)
        own = opened(path)
        add(own)
        own.close()

    killed(child)
    copy = tmp_path / "copy.ledger"
    shutil.copy(path, copy)
    with pytest.raises(LedgerDamaged, match="its -wal is missing"):
        opened(copy)
    assert len(store.rows("claims")) == (2 if step in ("committed", "released", "closing") else 1)


@on_linux
def test_a_copy_without_its_log_is_refused_after_another_process_left(store, path, tmp_path):
    add(store)
    opened(path).close()  # leaves the file whole, and unmarked
    add(store)
    shutil.copy(path, tmp_path / "copy.ledger")
    with pytest.raises(LedgerDamaged, match="its -wal is missing"):
        opened(tmp_path / "copy.ledger")


def test_a_copy_with_its_log_is_whole(store, path, tmp_path):
    row = add(store)
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", tmp_path / f"copy.ledger{ending}")
    copy = opened(tmp_path / "copy.ledger")
    assert copy.find(row.id) == row
    copy.close()


@on_linux
def test_a_ledger_that_nobody_uses_is_one_file(store, path, tmp_path):
    row = add(store)
    others = [opened(path) for _ in range(3)]
    for other in (*others, store):
        assert Path(f"{path}-wal").exists()
        other.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["claims.ledger", "claims.ledger-queue"]
    shutil.copy(path, tmp_path / "copy.ledger")
    copy = opened(tmp_path / "copy.ledger")
    assert copy.find(row.id) == row
    copy.close()


@on_linux
@pytest.mark.parametrize("end", ["forgotten", "collected at exit", "closed at once"])
def test_a_store_that_is_not_closed_leaves_a_whole_file(path, tmp_path, end):
    store = opened(path, create=True)
    row = add(store)
    if end == "forgotten":
        del store
        gc.collect()
    elif end == "collected at exit":
        store.close()
        code = (
            "from dpforest.ledger.opening import open_store; s = open_store(%r); s.head('claims')"
        )
        subprocess.run([sys.executable, "-c", code % f"sqlite:///{path}"], check=True, cwd=ROOT)
    else:
        children = [FORK.Process(target=lambda: opened(path).close()) for _ in range(6)]
        [child.start() for child in children]
        store.close()
        [child.join(60) for child in children]
    assert not Path(f"{path}-wal").exists()
    again = opened(path)
    assert again.find(row.id) == row
    again.close()


def test_a_child_that_ends_normally_leaves_its_parents_files_alone(store, path):
    row = add(store)

    def child():
        store.head("claims")  # of a connection of its own
        sys.exit(3)  # closes what the child holds

    other = opened(path)
    killed(child, status=3)
    assert other.find(row.id) == row and Path(f"{path}-wal").exists()
    assert add(store).number == row.number + 1
    other.close()


def test_processes_that_open_and_close_at_once_lose_nothing(store, path):
    """A child that took SQLite's locks for its own would delete a log that others write to."""

    def work():
        for _ in range(10):
            own = opened(path)
            add(own)
            own.close()

    add(store)
    children = [FORK.Process(target=work) for _ in range(4)]
    [child.start() for child in children]
    for _ in range(10):
        add(store)
    [child.join(60) for child in children]
    assert [child.exitcode for child in children] == [0] * 4
    assert [row.number for row in store.rows("claims")] == [*range(51)]


@pytest.mark.parametrize("step", steps.STEPS)
def test_a_kill_at_any_step_leaves_a_ledger_that_opens(store, path, step):
    row = add(store)
    store.close()

    def child():
        kill_at(step)
        own = opened(path)
        add(own)
        own.close()
        kill_at("closed")  # a step of making alone was not passed
        own.close()

    killed(child)
    again = opened(path)
    assert again.rows("claims")[0] == row
    assert again.head("claims").number == len(again.rows("claims")) - 1
    add(again)
    again.close()


@pytest.mark.parametrize("step", ["connecting", "creating", "opened"])
def test_a_kill_while_a_ledger_is_made_leaves_nothing_or_a_ledger(path, step):
    def child():
        kill_at(step)
        opened(path, create=True)

    killed(child)
    store = opened(path, create=True)
    add(store)
    store.close()


def test_a_backup_is_one_whole_file(store, path, tmp_path):
    rows = [add(store, text="{}" * 5000) for _ in range(5)]
    target = tmp_path / "backup.ledger"
    other = opened(path)
    other.backup(target)
    add(store)
    other.close()
    assert not list(tmp_path.glob("backup.ledger-*"))
    copy = opened(target)
    assert copy.rows("claims") == tuple(rows) and copy.ledger_id == store.ledger_id
    copy.close()
    with pytest.raises(LedgerUnreachable, match="backup cannot be written"):
        store.backup(target)
    with pytest.raises(LedgerUnreachable, match="backup cannot be written"):
        store.backup(tmp_path / "missing" / "file")


def test_a_backup_that_fails_leaves_nothing(store, path, tmp_path, monkeypatch):
    add(store, text="x" * 100_000)
    target, before = tmp_path / "backup.ledger", set(tmp_path.iterdir())

    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            store.backup(target)
        except LedgerUnreachable:
            os._exit(0)
        os._exit(1)

    killed(child, status=0)
    assert set(tmp_path.iterdir()) == before

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_store, "see_to_disk", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.backup(target)
    assert set(tmp_path.iterdir()) == before
    monkeypatch.undo()
    store.backup(target)
    copy = opened(target)
    assert len(copy.rows("claims")) == 1
    copy.close()


# -- disks -------------------------------------------------------------------------------


def test_a_full_disk_charges_nothing(store, path):
    row = add(store)
    pages = store._connection().execute("PRAGMA page_count").fetchone()[0]
    store._connection().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerUnreachable, match="disk is full"):
        add(store, text="x" * 100_000)
    assert store.rows("claims") == (row,)
    store.close()
    assert add(store, text="x" * 100_000).number == 1


def test_a_file_that_may_not_grow_charges_nothing(store, path):
    row = add(store)
    size = Path(f"{path}-wal").stat().st_size

    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        own = opened(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with contextlib.suppress(LedgerUnreachable):
            add(own, text="x" * 200_000)
            os._exit(1)
        os._exit(0)

    killed(child, status=0)
    assert store.rows("claims") == (row,)
    add(store)


def test_a_small_file_system_that_fills_up_charges_nothing(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        store = opened(folder / "claims.ledger", create=True)
        rows = []
        with pytest.raises(LedgerUnreachable, match=r"disk is full|cannot be read or written"):
            for _ in range(100):
                rows.append(add(store, text="x" * 50_000))
        assert rows and store.rows("claims") == tuple(rows)
        store.close()
        again = opened(folder / "claims.ledger")
        assert again.rows("claims") == tuple(rows)
        again.close()
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("room", [0, 12_000, 50_000])
def test_whoever_leaves_on_a_full_disk_leaves_a_whole_ledger(store, path, room):
    # The last to close took the -wal away, and the file looked like one that had lost it.
    row = add(store)
    store.close()

    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        own = opened(path)
        add(own)
        size = Path(f"{path}-wal").stat().st_size + room
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with contextlib.suppress(LedgerUnreachable):
            add(own, text="x" * 200_000)
            os._exit(1)
        with contextlib.suppress(LedgerUnreachable):
            while True:  # until nothing more can be written, not even a mark
                add(own)
        own.close()
        os._exit(0)

    killed(child, status=0)
    again = opened(path)
    rows = again.rows("claims")
    assert rows[0] == row and len(rows) > 1 and not again.lacks_entries
    again.close()
    assert not Path(f"{path}-wal").exists()


def test_a_ledger_that_took_the_place_of_another_is_left_as_it_was(store, path, tmp_path):
    add(store)
    store.close()
    opened(tmp_path / "other.ledger", create=True).close()
    os.replace(tmp_path / "other.ledger", path)
    before = path.read_bytes()
    with pytest.raises(LedgerUnreachable, match="another ledger stands at this place"):
        store.rows("claims")
    assert path.read_bytes() == before and not os.path.exists(f"{path}-wal")
    opened(path).close()


def test_an_interrupt_while_it_is_opened_leaves_it_whole(store, path, monkeypatch):
    add(store)
    store.close()

    def interrupted(connection):
        marked(connection)
        raise KeyboardInterrupt

    marked = sqlite_store._mark_in_use
    monkeypatch.setattr(sqlite_store, "_mark_in_use", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.rows("claims")
    monkeypatch.undo()
    shutil.copy(path, path.with_name("copy"))
    shutil.copy(f"{path}-wal", path.with_name("copy-wal"))  # as after a kill
    assert len(opened(path.with_name("copy")).rows("claims")) == 1
    assert len(store.rows("claims")) == 1


def test_a_ledger_of_a_newer_release_keeps_what_a_killed_process_left(store, path):
    add(store)
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", path.with_name(f"copy{ending}"))
    copy = path.with_name("copy")
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as newer:
        newer.execute("UPDATE ledger SET schema_version = 99")
        for ending in ("", "-wal"):
            shutil.copy(f"{copy}{ending}", path.with_name(f"newer{ending}"))
    with pytest.raises(LedgerUnreachable, match="newer release"):
        opened(path.with_name("newer"))
    assert path.with_name("newer-wal").stat().st_size > 0


def test_an_error_of_the_disk_at_the_commit_charges_nothing(store, monkeypatch):
    row = add(store)

    class Failing:
        def __init__(self, inner):
            self._inner = inner

        def execute(self, statement, *values):
            if statement == "COMMIT":
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
                raise error
            return self._inner.execute(statement, *values)

        def __getattr__(self, name):
            return getattr(self._inner, name)

    store._handle.connection = Failing(store._connection())
    with pytest.raises(LedgerUnreachable, match="cannot be read or written"):
        add(store)
    assert store.rows("claims") == (row,)
    add(store)


@pytest.mark.parametrize("kind", places.NETWORK)
def test_network_file_systems_are_refused(path, monkeypatch, kind):
    monkeypatch.setattr(places, "file_system", lambda folder: kind)
    with pytest.raises(LedgerUnreachable, match="network file system"):
        opened(path, create=True)
    assert not path.exists()
    opened(path, create=True, network=True).close()


@on_linux
def test_file_systems_are_told_apart(tmp_path):
    assert places.file_system(Path("/proc")) == 0x9FA0
    stat = shutil.which("stat")
    if stat:
        said = subprocess.run([stat, "-f", "-c", "%t", tmp_path], capture_output=True, text=True)
        assert places.file_system(tmp_path) == int(said.stdout, 16)
    assert places.file_system(tmp_path / "missing") is None
    assert not places.is_network(Path("/proc"))


# -- rights ------------------------------------------------------------------------------


def as_nobody(url, folder):
    """Class and text of the error that another user gets who opens a ledger, in a new process."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    code = (
        # Python itself may lie where that user reads nothing, so all is imported before.
        "import os, sys, json, pathlib, sqlite3, urllib.parse, urllib.request\n"
        "from dpforest.ledger.sqlite_store import SqliteStore\n"
        "from dpforest.ledger.opening import open_store\n"
        "os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
        "try:\n    open_store(sys.argv[1])\n"
        "except Exception as error:\n    print(json.dumps([type(error).__name__, str(error)]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, url], capture_output=True, text=True, cwd=ROOT
    )
    assert not run.stderr, run.stderr
    return json.loads(run.stdout or "null")


def test_another_users_file_is_refused(store, path, tmp_path):
    store.close()
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    name, text = as_nobody(f"sqlite:///{path}", tmp_path)
    assert name == "LedgerUnreachable" and "may not be read and written by this user" in text
    path.chmod(0o666)
    Path(f"{path}-queue").chmod(0o600)  # the queue is for fairness alone
    assert as_nobody(f"sqlite:///{path}", tmp_path) is None


def test_a_read_only_folder_is_refused(store, path, tmp_path):
    store.close()
    path.chmod(0o666)
    tmp_path.chmod(0o755)
    name, text = as_nobody(f"sqlite:///{path}", tmp_path)
    assert name == "LedgerUnreachable" and "folder may not be written" in text
    assert not Path(f"{path}-wal").exists()


def test_rights_that_are_lost_later_are_told(store, path, monkeypatch):
    add(store)
    store.close()
    monkeypatch.setattr(os, "access", lambda *a: False)
    with pytest.raises(LedgerUnreachable, match="may not be written"):
        add(store)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(LedgerUnreachable, match="folder is not there"):
        opened(tmp_path / "no" / "claims.ledger", create=True)
    with pytest.raises(LedgerUnreachable, match="is no file"):
        opened(tmp_path)


def test_a_place_that_cannot_be_looked_at(tmp_path, monkeypatch):
    for name in ("c" * 250, "c" * 254):  # beside it a longer name stands
        with pytest.raises(LedgerUnreachable, match="cannot be looked at"):
            opened(tmp_path / name, create=True)

    def denied(_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", denied)
    with pytest.raises(LedgerUnreachable, match="Permission denied"):
        opened(tmp_path / "claims.ledger", create=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", places.FILE_ENDINGS)
def test_a_link_beside_the_file_is_refused(store, path, tmp_path, ending):
    store.close()
    (tmp_path / "precious").write_text("mine alone")
    Path(f"{path}{ending}").unlink(missing_ok=True)
    Path(f"{path}{ending}").symlink_to(tmp_path / "precious")
    with pytest.raises(LedgerUnreachable, match=f"claims.ledger{ending}' beside it is a symbolic"):
        opened(path)
    with pytest.raises(LedgerUnreachable, match="symbolic link"):
        add(store)
    assert (tmp_path / "precious").read_text() == "mine alone"


def test_a_second_name_is_refused(store, path, tmp_path):
    os.link(path, tmp_path / "other.ledger")
    for name in (path, tmp_path / "other.ledger"):
        with pytest.raises(LedgerUnreachable, match="second name"):
            opened(name)


@pytest.mark.parametrize("name", ["claims.ledger", "claims 2.ledger", "a\\b.ledger"])
def test_a_file_that_is_mounted_alone_is_refused(tmp_path, monkeypatch, name):
    """Its log would stay in the container, and two of them would not know of each other."""
    written = f"{tmp_path}/{name}".replace("\\", "\\134").replace(" ", "\\040")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"26 1 0:24 / / rw - ext4 a rw\n\n44 26 0:24 /c {written} rw - ext4 a rw\n")
    opened(tmp_path / name, create=True).close()
    monkeypatch.setattr(places, "_MOUNTS", mounts)
    with pytest.raises(LedgerUnreachable, match="its file alone is mounted here"):
        opened(tmp_path / name)
    opened(tmp_path / "other.ledger", create=True).close()
    monkeypatch.setattr(places, "_MOUNTS", tmp_path / "gone")
    opened(tmp_path / name).close()


def test_a_symbolic_link_leads_to_the_same_queue_and_log(store, path, tmp_path):
    row = add(store)
    (tmp_path / "link.ledger").symlink_to(path)
    linked = opened(tmp_path / "link.ledger")
    assert linked.find(row.id) == row
    add(linked), add(store)
    assert len(linked.rows("claims")) == 3
    assert not list(tmp_path.glob("link.ledger-*"))
    linked.close()


@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_file_that_is_moved_while_open_is_not_written(store, path, tmp_path, how):
    add(store)
    if how == "deleted":
        path.unlink()
    else:
        path.rename(tmp_path / "elsewhere")
    if how == "replaced":
        shutil.copy(tmp_path / "elsewhere", path)
    with pytest.raises(LedgerUnreachable, match="moved, deleted or replaced"):
        add(store)


def test_whoever_closes_a_file_that_was_replaced_leaves_the_new_ones_log(store, path, tmp_path):
    """As an idle notebook does, while a backup is put in place and others go on with it."""
    store.backup(tmp_path / "backup")
    add(store)
    os.replace(tmp_path / "backup", path)
    ours, theirs = FORK.Pipe()

    def other():
        own = opened(path)
        for _ in range(2):
            add(own)
            theirs.send("added")
            theirs.recv()
        os._exit(0)

    child = FORK.Process(target=other)
    child.start()
    assert ours.recv() == "added"
    store.close()
    ours.send("closed")
    assert ours.recv() == "added"
    granted = opened(path)
    before = len(granted.rows("claims"))
    ours.send("die")
    child.join(30)
    assert before == 3 and len(granted.rows("claims")) == 3
    granted.close()
    assert len(opened(path).rows("claims")) == 3


# -- what is no ledger -------------------------------------------------------------------


def test_files_that_are_no_ledger(tmp_path):
    text = tmp_path / "text"
    text.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(LedgerDamaged, match="is no ledger"):
        opened(text)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE ledger (id TEXT)"), connection.commit(), connection.close()
    for create in (False, True):
        before = other.read_bytes()
        with pytest.raises(LedgerUnreachable, match="holds no ledger"):
            opened(other, create=create)
        assert other.read_bytes() == before
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(LedgerUnreachable, match="holds no ledger"):
        opened(empty)
    assert {one.name for one in tmp_path.iterdir()} == {"text", "other.sqlite", "empty"}


LOOK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


def is_locked(path):
    """Say if another process finds that somebody writes."""
    said = subprocess.run(
        [sys.executable, "-c", LOOK, path], capture_output=True, text=True, check=True
    )
    return said.stdout == "database is locked\n"


@on_linux
def test_a_look_at_what_a_file_is_lets_no_lock_fall(store, path):
    """This process holds the file itself while it opens it anew."""
    connection = store._connection()
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("BEGIN EXCLUSIVE")
    before = {one: one.stat().st_size for one in path.parent.iterdir()}
    store._check_kind(create=False)
    assert is_locked(path) and before == {one: one.stat().st_size for one in path.parent.iterdir()}
    path.open("rb").close()  # which is what the look must not do
    assert not is_locked(path)
    connection.execute("ROLLBACK")


def test_a_file_that_cannot_be_looked_at_now_is_opened_in_turn(store, path, monkeypatch):
    """Others may write the pages that are read."""

    def torn(connection, name):
        raise sqlite3.DatabaseError("database disk image is malformed")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store, "_pragma", torn)
        store._check_kind(create=False)
    row = add(store)
    with contextlib.closing(opened(path)) as other:
        assert list(other.rows("claims")) == [row]


def test_a_cut_file_is_damage(store, path):
    for _ in range(50):
        add(store, text="{}" * 500)
    store.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(LedgerDamaged):
        again = opened(path)
        again.rows("claims")


def test_bytes_of_another_type_are_damage(store, path):
    row = add(store)
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = on")
    connection.execute("DROP TRIGGER entries_are_never_changed")
    connection.execute("UPDATE entries SET kind = x'ff'"), connection.commit()
    with pytest.raises(LedgerDamaged, match="the kind of a row"):
        store.find(row.id)
    store.close()
    connection.execute("UPDATE entries SET kind = CAST(x'ff' AS TEXT)"), connection.commit()
    connection.close()
    with pytest.raises(LedgerDamaged, match="Could not decode"):
        store.find(row.id)


def test_a_ledger_without_a_name_is_damage(store, path):
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM ledger"), connection.commit(), connection.close()
    with pytest.raises(LedgerDamaged, match="which ledger"):
        opened(path)


@on_linux
def test_a_look_with_another_program_while_it_is_open_does_no_harm(store, path):
    row = add(store)
    other = sqlite3.connect(path)
    assert other.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    store.close()
    other.close()
    again = opened(path)
    assert again.find(row.id) == row
    again.close()


def test_whoever_writes_without_the_queue_is_kept_apart(store, path):
    store._connection().execute("PRAGMA busy_timeout = 200")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnreachable, match="another process has been writing"):
        add(store)
    other.close()
    add(store)


def test_a_child_of_a_writer_does_not_touch_the_file(store, path):
    with store.locked("claims") as locked:
        row = Row("claims", 0, str(uuid.uuid4()), "note", "{}", "00")
        locked.append(row, Head("claims", 0, "00", "{}"))

        def child():
            for use in (lambda: store.head("claims"), lambda: opened(path)):
                try:
                    use()
                except LedgerUnreachable as error:
                    assert "was forked while its parent was writing" in str(error)
                else:
                    os._exit(1)
            os._exit(0)

        killed(child, status=0)
    assert store.find(row.id) == row
