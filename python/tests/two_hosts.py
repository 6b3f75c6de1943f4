"""Two hosts on one machine: network namespaces with host names of their own, and a cable between them.

    with TwoHosts() as hosts:
        hosts.torchrun("train.py", ranks_per_host=2)
"""

import contextlib
import os
import shutil
import subprocess
import sys

ADDRESSES = ("10.231.0.1", "10.231.0.2")  # inside the namespaces only
PORT = "29511"
RATE = "1gbit"


def impossible():
    """Why there can't be two hosts here; empty if there can."""
    if os.geteuid() != 0:
        return "two hosts need root, to make network namespaces"
    missing = [program for program in ("ip", "tc", "unshare") if shutil.which(program) is None]
    if missing:
        return f"two hosts need the program {missing[0]}, which is not on the PATH"
    try:
        with TwoHosts(number=f"try{os.getpid()}"):
            return ""
    except subprocess.CalledProcessError as refused:
        return f"two hosts need what this kernel or container does not allow: {' '.join(refused.cmd)}"


class TwoHosts:
    def __init__(self, number=None):
        number = number or os.getpid()
        self.names = [f"hkpy{number}{letter}" for letter in "ab"]

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _make(self):
        for name in self.names:
            _do(f"ip netns add {name}")
            _do(f"ip -n {name} link set lo up")
            _do(f"ip netns exec {name} unshare --uts hostname {name}")  # may it have a name of its own?
        _do(f"ip link add hkv1 netns {self.names[0]} type veth peer name hkv2 netns {self.names[1]}")
        for number, (name, address) in enumerate(zip(self.names, ADDRESSES), start=1):
            _do(f"ip -n {name} addr add {address}/24 dev hkv{number}")
            _do(f"ip -n {name} link set hkv{number} up")
            _do(f"tc -n {name} qdisc add dev hkv{number} root tbf rate {RATE} burst 256kb latency 100ms")

    def _remove(self):
        for name in self.names:
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
            for pid in found.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def _command(self, host, words):
        """With a host name of its own, as ranks of two hosts have."""
        starts = f"hostname {self.names[host]}; exec \"$@\""
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c", starts, "sh", *words]

    def torchrun(self, script, ranks_per_host, seconds=200):
        """(exit codes, what was written) by torchrun on each host."""
        launchers = []
        for host in range(2):
            words = [sys.executable, "-B", "-m", "torch.distributed.run", "--nnodes=2", f"--nproc-per-node={ranks_per_host}"]
            words += [f"--node-rank={host}", f"--master-addr={ADDRESSES[0]}", f"--master-port={PORT}", str(script)]
            environment = {**os.environ, "GLOO_SOCKET_IFNAME": f"hkv{host + 1}", "OMP_NUM_THREADS": "1"}
            launchers.append(
                subprocess.Popen(
                    self._command(host, words), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                )
            )
        outputs = [launcher.communicate(timeout=seconds)[0] for launcher in launchers]
        return [launcher.returncode for launcher in launchers], "".join(outputs)


def _do(command):
    subprocess.run(command.split(), check=True, capture_output=True)
