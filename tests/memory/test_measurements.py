"""The figures of processes: their folder, their sums, and what of the dead stays."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from crewship_memory.metrics import pulse
from memory.measurements import declared, folder, processes, recorded
from tests import processes as other_processes

# No process has it: the kernel gives no number above 2**22.
NO_PID = 2**22 + 1
COUNTING = """
import os
from memory.measurements import processes, recorded
processes.register("web")
for _ in range({count}):
    recorded.REQUESTS.labels("7xx").inc()
recorded.VECTOR_BYTES().set({size})
print("counted", flush=True)
{end}
"""


def samples() -> dict[tuple[str, str], float]:
    """Return what is collected, by name and first label."""
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in processes.collect()
        for sample in family.samples
    }


def requests() -> float:
    return samples().get(("crewship_requests_total", "7xx"), 0.0)


def vectors() -> float:
    return samples()["crewship_vector_memory_bytes", ""]


def store(place: Path, name: str, value: float) -> None:
    """Write a file as a process does."""
    values = MmapedDict(str(place / name))  # type: ignore[no-untyped-call]
    key = mmap_key("crewship_x", "crewship_x", [], [], "A text.")
    values.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    values.close()  # type: ignore[no-untyped-call]


def stored(path: Path) -> float:
    values = MmapedDict.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
    ((_, value, _, _),) = values
    return float(value)


# ── Several processes ────────────────────────────────────────────────────────
def test_whichever_process_is_asked_gives_the_sum_of_all(db: None) -> None:
    before = requests()
    recorded.REQUESTS.labels("7xx").inc()
    other_processes.run(COUNTING.format(count=3, size=0, end=""))
    other_processes.run(COUNTING.format(count=4, size=0, end=""))
    assert requests() - before == 8


def test_what_a_killed_process_counted_stays_and_what_it_held_goes(db: None) -> None:
    requests_before, vectors_before = requests(), vectors()
    code = COUNTING.format(count=5, size=1_000, end="import time; time.sleep(300)")
    child = other_processes.Child(other_processes._run_code, code)
    assert child.stdout.readline() == "counted\n"
    assert (requests(), vectors()) == (requests_before + 5, vectors_before + 1_000)
    child.kill()
    child.communicate()
    assert (requests(), vectors()) == (requests_before + 5, vectors_before)
    # Its files were added to those of the dead: nothing is counted twice.
    assert requests() == requests_before + 5


def test_files_of_the_dead_do_not_pile_up(db: None) -> None:
    place = folder.current()
    assert place is not None
    for _ in range(3):
        other_processes.run(COUNTING.format(count=1, size=1, end=""))
    processes.register("test")
    pids = {path.stem.rpartition("_")[2] for path in place.glob("*.db")}
    assert pids <= {"0", str(os.getpid())}
    assert {path.stem for path in place.glob("*.process")} == {str(os.getpid())}


def test_counts_of_the_dead_are_added_and_moments_are_the_latest(
    tmp_path: Path,
) -> None:
    for name, value in (
        (f"counter_{NO_PID}.db", 5.0),
        (f"counter_{NO_PID + 1}.db", 7.0),
        ("counter_0.db", 30.0),
        (f"gauge_max_{NO_PID}.db", 5.0),
        (f"gauge_max_{NO_PID + 1}.db", 3.0),
        (f"gauge_livesum_{NO_PID}.db", 9.0),
    ):
        store(tmp_path, name, value)
    (tmp_path / f"counter_{NO_PID + 2}.db").touch()
    processes._fold(tmp_path)
    names = {path.name for path in tmp_path.glob("*.db")}
    assert names == {"counter_0.db", "gauge_max_0.db"}
    assert stored(tmp_path / "counter_0.db") == 42.0
    assert stored(tmp_path / "gauge_max_0.db") == 5.0


def test_a_command_at_work_keeps_its_files(tmp_path: Path) -> None:
    store(tmp_path, f"counter_{os.getpid()}.db", 1.0)
    processes._fold(tmp_path)
    assert [path.name for path in tmp_path.glob("*.db")] == [
        f"counter_{os.getpid()}.db"
    ]


def test_a_later_process_of_the_same_number_is_not_the_one_that_registered(
    tmp_path: Path,
) -> None:
    (tmp_path / f"{os.getpid()}.process").write_text("web 1")
    assert processes.live(tmp_path) == {}


def test_nothing_recorded_yet_is_zero() -> None:
    names = {family.name for family in processes.collect()}
    assert {"crewship_embedder_up", "crewship_query_cache_hits"} <= names


# ── The folder ───────────────────────────────────────────────────────────────
@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the folder of this process back afterwards."""
    monkeypatch.setattr(folder._process_folder, "path", folder._process_folder.path)


