"""The child process itself: it ends with its parent, and leaves nothing behind."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from skillgit.envs.score_process import ScoreProcess, ScoreProcessError

MEMORY = 2**32


def write(tmp_path: Path, code: str) -> Path:
    path = tmp_path / "score.py"
    path.write_text(code, encoding="utf-8")
    return path


def test_ask_and_stop(tmp_path) -> None:
    process = ScoreProcess(write(tmp_path, "def score(reply, task):\n    return task['n'] / 4\n"), MEMORY)
    assert process.ask({"reply": "", "task": {"n": 3}}, 10) == {"hard": "0", "soft": "0.75", "reason": ""}
    process.kill("it was enough")
    with pytest.raises(ScoreProcessError, match="it was enough"):
        process.ask({"reply": "", "task": {"n": 3}}, 10)
    process.stop()
    process.stop()  # a second time does nothing


def test_a_worker_that_forges_the_protocol_is_found_out(tmp_path) -> None:
    code = (
        "import os\n"
        "def score(reply, task):\n"
        "    for fd in range(3, 20):\n"
        "        try:\n            os.write(fd, b'[\"forged\"]\\n')\n"
        "        except OSError:\n            pass\n"
        "    return 1\n"
    )
    process = ScoreProcess(write(tmp_path, code), MEMORY)
    with pytest.raises(ScoreProcessError, match="pipe of its answers"):
        process.ask({"reply": "", "task": {}}, 10)
    process.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked up in the POSIX way")
def test_a_killed_parent_takes_a_hanging_worker_with_it(tmp_path) -> None:
    path = write(
        tmp_path,
        "import os, time\n"
        "def score(reply, task):\n"
        "    open(task['note'], 'w').write(f'{os.getpid()} {os.getcwd()}')\n    time.sleep(600)\n",
    )
    parent = textwrap.dedent(
        f"""
        import os, sys, threading, time
        from pathlib import Path
        from skillgit.envs.score_process import ScoreProcess
        note = Path({str(tmp_path / "pid")!r})
        process = ScoreProcess(Path({str(path)!r}), {MEMORY})
        ask = lambda: process.ask({{"reply": "", "task": {{"note": str(note)}}}}, 600)
        threading.Thread(target=ask, daemon=True).start()
        while not (note.exists() and note.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), 9)
        """
    )
    ended = subprocess.run([sys.executable, "-c", parent], stdout=subprocess.PIPE, timeout=60, check=False)
    assert ended.returncode == -9
    worker, home = (tmp_path / "pid").read_text().split(" ")
    assert _ends(int(worker))
    assert not Path(home).exists()


def _ends(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False
