"""The queue of writers: first come, first served, and nobody waits for the dead."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import signal
import time

import pytest

from dpforest.ledger import queue
from dpforest.ledger.queue import FairQueue, QueueTimeout

FORK = multiprocessing.get_context("fork")
pytestmark = [
    pytest.mark.skipif(not queue.SUPPORTED, reason="needs locks that only Linux has"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


@pytest.fixture
def path(tmp_path):
    ledger = tmp_path / "a.ledger"
    ledger.touch(mode=0o640)
    return ledger


def queue_of(path):
    return FairQueue(path.with_name("a.ledger-queue"), path)


def drawn(path):
    """How many numbers were drawn."""
    file = path.with_name("a.ledger-queue")
    return int.from_bytes(file.read_bytes()[:8], "little") if file.exists() else 0


def waiting(path, action):
    """A child that draws the next number and then runs something in its turn."""
    before = drawn(path)

    def work():
        with queue_of(path).turn(30):
            action()

    child = FORK.Process(target=work)
    child.start()
    end = time.monotonic() + 20
    while drawn(path) == before:
        assert time.monotonic() < end
        time.sleep(0.001)
    return child


def sink(path):
    """A file that children write their names to."""
    file = path.with_name("order")
    return file, lambda name: os.write(
        os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), name.encode()
    )


def test_turns_come_in_the_order_of_arrival(path):
    file, say = sink(path)
    with queue_of(path).turn(5):
        children = [waiting(path, lambda name=name: say(name)) for name in "abcdefgh"]
        assert not file.exists()
    [child.join(30) for child in children]
    assert file.read_text() == "abcdefgh"


def test_nobody_is_passed_who_waits_behind_somebody_dead(path):
    """The dead one's byte is free, but the one before it still has its turn."""
    file, say = sink(path)
    with queue_of(path).turn(5):
        dead = waiting(path, lambda: say("dead"))
        last = waiting(path, lambda: say("last"))
        os.kill(dead.pid, signal.SIGKILL)
        dead.join(30)
        last.join(0.2)
        assert not file.exists()
        say("first ")
    last.join(30)
    assert file.read_text() == "first last"


def test_a_killed_holder_gives_its_turn_away(path):
    holder = waiting(path, lambda: time.sleep(60))
    with pytest.raises(QueueTimeout), queue_of(path).turn(0.1):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    with queue_of(path).turn(30):
        holder.join(30)


def test_whoever_gave_up_is_in_nobodys_way(path):
    file, say = sink(path)
    own = queue_of(path)
    with own.turn(5):
        with pytest.raises(QueueTimeout), own.turn(0.05):
            pass
        children = [waiting(path, lambda name=name: say(name)) for name in "ab"]
    [child.join(30) for child in children]
    assert file.read_text() == "ab"


def test_a_child_does_not_keep_its_parents_turn(path):
    """Locks belong to the opening of a file, which a fork shares."""
    reader, writer = os.pipe()

    def parent():
        with queue_of(path).turn(30):
            if not os.fork():
                os.write(writer, os.getpid().to_bytes(8, "little"))
                time.sleep(60)
                os._exit(0)
            signal.pause()

    process = FORK.Process(target=parent)
    process.start()
    child = int.from_bytes(os.read(reader, 8), "little")
    try:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with queue_of(path).turn(30):
            os.kill(child, 0)  # it lives on, so nothing but its parent's end gave the turn away
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(reader), os.close(writer)