def test_the_folder_is_for_this_account_alone(own_folder: None, tmp_path: Path) -> None:
    place = folder.prepared(tmp_path / "figures", tmp_path)
    assert place is not None
    assert place.stat().st_mode & 0o777 == 0o700
    assert folder.current() == place


def test_a_link_in_its_place_is_not_followed(own_folder: None, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "figures").symlink_to(tmp_path / "elsewhere")
    assert folder.prepared(tmp_path / "figures", tmp_path) is None
    assert folder.current() is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_without_room_nothing_is_mapped(
    own_folder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mapped file on a full disk would end the process that writes to it."""
    monkeypatch.setattr(folder, "LEAST_BYTES", 2**62)
    assert folder.prepared(tmp_path / "figures", tmp_path) is None
    # Each process then counts for itself, and a scrape still answers.
    assert list(processes.collect())


def test_machines_and_installations_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = folder.default(tmp_path / "one")
    assert first == folder.default(tmp_path / "one")
    assert first != folder.default(tmp_path / "two")
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert first != folder.default(tmp_path / "one")


def test_a_folder_whose_installation_is_gone_is_removed(
    own_folder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "IN_MEMORY", tmp_path)
    for name in ("present", "gone"):
        (tmp_path / name).mkdir()
        folder.prepared(folder.default(tmp_path / name), tmp_path / name)
    (tmp_path / "gone").rmdir()
    folder.remove_forsaken(folder.default(tmp_path / "own"))
    folders = set(tmp_path.glob("crewship-metrics-*"))
    assert folders == {folder.default(tmp_path / "present")}


def test_a_folder_of_another_account_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where anybody may write, its file could be a pipe that nobody ever fills."""
    place = tmp_path / f"{folder._prefix()}other"
    place.mkdir()
    os.mkfifo(place / folder.HOME)
    folder.remove_forsaken(tmp_path / "own")
    (place / folder.HOME).unlink()
    (place / folder.HOME).write_text(str(tmp_path / "gone"))
    status = os.lstat(place)
    other = os.stat_result((*status[:4], status.st_uid + 1, *status[5:10]))
    monkeypatch.setattr(Path, "lstat", lambda _path: other)
    folder.remove_forsaken(tmp_path / "own")
    assert place.exists()


def test_a_figure_that_cannot_be_read_ends_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thread, beats = pulse.Pulse(), list[int]()

    def beat() -> None:
        beats.append(1)
        if len(beats) == 2:
            thread.ended.set()
        raise RuntimeError

    monkeypatch.setattr(pulse, "SECONDS", 0.0)
    monkeypatch.setattr(pulse, "beat", beat)
    thread.run()
    assert len(beats) == 2


# ── Declarations ─────────────────────────────────────────────────────────────
def test_no_label_names_anybody() -> None:
    labels = {label for figure in declared.figures() for label in figure.labels}
    pattern = re.compile(r"user|person|subject|tenant|workspace|crew|agent|path|url")
    assert not [label for label in labels if pattern.search(label)]
    # Prometheus's own: it would rename ours.
    assert labels.isdisjoint({"job", "instance"})


def test_a_name_is_declared_once() -> None:
    with pytest.raises(RuntimeError, match="crewship_requests_total"):
        declared.counter("requests", "Again.", ["status"])
