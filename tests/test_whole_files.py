"""Files are whole at their place, or what was there still is, and nothing is left beside it."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from dpforest import whole_files
from dpforest.checks import write_file
from dpforest.exceptions import ParameterError
from dpforest.whole_files import file_over
from dpforest.writing import new_file, new_place, write_text

FORMER = "of before, and longer than what comes"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fails(code: int):
    def failing(*words, **more):
        raise OSError(code, os.strerror(code))

    return failing


def by_python(path: Path, text: str) -> None:
    write_file(path, text)


def by_a_command(path: Path, text: str) -> None:
    write_text(path, text, force=True)


def privately(path: Path, text: str) -> None:
    write_text(path, text, force=True, private=True)


WRITERS = pytest.mark.parametrize("write", [by_python, by_a_command, privately])


@pytest.fixture
def place(tmp_path) -> Path:
    path = tmp_path / "file"
    path.write_text(FORMER)
    return path


@pytest.fixture
def closed(monkeypatch):
    """A folder where no file can be made, though those that are there can be written."""
    ordinary = os.open

    def opening(path, flags, *more):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "no file is made here")
        return ordinary(path, flags, *more)

    monkeypatch.setattr(os, "open", opening)


@pytest.fixture
def held(monkeypatch):
    """A file that stays where it is, such as a mount of its own."""
    monkeypatch.setattr(os, "replace", fails(errno.EBUSY))


def fill_the_disk(monkeypatch, after: int = 0):
    """Let the disk be full, once so many calls saw to it that it is not."""
    calls, ordinary = [], os.fsync

    def fsync(number):
        calls.append(number)
        if len(calls) == after + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        ordinary(number)

    monkeypatch.setattr(os, "fsync", fsync)


# -- what fails -----------------------------------------------------------------------------------


@WRITERS
def test_a_full_disk_leaves_what_was_there(place, monkeypatch, write):
    fill_the_disk(monkeypatch)
    with pytest.raises(ParameterError, match="cannot be written"):
        write(place, "a")
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


@WRITERS
def test_so_does_one_that_fills_while_it_is_written(place, monkeypatch, write):
    resource = pytest.importorskip("resource")
    limit = resource.RLIMIT_FSIZE
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (1000, before[1]))  # Python ignores the signal
    try:
        with pytest.raises(ParameterError, match="cannot be written"):
            write(place, "a" * 2000)
    finally:
        resource.setrlimit(limit, before)
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


@pytest.mark.parametrize("way", ["", "closed", "held"])
@WRITERS
def test_what_cannot_be_encoded_leaves_what_was_there(place, request, write, way):
    if way:
        request.getfixturevalue(way)
    with pytest.raises((ParameterError, UnicodeEncodeError)):
        write(place, "half of a character: \udcff")
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


@pytest.mark.parametrize("way", ["", "closed", "held"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
def test_what_is_interrupted_leaves_what_was_there(place, request, error, way):
    if way:
        request.getfixturevalue(way)
    with pytest.raises(error), file_over(place) as file:
        file.write(b"half")
        raise error
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


def test_where_nothing_was_nothing_is(tmp_path):
    with pytest.raises(KeyboardInterrupt), file_over(tmp_path / "file") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


@WRITERS
def test_a_move_that_fails_leaves_what_was_there(place, monkeypatch, write):
    monkeypatch.setattr(os, "replace", fails(errno.EIO))
    with pytest.raises(ParameterError, match="cannot be written"):
        write(place, "a")
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


def test_all_is_on_the_disk_before_it_takes_the_place(place, monkeypatch):
    done = []
    ordinary = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("disk"), ordinary[0](number)))
    monkeypatch.setattr(os, "replace", lambda *two: (done.append("place"), ordinary[1](*two)))
    write_file(place, "a")
    assert done[:2] == ["disk", "place"]


# -- what is there --------------------------------------------------------------------------------


@WRITERS
def test_what_is_there_is_replaced(place, write):
    number = place.stat().st_ino
    with place.open() as reader:
        write(place, "a")
        assert reader.read() == FORMER  # whoever reads it reads it to its end
    assert place.read_text() == "a" and names(place.parent) == ["file"]
    assert place.stat().st_ino != number


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_permissions_stay(place, mode):
    for write in (by_python, by_a_command):
        place.chmod(mode)
        write(place, "a")
        assert place.stat().st_mode & 0o7777 == mode
    privately(place, "a")
    assert place.stat().st_mode & 0o7777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_new_file_has_those_of_any_other(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", "a")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="access lists of Linux")
def test_an_access_list_of_the_folder_is_not_taken_on(place):
    """Made anew a file would have it, and permissions of a group would be those of its users."""
    nobody, entries = 0xFFFFFFFF, [(1, 7), (2, 6), (4, 5), (16, 7), (32, 5)]
    users = {2: 65534}
    packed = [struct.pack("<HHI", kind, may, users.get(kind, nobody)) for kind, may in entries]
    try:
        of_all = struct.pack("<I", 2) + b"".join(packed)
        os.setxattr(place.parent, "system.posix_acl_default", of_all)
    except OSError:
        pytest.skip("no access lists here")
    place.chmod(0o640)
    for write in (by_python, by_a_command):
        write(place, "a")
        assert not [name for name in os.listxattr(place) if "acl" in name]
        assert place.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="another's file, by root")
def test_the_owner_stays(place):
    os.chown(place, 12345, 54321)
    place.chmod(0o640)
    write_file(place, "a")
    found = place.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (12345, 54321, 0o640)


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_file_whose_owner_cannot_be_kept_is_written_in_place(place, monkeypatch):
    number, mode = place.stat().st_ino, place.stat().st_mode
    monkeypatch.setattr(whole_files, "_keep_rights", fails(errno.EPERM))
    write_file(place, "a")
    assert (place.stat().st_ino, place.stat().st_mode) == (number, mode)
    assert place.read_text() == "a" and names(place.parent) == ["file"]


def test_the_time_is_that_of_the_writing(place):
    os.utime(place, (1000, 1000))
    write_file(place, "a")
    assert place.stat().st_mtime > 1_000_000


@WRITERS
def test_what_may_not_be_written_is_not_replaced(place, monkeypatch, write):
    """A folder's rights would allow it."""
    ordinary = os.open

    def opening(path, flags, *more):
        if Path(path) == place and flags & os.O_WRONLY:
            raise PermissionError(errno.EACCES, "read only")
        return ordinary(path, flags, *more)

    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(ParameterError, match="cannot be written"):
        write(place, "a")
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


