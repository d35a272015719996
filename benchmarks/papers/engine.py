"""Runs the tasks of a table: in parallel, each once, with a line in a file as it ends."""

from __future__ import annotations

import multiprocessing
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from common.results import Line, Store
from tqdm import tqdm

#: Returns what a line is to hold beside the task: numbers, or lists of numbers.
Evaluate = Callable[["Task"], dict[str, Any]]


@dataclass(frozen=True)
class Task:
    """One unit of work.

    Attributes
    ----------
    dataset, method : str
    repeat : int
        Of the cross-validation; tasks run in this order, all datasets at repeat 0 first.
    fold : int
        Of the repeat's split; -1 where a task is all folds.
    """

    dataset: str
    method: str
    repeat: int
    fold: int

    @property
    def seed(self) -> int:
        """The same for the same task, another for every other."""
        return zlib.crc32(f"{self.dataset}/{self.method}/{self.repeat}/{self.fold}".encode())


def task_of(line: Line) -> Task:
    """The task that a line is of."""
    return Task(line["dataset"], line["method"], line["repeat"], line["fold"])


def known(lines: Iterable[Line]) -> list[Line]:
    """The lines of the tasks that ended well, the last of each."""
    good = (line for line in lines if "error" not in line)
    return list({task_of(line): line for line in good}.values())


def run(tasks: Iterable[Task], evaluate: Evaluate, results: Store, jobs: int = 1) -> list[Line]:
    """Evaluate the tasks that have no line of this code in the file yet, and append theirs.

    Parameters
    ----------
    tasks : iterable of Task
        Run by repeat, and within a repeat in the order given.
    evaluate : callable
        A function of a module (or a ``partial`` of one), so that processes can find it.
    results : Store
        A task that failed leaves an ``error`` line and is tried again next time.
    jobs : int
        Processes, each with one thread.

    Returns
    -------
    list of dict
        The lines of all given tasks that ended well: the task's fields, what ``evaluate``
        returned, ``seconds`` of processor time and ``wall`` seconds.
    """
    wanted = sorted(dict.fromkeys(tasks), key=lambda task: task.repeat)
    done = {task_of(line) for line in known(results.lines())}
    left = [task for task in wanted if task not in done]
    at_start = len(wanted) - len(left)
    with (
        closing(_lines(left, evaluate, jobs)) as lines,
        tqdm(total=len(wanted), initial=at_start, unit="fit", disable=None) as bar,
    ):
        for line in lines:
            results.append(line)
            bar.set_postfix_str(f"{line['dataset']}, {line['method']}", refresh=False)
            bar.update()
            if "error" in line:
                bar.write(f"{task_of(line)}: {line['error']}")
    asked = set(wanted)
    return [line for line in known(results.lines()) if task_of(line) in asked]


def _lines(tasks: list[Task], evaluate: Evaluate, jobs: int) -> Iterator[Line]:
    if jobs == 1:
        for task in tasks:
            yield _line(task, evaluate)
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy held locks and threads
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        futures = [pool.submit(_line, task, evaluate) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _line(task: Task, evaluate: Evaluate) -> Line:
    started, used = time.perf_counter(), time.process_time()
    try:
        values = evaluate(task)
    except Exception as error:  # the other tasks go on; the line says what happened
        values = {"error": f"{type(error).__name__}: {error}"}
    return {
        **asdict(task),
        **values,
        "seconds": round(time.process_time() - used, 4),
        "wall": round(time.perf_counter() - started, 4),
    }
