#!/usr/bin/env python3
"""Makes traces/kineto_step.json.gz: what torch.profiler writes of a small step on a CPU, with collectives over gloo.

  python3 tests/data/kineto_step.py tests/data/traces/kineto_step.json.gz       (with the Python of .venv)
"""

import gzip
import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

KEPT = {"cpu_op", "user_annotation"}

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
x, w = torch.randn(64, 128), torch.randn(128, 32)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
    for _ in range(5):
        h = torch.mm(x, w)
        y = torch.relu(h) + h
        z = torch.cat([y, h])
        dist.all_reduce(y)
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    recorded.export_chrome_trace(file.name)
    trace = json.load(open(file.name))
# The machine's name and devices are nobody's business.
trace = {"schemaVersion": trace["schemaVersion"], "traceEvents": [event for event in trace["traceEvents"] if event.get("cat") in KEPT]}
with open(sys.argv[1], "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed:
    packed.write(json.dumps(trace).encode())