@pytest.mark.parametrize("is_there", [True, False])
@WRITERS
def test_links_are_followed(place, tmp_path, write, is_there):
    (tmp_path / "folder").mkdir()
    (tmp_path / "near").symlink_to("far")
    (tmp_path / "far").symlink_to(Path("folder") / "target")
    if is_there:
        (tmp_path / "folder" / "target").write_text(FORMER)
    write(tmp_path / "near", "a")
    assert (tmp_path / "near").is_symlink() and (tmp_path / "far").is_symlink()
    assert (tmp_path / "folder" / "target").read_text() == "a"
    assert names(tmp_path / "folder") == ["target"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="another's link, by root")
@pytest.mark.parametrize("is_there", [True, False])
@WRITERS
def test_links_that_another_user_planted_are_not_followed(tmp_path, write, is_there):
    """A folder for all, as /tmp is: whoever guesses a name there chose what is written over."""
    folder, target = tmp_path / "all", tmp_path / "target"
    folder.mkdir()
    folder.chmod(0o1777)
    if is_there:
        target.write_text(FORMER)
    (folder / "link").symlink_to(target)
    (tmp_path / "near").symlink_to(folder / "link")
    os.lchown(folder / "link", 65534, 65534)
    for path in (folder / "link", tmp_path / "near"):
        with pytest.raises(ParameterError, match="cannot be written"):
            write(path, "a")
    assert names(folder) == ["link"]
    assert target.read_text() == FORMER if is_there else not target.exists()
    os.lchown(folder / "link", 0, 0)
    write(folder / "link", "a")
    assert target.read_text() == "a"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="another's pipe, by root")
@WRITERS
def test_nothing_is_written_to_a_pipe_that_another_user_planted(tmp_path, write):
    tmp_path.chmod(0o1777)
    os.mkfifo(tmp_path / "pipe")
    os.chown(tmp_path / "pipe", 65534, 65534)
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ParameterError, match="cannot be written"):
            write(tmp_path / "pipe", "a")
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_a_circle_of_links_is_refused(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(ParameterError, match="cannot be written"):
        write_file(tmp_path / "one", "a")
    assert names(tmp_path) == ["one", "other"]


@pytest.mark.parametrize("wrong", ["", "none/file", "file/below", "\0", None, 3, b"file"])
def test_other_places_are_refused(place, monkeypatch, wrong):
    monkeypatch.chdir(place.parent)
    with pytest.raises(ParameterError, match="cannot be written"):
        write_file(wrong, "a")
    assert names(place.parent) == ["file"]


def test_the_longest_name(tmp_path):
    write_file(tmp_path / ("\u4e2d" * 85), "a")
    assert names(tmp_path) == ["\u4e2d" * 85]


@pytest.mark.parametrize("newline", [None, "\n", "\r\n"])
@pytest.mark.parametrize("system", ["\n", "\r\n"])
def test_ends_of_lines(tmp_path, monkeypatch, newline, system):
    monkeypatch.setattr(os, "linesep", system)
    write_file(tmp_path / "file", "a\nb\n", newline=newline)
    expected = "a\nb\n".replace("\n", newline or system)
    assert (tmp_path / "file").read_bytes() == expected.encode()


# -- in place -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["closed", "held"])
@WRITERS
def test_a_file_that_has_to_stay_is_written_in_place(place, request, write, way):
    request.getfixturevalue(way)
    number = place.stat().st_ino
    write(place, "a")
    assert place.read_text() == "a" and names(place.parent) == ["file"]
    assert place.stat().st_ino == number


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("way", ["closed", "held"])
def test_what_is_private_is_so_in_place_too(place, request, way):
    request.getfixturevalue(way)
    place.chmod(0o666)
    privately(place, "a")
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("way", "after"), [("closed", 0), ("held", 1)])
@WRITERS
def test_what_was_there_is_put_back(place, monkeypatch, request, write, way, after):
    request.getfixturevalue(way)
    fill_the_disk(monkeypatch, after)
    with pytest.raises(ParameterError, match="cannot be written"):
        write(place, "a")
    assert place.read_text() == FORMER and names(place.parent) == ["file"]