def test_turns_come_where_no_thread_can_be_started(path, monkeypatch):
    """As in Python 3.12 and later, where stores are closed while the interpreter ends."""

    def refuse(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    reader, writer = os.pipe()
    holder = waiting(path, lambda: os.read(reader, 1))
    monkeypatch.setattr("threading.Thread.start", refuse)
    with pytest.raises(QueueTimeout), queue_of(path).turn(0.05):
        pass
    os.write(writer, b"x")  # not before: on a busy machine it held its turn for too short a time
    with queue_of(path).turn(30):
        pass
    holder.join(30)
    os.close(reader), os.close(writer)


@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\xff" * 8, b"no counter at all", b"\5"])
def test_any_counter_will_do(path, content):
    file, say = sink(path)
    with queue_of(path).turn(5):
        children = [waiting(path, lambda: say("a"))]
        path.with_name("a.ledger-queue").write_bytes(content)
        with pytest.raises(QueueTimeout), queue_of(path).turn(0.05):
            pass
    [child.join(30) for child in children]
    with queue_of(path).turn(5):
        assert file.read_text() == "a"


def test_one_at_a_time_opens_or_closes(path):
    with queue_of(path).exclusive(5):
        with pytest.raises(QueueTimeout), queue_of(path).exclusive(0.05):
            pass
        with queue_of(path).turn(5):  # another lock
            pass
    with queue_of(path).exclusive(5):
        pass


def test_the_queue_has_the_rights_of_the_ledger(path):
    with queue_of(path).turn(5):
        pass
    assert path.with_name("a.ledger-queue").stat().st_mode & 0o777 == 0o640


def test_the_file_follows_the_rights_of_the_ledger(path, tmp_path):
    """It is made before a new ledger is, and a group may be let in later."""
    own = queue_of(path)
    kept = path.with_name("a.ledger-queue")
    path.unlink()
    with own.exclusive(1):
        assert kept.stat().st_mode & 0o777 == 0o600
        path.touch(mode=0o640)
    with own.turn(1):
        assert kept.stat().st_mode & 0o777 == 0o640
    path.chmod(0o660)
    with own.exclusive(1):
        assert kept.stat().st_mode & 0o777 == 0o660


def test_without_such_locks_everybody_goes_without(path, monkeypatch):
    monkeypatch.setattr(queue, "SUPPORTED", False)
    with queue_of(path).turn(1), queue_of(path).turn(1), queue_of(path).exclusive(1):
        pass
    assert not path.with_name("a.ledger-queue").exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP, errno.ESTALE])
def test_where_locks_are_refused_everybody_goes_without(path, monkeypatch, code):
    def refused(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(queue.fcntl, "fcntl", refused)
    with queue_of(path).turn(1), queue_of(path).turn(1), queue_of(path).exclusive(1):
        pass
    assert not queue._open


def test_a_lock_that_is_refused_to_whoever_waits_is_not_waited_for(path, monkeypatch):
    def refused(descriptor, command, asked):
        if command == queue.fcntl.F_OFD_SETLKW:
            raise OSError(errno.ENOLCK, "no locks")
        return real(descriptor, command, asked)

    real, began = queue.fcntl.fcntl, time.monotonic()
    monkeypatch.setattr(queue.fcntl, "fcntl", refused)
    with queue_of(path).exclusive(30), queue_of(path).exclusive(30):
        assert time.monotonic() - began < 20


def test_on_a_full_disk_everybody_goes_without_a_number(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(queue.os, "pwrite", full)
    with queue_of(path).turn(1):
        pass
    assert drawn(path) == 0


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_no_other_file_is_written_through_a_link(path, tmp_path, link):
    """Whoever may write the folder would have others write over a file of their own."""
    precious = tmp_path / "precious"
    precious.write_text("mine alone")
    precious.chmod(0o600)
    link(precious, path.with_name("a.ledger-queue"))
    with queue_of(path).turn(1), queue_of(path).exclusive(1):
        pass
    assert precious.read_text() == "mine alone" and precious.stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_is_no_queue(path):
    os.mkfifo(path.with_name("a.ledger-queue"))
    with queue_of(path).turn(1), queue_of(path).exclusive(1):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be an administrator")
def test_an_administrator_who_is_first_leaves_the_queue_to_the_owner(path):
    os.chown(path, 65534, 65534)
    with queue_of(path).turn(1):
        pass
    found = path.with_name("a.ledger-queue").stat()
    assert (found.st_uid, found.st_gid) == (65534, 65534)


def open_here(folder):
    """Files of a folder that this process has open; what other tests leave is closed by chance."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [one for one in found if one.startswith(f"{folder}/")]


def test_nothing_stays_open(path):
    for _ in range(3):
        with queue_of(path).turn(5), pytest.raises(QueueTimeout), queue_of(path).turn(0.01):
            assert open_here(path.parent)
    end = time.monotonic() + 30
    while (open_here(path.parent) or queue._open) and time.monotonic() < end:
        time.sleep(0.01)  # a thread that waited closes its own
    assert open_here(path.parent) == [] and not queue._open
