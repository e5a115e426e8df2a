"""Imports torch and Triton once, and forks a process for each script that it is asked to run: warm.py SOCKET SECONDS-WITHOUT-WORK."""
import contextlib
import json
import os
import runpy
import socket
import struct
import sys
import threading
import traceback


def main(path, idle):
    import torch
    import triton.language

    with contextlib.suppress(ImportError):
        import triton.compiler
        import triton.backends.nvidia.compiler
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{path}.{os.getpid()}")
    server.listen()
    os.rename(f"{path}.{os.getpid()}", path)  # it is there when it answers
    server.settimeout(float(idle))
    working = set()
    while True:
        with contextlib.suppress(TimeoutError):
            connection, _ = server.accept()
            with contextlib.suppress(OSError, ValueError, struct.error):
                connection.settimeout(5)
                working.add(answer(server, connection))
            connection.close()
            continue
        working = {pid for pid in working if pid and os.waitpid(pid, os.WNOHANG)[0] == 0}
        if not working:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return


def answer(server, connection):
    """Forks for one request, which has standard input, output and errors with it; returns the process."""
    length, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    request = b""
    while len(request) < struct.unpack(">Q", length)[0]:
        part = connection.recv(1 << 20)
        if not part:
            return None
        request += part
    request = json.loads(request)
    pid = os.fork()
    if pid == 0:
        server.close()
        run(connection, descriptors, **request)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def run(connection, descriptors, argv, env, folder):
    """Runs a script as a Python of its own would, in a process that ends with the one that has asked for it."""
    code = 1
    try:
        for place, descriptor in enumerate(descriptors):
            os.dup2(descriptor, place)
            os.close(descriptor)
        connection.settimeout(None)
        connection.sendall(struct.pack(">Q", os.getpid()))
        threading.Thread(target=end_with, args=(connection,), daemon=True).start()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(entry.split("=", 1) for entry in env)
        sys.argv, sys.path[0] = argv, os.path.dirname(os.path.abspath(argv[0]))
        runpy.run_path(argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end_with(connection):
    connection.recv(1)
    os._exit(1)


main(*sys.argv[1:])