def test_a_closed_folder_takes_no_new_file(tmp_path, closed):
    with pytest.raises(ParameterError, match="no permission"):
        write_file(tmp_path / "file", "a")
    assert names(tmp_path) == []


@pytest.fixture
def open_path():
    """A folder that every user may come to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="rights of another user")
def test_rights_as_the_system_has_them(open_path):
    """Files of a user in a folder of root, and of root where everybody may make some."""
    tmp_path, user = open_path, 65534
    for name, folder_mode, owner in (("closed", 0o755, user), ("sticky", 0o1777, 0)):
        folder = tmp_path / name
        folder.mkdir()
        folder.chmod(folder_mode)
        (folder / "file").write_text(FORMER)
        os.chown(folder / "file", owner, owner)
        (folder / "file").chmod(0o666)
    (tmp_path / "sticky" / "kept").write_text(FORMER)
    (tmp_path / "sticky" / "kept").chmod(0o644)
    code = f"""if True:
        import os, sys
        from pathlib import Path
        os.chdir({str(tmp_path)!r})
        from dpforest.checks import write_file
        from dpforest.exceptions import ParameterError
        os.setgid({user}); os.setuid({user})
        write_file("closed/file", "a")
        write_file("sticky/file", "a")
        try:
            write_file("sticky/kept", "a")
        except ParameterError as refusal:
            sys.exit("no permission" not in str(refusal))
        sys.exit(2)
    """
    if not all(folder.stat().st_mode & 0o001 for folder in open_path.parents):
        pytest.skip("the user cannot come here")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
    for name in ("closed", "sticky"):
        assert (tmp_path / name / "file").read_text() == "a"
    assert (tmp_path / "sticky" / "kept").read_text() == FORMER
    assert names(tmp_path / "closed") == ["file"] and names(tmp_path / "sticky") == ["file", "kept"]


# -- what is no file ------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@WRITERS
def test_a_named_pipe_is_written_through(tmp_path, write):
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe, "a")
    reader.join(60)
    assert heard == ["a"] and pipe.is_fifo() and names(tmp_path) == ["pipe"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_backup_takes_no_place_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused = pytest.raises(ParameterError, match="no file that can be replaced")
    with refused, new_place(tmp_path / "pipe", force=True):
        pass
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no such system")
@pytest.mark.parametrize("named", ["/dev/stdout", "/dev/fd/1", "link"])
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_standard_output(tmp_path, named, kind):
    """Where a shell sent it to a file, what comes after still goes there."""
    code = f"""if True:
        import os
        from dpforest.checks import write_file
        from dpforest.writing import write_text
        write_file({named!r}, "a")
        os.write(1, b"b")
    """
    (tmp_path / "link").symlink_to("/dev/stdout")
    before = os.lstat("/dev/stdout")
    with (tmp_path / "out").open("ab") as out:
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, timeout=100, cwd=tmp_path,
            stdout=out if kind == "file" else subprocess.PIPE,
        )  # fmt: skip
    heard = done.stdout if kind == "pipe" else (tmp_path / "out").read_bytes()
    assert heard == b"ab" and names(tmp_path) == ["link", "out"]
    assert os.lstat("/dev/stdout").st_ino == before.st_ino


def test_what_goes_when_a_file_comes(tmp_path):
    """Not before it is whole on the disk."""
    (tmp_path / "other").write_text("a")
    (tmp_path / "file").write_text("a")
    opened = new_file(tmp_path / "file", force=True, removed=[tmp_path / "other"])
    with pytest.raises(KeyboardInterrupt), opened as file:
        file.write(b"b")
        raise KeyboardInterrupt
    assert names(tmp_path) == ["file", "other"]
    write_text(tmp_path / "file", "b", force=True, removed=[tmp_path / "other"])
    assert names(tmp_path) == ["file"]
