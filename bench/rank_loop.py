"""What ranks in Python have in common: their cores, and the lines that the driver sends. comm/rank_loop.h is the same in C++."""

import os
import signal
import socket

WATCHDOG_SECONDS = 180  # as comm/rank_loop.cpp: a rank that gets stuck does not outlive the driver for long


def start_watchdog():
    signal.alarm(WATCHDOG_SECONDS)


def stop_watchdog():
    signal.alarm(0)


def bind_to_cores(affinity, rank):
    """Before torch is imported: its threads inherit this."""
    cores = sorted(os.sched_getaffinity(0))
    if affinity == "each":
        os.sched_setaffinity(0, {cores[rank]})
    elif affinity == "two":
        os.sched_setaffinity(0, set(cores[:2]))


def serve(control, rank, answer_to):
    """Answers the lines that come from the socket at `control` until the driver says quit or is gone."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(control)
    lines = connection.makefile("rw")
    print(f"ready {rank}", file=lines, flush=True)
    stop_watchdog()
    for line in lines:
        words = line.split()
        if words[0] == "quit":
            return
        start_watchdog()
        answer = answer_to(words)
        stop_watchdog()
        print(answer, file=lines, flush=True)
