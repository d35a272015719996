"""Files are whole or not there, never over another one unasked, and private where they must be."""

from __future__ import annotations

import errno
import os

import pytest

from dpforest import writing
from dpforest.exceptions import ParameterError
from dpforest.writing import (
    check_new,
    check_writable,
    new_file,
    rescue,
    write_text,
)


def test_modes(tmp_path):
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "open", "a")
        write_text(tmp_path / "closed", "a", private=True)
        (tmp_path / "old").write_text("b")
        write_text(tmp_path / "old", "a", private=True, force=True)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"open": 0o644, "closed": 0o600, "old": 0o600}


@pytest.mark.parametrize("letter", ["a", "ä", "\u4e2d", "\U0001f333"], ids=ascii)
def test_names_of_as_many_bytes_as_a_file_system_takes(letter, tmp_path):
    name = letter * (255 // len(letter.encode()))
    write_text(tmp_path / name, "a")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_nothing_is_written_over_unasked(tmp_path, monkeypatch, links):
    if not links:

        def refuse(*paths):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "file"
    write_text(path, "first")
    with pytest.raises(ParameterError, match="is there already"):
        write_text(path, "second")
    assert path.read_text() == "first"
    write_text(path, "second", force=True)
    assert path.read_text() == "second" and [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_fails_halfway_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), new_file(tmp_path / "file") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_refused_with_its_place(tmp_path, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match="No space left on device") as caught:
        write_text(tmp_path / "file", "a")
    assert caught.value.value == str(tmp_path / "file") and list(tmp_path.iterdir()) == []


def test_what_is_read_is_never_written_over(tmp_path):
    """Records, and models that were paid for, whatever is forced and by whatever name."""
    (tmp_path / "file").write_text("a")
    (tmp_path / "other").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        with pytest.raises(ParameterError, match="is a file that is read"):
            check_new(tmp_path / name, force=True, read=[None, tmp_path / "file"])
    check_new(tmp_path / "other", force=True, read=[tmp_path / "file", "none"])


def test_places_are_checked_beforehand(tmp_path):
    (tmp_path / "file").write_text("a")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for taken in ("file", "dangling"):
        with pytest.raises(ParameterError, match="is there already"):
            check_new(tmp_path / taken, force=False)
        check_new(tmp_path / taken, force=True)
    with pytest.raises(ParameterError, match="is a folder"):
        check_new(tmp_path, force=True)
    with pytest.raises(ParameterError, match="cannot be written"):
        check_writable(tmp_path / "file" / "below")
    check_writable(tmp_path / "new" / "below")
    assert (tmp_path / "new" / "below").is_dir()


def test_what_was_paid_for_finds_a_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = rescue("the model", "dpforest-model")
    assert found.parent == tmp_path and found.read_text() == "the model"
    assert found.stat().st_mode & 0o77 == 0  # whoever reads that folder

    def nowhere(*words, **more):
        raise ParameterError("--output", "x", "cannot be written", "Go")

    monkeypatch.setattr(writing, "write_text", nowhere)
    assert rescue("the model", "dpforest-model") is None
