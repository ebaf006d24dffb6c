# ruff: noqa: E501
import contextlib
import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from tests.reward.code.attempts import FUNCTIONS, GUARD, HARMFUL, SCRIPTS
from tests.reward.code.processes import children, launcher

from winnow.reward.code import Case, Tests, verify

SECRET = "secret-48151623"
MARKER = f"winnow-escaped-{os.getpid()}"
HOST_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/root", "/", str(Path(__file__).parent), os.getcwd())


class Host:
    """A machine that keeps the secret wherever a program might look, and notices visits."""

    def __init__(self, folder: Path):
        self.visits: list[str] = []
        self.signals: list[int] = []
        self.file = folder / "secret.txt"
        self.file.write_text(SECRET)
        self.file.chmod(0o644)
        self.descriptor = os.open(self.file, os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)
        os.environ["WINNOW_SECRET"] = SECRET
        self.unix, self.abstract = str(folder / "s"), f"winnow-{os.getpid()}"
        self.servers = [self._listen(socket.AF_INET, ("127.0.0.1", 0))]
        self.servers += [self._listen(socket.AF_UNIX, at) for at in (self.unix, f"\0{self.abstract}")]
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(self.servers[0].getsockname())
        self.datagrams.setblocking(False)
        for number in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(number, lambda number, _: self.signals.append(number))

    def _listen(self, family, address):
        server = socket.create_server(address, family=family)
        threading.Thread(target=self._answer, args=(server,), daemon=True).start()
        return server

    def _answer(self, server):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                self.visits.append(str(server.getsockname()))
                connection.sendall(SECRET.encode())
                connection.close()

    def fill(self, program: str) -> str:
        words = {
            "SECRET_FILE": self.file,
            "MARKER": MARKER,
            "PARENT": os.getpid(),
            "LAUNCHER": launcher(),
            "PORT": self.servers[0].getsockname()[1],
            "UNIX_PATH": self.unix,
            "ABSTRACT_NAME": self.abstract,
        }
        for word, value in words.items():
            program = program.replace(word, str(value))
        return program

    def check(self):
        assert self.visits == []
        assert self.signals == []
        with pytest.raises(BlockingIOError):
            self.datagrams.recv(1)
        assert [folder for folder in HOST_FOLDERS if os.path.exists(os.path.join(folder, MARKER))] == []
        assert self.file.read_text() == SECRET

    def close(self):
        for server in (*self.servers, self.datagrams):
            server.close()
        os.close(self.descriptor)
        del os.environ["WINNOW_SECRET"]


@pytest.fixture(scope="module")
def host(tmp_path_factory, isolated):
    handlers = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGTERM)}
    host = Host(tmp_path_factory.mktemp("host"))
    yield host
    host.close()
    for number, handler in handlers.items():
        signal.signal(number, handler)


# Just long enough for the slowest that is meant to end by itself.
LIMITS = {"timeout": 0.6, "memory_mb": 128, "max_output": 1 << 14}


@pytest.mark.parametrize("attempt", SCRIPTS)
def test_script(attempt, host, no_leftovers):
    before = launcher()
    program = (GUARD if attempt in HARMFUL else "") + SCRIPTS[attempt]
    verdict = verify(host.fill(program), Tests([Case(stdin="7\n", stdout=SECRET)]), **LIMITS)
    assert (verdict.score, verdict.outcome) == (0.0, 0.0), verdict.reason
    assert verdict.reason
    host.check()
    assert children(launcher()) == []
    assert launcher() == before


def test_harmful_attempts_are_made(host):
    """The guard lets them pass in the sandbox."""
    program = host.fill(GUARD + "print('SECRET_FILE')")
    assert verify(program, Tests([Case(stdout=str(host.file))])).outcome == 1.0
    assert SCRIPTS.keys() >= HARMFUL


EXPECTED = [4815, 16.25, "secret", [2, 3], {"a": 4}, (5,)]


@pytest.mark.parametrize("attempt", FUNCTIONS)
def test_function(attempt, host, no_leftovers):
    tests = Tests([Case(args=[index], expected=value) for index, value in enumerate(EXPECTED)], function="f")
    verdict = verify(host.fill(FUNCTIONS[attempt]), tests, **LIMITS)
    assert (verdict.score, verdict.outcome) == (0.0, 0.0), verdict.reason
    assert verdict.reason
    host.check()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_host_would_notice(host):
    """The traps work: a program with the rights of this process gets the secret."""
    for attempt in ("read a file of the host", "tcp", "unix socket", "abstract socket"):
        seen = []
        program = host.fill(SCRIPTS[attempt])
        exec(program, {"print": lambda *words, seen=seen: seen.extend(words), "__name__": "__main__"})
        assert seen == [SECRET]
    assert len(host.visits) == 3
    host.visits.clear()


def test_next_program_is_not_changed_by_the_last(isolated):
    breaker = "import builtins, json, os\njson.dumps = builtins.print = builtins.len = None\nopen('x', 'w').write('x')\ndef f(x): return 1"
    tests = Tests([Case(args=[1], expected=["1", 2, []])], function="f")
    checker = "import json, os\ndef f(x): return [json.dumps(x), len('ab'), os.listdir('.')]"
    verify(breaker, tests)
    assert verify(checker, tests).outcome == 1.0
