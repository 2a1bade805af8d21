"""What keeps a story's interpreter from files, networks and other processes, on Linux.

Landlock limits files, seccomp refuses sockets. Both hold for the thread that asks for them and for
all that it starts, need no privileges, and cost a few system calls. So a process is started from a
thread of its own, confined before: nothing has to run between its fork and its exec.
"""

import ctypes
import gc
import logging
import os
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

# linux/landlock.h; the numbers of the system calls are the same on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR = (1 << bit for bit in range(5))
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights a version knows; from the fifth on 16."""
_TCP, _TCP_SINCE = 0b11, 4
_SCOPES, _SCOPES_SINCE = 0b11, 6
"""Abstract sockets and signals of processes outside."""
# linux/prctl.h
_SET_SECCOMP, _FILTER, _NO_NEW_PRIVS = 22, 2, 38
# linux/filter.h, linux/seccomp.h
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ARCHITECTURE, _CALL = 4, 0
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | 13
_SOCKET: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The architecture as seccomp names it (linux/audit.h), and its number of the call ``socket``."""
_IO_URING_SETUP, _X32 = 425, 0x40000000
"""A ring makes sockets, too; calls from the second number on are those of a foreign kind."""
_SYSTEM: Final = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache"),
    *("/nix/store", "/gnu/store"),
)
"""Where programs and their libraries are."""
_one_at_a_time: Final = threading.Lock()
_logger = logging.getLogger(__name__)


def confine(folder: Path, readable: Iterable[Path], *, may_remove: bool = False) -> None:
    """Confine this thread, and what it starts, to one folder, some paths and no network.

    Args:
        folder: Where it may do everything.
        readable: What it may read and run beside the system's programs and libraries.
        may_remove: Whether it may also remove the folder, and empty ones beside it.
    """
    version, refusing = _landlock_version(), _refusing_sockets()
    if not version and not refusing:
        return
    libc = _libc()
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    # struct sock_fprog: how many instructions, and where they are.
    program = struct.pack("HP", len(refusing) // 8, ctypes.addressof(refusing)) if refusing else b""
    if program and libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0):
        _tell(f"an interpreter can use the network (seccomp: {_reason()})")
    if not version:
        return
    every = (1 << _RIGHTS.get(version, 16)) - 1
    rules = dict.fromkeys((*_system(), *readable), _READ)
    rules |= {folder.parent: _REMOVE_DIR} if may_remove else {}
    tcp = _TCP if version >= _TCP_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    ruleset = struct.pack("=QQQ", every, tcp, scopes)  # struct landlock_ruleset_attr
    rights = libc.syscall(_CREATE_RULESET, ruleset, len(ruleset), 0)
    try:
        for path, allowed in {**rules, folder: every}.items():
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
            allowed &= every if is_folder else every & _OF_FILES
            rule = struct.pack("=Qi", allowed, place)  # struct landlock_path_beneath_attr
            libc.syscall(_ADD_RULE, rights, _PATH_BENEATH, rule, 0)
            os.close(place)
        if libc.syscall(_RESTRICT_SELF, rights, 0):
            _tell(f"an interpreter can read your files (Landlock: {_reason()})")
    finally:
        os.close(rights)


def started_confined(
    start: Callable[[], subprocess.Popen[bytes]], folder: Path, readable: Iterable[Path]
) -> subprocess.Popen[bytes]:
    """Return the process that ``start`` starts, confined as by ``confine``.

    ``start`` can open nothing else, so what it needs is opened before.

    Raises: OSError as ``start`` does.
    """
    if not _landlock_version() and not _refusing_sockets():
        return start()
    done: Future[subprocess.Popen[bytes]] = Future()

    def start_it() -> None:
        try:
            confine(folder, readable)
            done.set_result(start())
        except BaseException as error:  # noqa: BLE001  of the thread that waits
            done.set_exception(error)

    thread = threading.Thread(target=start_it)
    with _without_garbage_collection():
        thread.start()
        try:
            thread.join()
        except BaseException:  # interrupted: nobody else would end the process
            thread.join()
            with suppress(Exception):
                done.result().kill()
                done.result().wait()
            raise
    return done.result()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Keep finalizers of others, which may need files, from running in a confined thread."""
    with _one_at_a_time:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                gc.enable()


@cache
def _system() -> tuple[Path, ...]:
    """Return what is there of ``_SYSTEM``, without what lies in another of them."""
    there = {path.resolve() for path in map(Path, _SYSTEM) if path.exists()}
    return tuple(path for path in there if not there & {*path.parents})


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


@cache
def _tell(what: str) -> None:
    """Say it once in a program."""
    _logger.debug("On this system, %s.", what)


@cache
def _landlock_version() -> int:
    """Return which Landlock the kernel has; 0 for none."""
    version: int = -1
    if sys.platform == "linux":
        version = _libc().syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        _tell("an interpreter can read your files (the kernel has no Landlock)")
    return max(0, version)


@cache
def _refusing_sockets() -> ctypes.Array[ctypes.c_char] | None:
    """Return the filter that refuses sockets; None where this system has none that is known."""
    if sys.platform != "linux" or os.uname().machine not in _SOCKET:
        _tell("an interpreter can use the network (there is no filter for it)")
        return None
    architecture, socket = _SOCKET[os.uname().machine]
    instructions = (
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 0, 5, architecture),
        (_LOAD, 0, 0, _CALL),
        (_IF_AT_LEAST, 3, 0, _X32),
        (_IF_EQUAL, 2, 0, socket),
        (_IF_EQUAL, 1, 0, _IO_URING_SETUP),
        (_RETURN, 0, 0, _ALLOWED),
        (_RETURN, 0, 0, _REFUSED),
    )
    # struct sock_filter: a code, how far to jump if it holds and if not, and a value
    code = b"".join(struct.pack("=HBBI", *it) for it in instructions)
    return ctypes.create_string_buffer(code, len(code))
