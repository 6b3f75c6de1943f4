#!/usr/bin/env python3
"""Records the buckets that PyTorch's own DDP fusion forms on captured programs, for ddp_test.cpp to compare with.

  ddp_buckets.py CAPTURE.json.gz... > ddp_buckets.json

Needs torch. An FX graph is rebuilt from each capture: the operators that torch/_inductor/fx_passes/ddp_fusion.py looks at are the real
ones, all others a stand-in with the same name and users. PyTorch's filter and its bucketing run on it; fusing itself is replaced by
writing down the members.
"""
import functools
import gzip
import json
import operator
import os
import sys

import torch
import torch.distributed as dist
import torch.fx as fx
from torch._inductor.fx_passes import ddp_fusion
from torch.fx.passes.shape_prop import TensorMetadata
from torch.testing._internal.distributed.fake_pg import FakeStore

BUCKET_SIZES_MB = [1, 5, 25]
OPERATORS = {
    "aten.div.Tensor": torch.ops.aten.div.Tensor,
    "aten.copy_.default": torch.ops.aten.copy_.default,
    "_c10d_functional.all_reduce.default": torch.ops._c10d_functional.all_reduce.default,
    "_c10d_functional.all_reduce_.default": torch.ops._c10d_functional.all_reduce_.default,
    "_c10d_functional.wait_tensor.default": torch.ops._c10d_functional.wait_tensor.default,
    "getitem": operator.getitem,
}


def stand_in(*_args):
    """An operator that the passes do not look at."""


def tensor_meta(out):
    dtype = getattr(torch, out["dtype"])
    return TensorMetadata(torch.Size(out["shape"]), dtype, False, tuple(out["stride"]), None, False, {})


def rebuild(capture):
    graph, nodes = fx.Graph(), []

    def argument(value):
        if isinstance(value, dict) and "n" in value:
            return nodes[value["n"]]
        if isinstance(value, list):
            return [argument(element) for element in value]
        return None if isinstance(value, dict) else value

    for record in capture["nodes"]:
        if record["kind"] == "output":
            node = graph.output(tuple(nodes[i] for i in record["in"]))
        elif record["kind"] != "op":
            node = graph.placeholder(record["name"])
        elif record["op"] in OPERATORS:
            node = graph.create_node("call_function", OPERATORS[record["op"]], tuple(argument(a) for a in record["args"]),
                                     name=record["name"])
        else:
            node = graph.create_node("call_function", stand_in, tuple(nodes[i] for i in record["in"]), name=record["name"])
        if len(record["out"]) == 1:
            node.meta["tensor_meta"] = tensor_meta(record["out"][0])
        node.meta["capture_name"] = record["name"]
        nodes.append(node)
    return graph


def buckets(capture, bucket_size_mb):
    found = []

    def record(_graph, blocks, _node_indices):
        found.append([block.comm_node.meta["capture_name"] for block in blocks])

    bucketing = functools.partial(ddp_fusion._bucket_size_fusion, bucket_size_mb=bucket_size_mb)
    ddp_fusion._fuse_ddp_communication(rebuild(capture), bucketing, record)
    return found


def main():
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    result = {"torch": torch.__version__, "captures": {}}
    for path in sys.argv[1:]:
        with gzip.open(path) as file:
            capture = json.load(file)
        name = os.path.basename(path).split(".")[0]
        result["captures"][name] = {str(size): buckets(capture, size) for size in BUCKET_SIZES_MB}
    json.dump(result, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
