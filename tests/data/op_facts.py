#!/usr/bin/env python3
"""Writes op_facts.json.gz: single operator calls on awkward layouts with the types that PyTorch gives their results.

    python tests/data/op_facts.py tests/data/op_facts.json.gz            # what the tests read
    python tests/data/op_facts.py /tmp/random.json.gz --random 20000     # random layouts, for a search by hand

The file is a graph of schema commgraph/1 whose calls have nothing to do with each other. Needs torch 2.13 (CPU is enough):
calls run on fake tensors of a fake CUDA device, as captures do.
"""

import argparse
import gzip
import json
import logging
import random
import sys

import torch
import torch._inductor.inductor_prims  # noqa: F401, registers prims
import torch.distributed as dist
import torch.distributed._functional_collectives  # noqa: F401, registers operators
import torch.distributed.fsdp  # noqa: F401
import torch.distributed.tensor  # noqa: F401
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.flop_counter import flop_registry

DEVICE = "cuda"
GROUP_SIZE = 4
RANK = 1

# (shape, strides, offset)
LAYOUTS = [
    ((4, 6), (6, 1), 0),
    ((4, 6), (1, 4), 0),  # transposed
    ((4, 6), (12, 2), 3),  # gaps
    ((4, 6), (0, 1), 0),  # expanded
    ((4, 1, 6), (1, 77, 4), 0),  # dense, with an odd stride where the size is 1
    ((1, 6), (100, 1), 0),
    ((2, 3, 4), (1, 8, 2), 0),  # dims in another order
    ((2, 3, 4), (40, 4, 1), 5),
    ((2, 3, 4, 5), (60, 1, 15, 3), 0),  # channels last
    ((2, 1, 4, 5), (20, 1, 5, 1), 0),  # one channel: contiguous and channels last
    ((3, 0, 2), (2, 2, 1), 0),
    ((), (), 0),
    ((7,), (3,), 0),
]
# Pairs that broadcast.
PAIRS = [
    (((2, 3, 4), (12, 4, 1), 0), ((2, 3, 4), (12, 4, 1), 0)),
    (((2, 3, 4), (1, 8, 2), 0), ((2, 3, 4), (1, 8, 2), 0)),
    (((2, 3, 4), (1, 8, 2), 0), ((2, 3, 4), (12, 4, 1), 0)),
    (((2, 3, 4), (12, 4, 1), 0), ((2, 3, 4), (1, 8, 2), 0)),
    (((2, 3, 4), (1, 8, 2), 0), ((4,), (1,), 0)),
    (((4,), (1,), 0), ((2, 3, 4), (1, 8, 2), 0)),
    (((2, 3, 1), (3, 1, 1), 0), ((1, 3, 4), (12, 1, 3), 0)),
    (((2, 1, 4), (4, 4, 1), 0), ((3, 1), (1, 1), 0)),
    (((4, 6), (0, 1), 0), ((4, 6), (1, 0), 0)),  # both expanded
    (((4, 6), (12, 2), 0), ((4, 6), (6, 1), 0)),
    (((2, 3, 4, 5), (60, 1, 15, 3), 0), ((2, 3, 4, 5), (60, 1, 15, 3), 0)),
    (((2, 3, 4, 5), (60, 1, 15, 3), 0), ((1, 3, 1, 1), (3, 1, 1, 1), 0)),
    (((4, 1, 6), (1, 77, 4), 0), ((4, 1, 6), (1, 77, 4), 0)),
    (((4, 1, 6), (1, 77, 4), 0), ((4, 1, 6), (6, 6, 1), 0)),
    (((4, 6), (1, 4), 0), ((), (), 0)),
    (((), (), 0), ((), (), 0)),
    (((3, 0, 2), (2, 2, 1), 0), ((2,), (1,), 0)),
]
TRIPLES = [
    (((2, 3, 4), (1, 8, 2), 0),) * 3,
    (((2, 3, 4), (12, 4, 1), 0), ((2, 3, 4), (1, 8, 2), 0), ((4,), (1,), 0)),
    (((4, 6), (1, 4), 0), ((4, 6), (6, 1), 0), ((), (), 0)),
    (((2, 3, 1), (3, 1, 1), 0), ((1, 3, 4), (12, 1, 3), 0), ((2, 1, 1), (1, 1, 1), 0)),
]
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.complex64, torch.complex128]
f32, f16, bf16, i64, i32, b8, c64 = torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool, torch.complex64
SOME_DTYPES = [torch.float16, torch.int32, torch.bool, torch.complex64]

M1 = ((4, 6), (6, 1), 0)


class Facts:
    def __init__(self):
        self.mode = FakeTensorMode()
        self.nodes, self.storages, self.node_of, self.storage_of = [], [], {}, {}
        self.placeholders, self.kept, self.calls_of = {}, [], {}
        self.refused = []

    def add(self, node, tensors):
        node = {"id": len(self.nodes), **node}
        node["out"] = [self.described(t, node["id"]) for t in tensors]
        self.nodes.append(node)
        for t in tensors:
            self.node_of[id(t)] = node["id"]
            self.kept.append(t)
        return node["id"]

    def described(self, t, node):
        key = t.untyped_storage()._cdata
        if key not in self.storage_of:
            self.storage_of[key] = len(self.storages)
            self.storages.append({"id": len(self.storages), "bytes": t.untyped_storage().nbytes(), "alloc_by": node})
            self.kept.append(t.untyped_storage())
        return {"shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch."), "stride": list(t.stride()),
                "offset": t.storage_offset(), "device": str(t.device), "storage": self.storage_of[key]}

    def tensor(self, layout, dtype=torch.float32, own=False, device=DEVICE):
        """A graph input; `own`: not shared with other calls, since this one writes it."""
        key = (layout, dtype, device)
        if own or key not in self.placeholders:
            shape, strides, offset = layout
            reach = offset + (0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides)))
            with self.mode:
                t = torch.empty(reach, dtype=dtype, device=device).as_strided(shape, strides, offset)
            self.add({"name": f"x{len(self.nodes)}", "kind": "placeholder", "in": []}, [t])
            if own:
                return t
            self.placeholders[key] = t
        return self.placeholders[key]

    def on_cpu(self, value):
        """The same arguments on the CPU, for kernels that a build without CUDA lacks."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.on_cpu(v) for v in value)
        if not isinstance(value, FakeTensor):
            return value
        return self.tensor((tuple(value.shape), value.stride(), value.storage_offset()), value.dtype, device="cpu")

    def encoded(self, value, ins):
        if isinstance(value, FakeTensor):
            ins.append(self.node_of[id(value)])
            return {"n": ins[-1]}
        if isinstance(value, (list, tuple)):
            return [self.encoded(v, ins) for v in value]
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        return value

    def call(self, name, *args, **kwargs):
        """Records a call, unless PyTorch refuses it."""
        space, base, overload = (name if name.count(".") > 1 else name + ".default").split(".")
        op = getattr(getattr(getattr(torch.ops, space), base), overload)
        try:
            with self.mode:
                result = op(*args, **kwargs)
        except Exception as error:  # noqa: BLE001: whatever it is, the call is no fact
            if "not linked with support for cuda" in str(error):
                return self.call(name, *self.on_cpu(args), **{k: self.on_cpu(v) for k, v in kwargs.items()})
            self.refused.append((op, str(error).splitlines()[0]))
            return None
        ins = []
        shown_args = [self.encoded(a, ins) for a in args]
        shown_kwargs = {k: self.encoded(v, ins) for k, v in kwargs.items()}
        ins = list(dict.fromkeys(ins))
        several = isinstance(result, (list, tuple))
        results = [t for t in (result if several else [result]) if isinstance(t, torch.Tensor)]
        if any(t.dtype == torch.complex32 for t in results):  # hocket has no such dtype
            return None
        written = [a for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        mutated = []
        for argument in written:
            position = [a.name for a in op._schema.arguments].index(argument.name)
            value = kwargs.get(argument.name, args[position] if position < len(args) else None)
            self.encoded(value, mutated)
        node = {"name": f"y{len(self.nodes)}", "kind": "op", "op": str(op), "in": ins, "args": shown_args}
        if shown_kwargs:
            node["kwargs"] = shown_kwargs
        inputs_by_storage = {o["storage"]: i for i in reversed(ins) for o in self.nodes[i]["out"]}
        shared = [self.storage_of.get(t.untyped_storage()._cdata) for t in results]
        views = [inputs_by_storage[s] for s in shared if s in inputs_by_storage]
        if views:
            node["view_of"] = views[0]
        if mutated:
            node["mutates"] = mutated
        if several:
            node["multi"] = True
        if op.overloadpacket in flop_registry and overload == "default":
            node["flops"] = int(flop_registry[op.overloadpacket](*args, **kwargs, out_val=result))
        kind = next((kind for part, kind in COLLECTIVES.items() if part in base and space in COMM_SPACES), None)
        if kind:
            size = lambda ids: sum(torch.empty(o["shape"], dtype=getattr(torch, o["dtype"]), device="meta").nbytes for i in ids for o in self.nodes[i]["out"])  # noqa: E731
            node["coll"] = {"kind": kind, "group": "0", "bytes_in": size(ins), "bytes_out": sum(t.nbytes for t in results)}
        self.add(node, results)
        self.calls_of[str(op)] = self.calls_of.get(str(op), 0) + 1
        return result

    def write(self, path):
        last = {"id": len(self.nodes), "name": "output", "kind": "output", "in": [], "args": [], "out": []}
        graph = {"schema": "commgraph/1", "name": "op_facts", "description": "single operator calls, made by tests/data/op_facts.py",
                 "torch": torch.__version__, "world_size": GROUP_SIZE, "rank": RANK,
                 "groups": [{"name": "0", "size": GROUP_SIZE, "ranks": list(range(GROUP_SIZE))}],
                 "storages": self.storages, "nodes": [*self.nodes, last]}
        with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
            packed.write(json.dumps(graph, separators=(",", ":")).encode())


COLLECTIVES = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "all_to_all": "all_to_all",
               "alltoall": "all_to_all", "broadcast": "broadcast", "isend": "p2p", "irecv": "p2p", "p2p": "p2p"}
COMM_SPACES = {"_c10d_functional", "_c10d_functional_autograd", "_dtensor", "symm_mem"}

# ---- pointwise operators: tensors first, then numbers

UNARY = """acos acosh asin asinh atan atanh cos cosh digamma erf erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p log2 logit reciprocal
rsqrt sigmoid sin sinc sinh sqrt tan tanh deg2rad rad2deg neg relu ceil floor round trunc frac sgn sign bitwise_not square silu gelu mish
conj_physical relu6 hardswish hardsigmoid hardtanh leaky_relu elu celu selu nan_to_num softplus hardshrink softshrink log_sigmoid abs
logical_not isnan isinf isfinite isneginf isposinf signbit""".split()
UNARY_NOT_IN_PLACE = "softplus hardshrink softshrink log_sigmoid isnan isinf isfinite isneginf isposinf signbit".split()
BINARY_IN_PLACE = """add.Tensor sub.Tensor mul.Tensor remainder.Tensor fmod.Tensor nextafter gcd lcm hypot heaviside bitwise_and.Tensor
bitwise_or.Tensor bitwise_xor.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor clamp_min.Tensor clamp_max.Tensor div.Tensor
true_divide.Tensor atan2 copysign.Tensor xlogy.Tensor eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor logical_and logical_or
logical_xor pow_.Tensor floor_divide_.Tensor""".split()
BINARY = """rsub.Tensor floor_divide max.other min.other maximum minimum fmax fmin logaddexp logaddexp2 pow.Tensor_Tensor __and__.Tensor __or__.Tensor
__xor__.Tensor __lshift__.Tensor __rshift__.Tensor isclose complex polar gelu_backward silu_backward sigmoid_backward tanh_backward mish_backward
hardswish_backward hardsigmoid_backward logit_backward native_dropout_backward""".split()
WITH_NUMBER_IN_PLACE = """add.Scalar sub.Scalar mul.Scalar remainder.Scalar fmod.Scalar bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar
bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar clamp_min clamp_max div.Scalar true_divide.Scalar copysign.Scalar
xlogy.Scalar_Other eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar pow_.Scalar floor_divide_.Scalar clamp threshold""".split()
WITH_NUMBER = """rsub.Scalar floor_divide.Scalar pow.Tensor_Scalar __and__.Scalar __or__.Scalar __xor__.Scalar __lshift__.Scalar
__rshift__.Scalar add.Tensor mul.Tensor div.Tensor""".split()
NUMBER_FIRST = """remainder.Scalar_Tensor pow.Scalar bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor
bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor xlogy.Scalar_Self""".split()
PRIMS_UNARY = """acos acosh asin asinh atan atanh bitwise_not cbrt ceil conj_physical cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor
lgamma log log10 log1p log2 neg reciprocal round rsqrt sign sin sinh sqrt tan tanh trunc abs isfinite""".split()
PRIMS_BINARY = """add sub mul div atan2 bitwise_and bitwise_or bitwise_xor fmax fmin fmod gcd hypot maximum minimum nextafter pow remainder
shift_left shift_right_arithmetic eq ne lt le gt ge""".split()
# Tracing converts the operands of these after it has broadcast them, which changes the layout; kernels don't.
CONVERT_FIRST = "heaviside logical_and logical_or logical_xor logaddexp logaddexp2".split()
INTEGERS_ONLY = "gcd lcm bitwise shift __and__ __or__ __xor__ __lshift__ __rshift__".split()


def in_place(name):
    base, dot, overload = name.partition(".")
    return name if base.endswith("_") and not base.endswith("__") else f"{base}_{dot}{overload}"


def dtype_for(name):
    return i32 if any(part in name for part in INTEGERS_ONLY) else f32


def pointwise(f):
    f.call("aten.conj_physical", f.tensor(LAYOUTS[2], c64))
    for name in UNARY:
        dtype = dtype_for(name)
        for layout in LAYOUTS if name in ("exp", "neg", "isnan", "gelu") else LAYOUTS[1:8:3]:
            f.call("aten." + name, f.tensor(layout, dtype))
        for dtype in DTYPES if name in ("exp", "neg", "abs", "isnan", "relu") else SOME_DTYPES:
            if (name, dtype) != ("hardshrink", b8):  # no kernel has that
                f.call("aten." + name, f.tensor(LAYOUTS[6], dtype))
        if name not in UNARY_NOT_IN_PLACE:
            f.call("aten." + in_place(name), f.tensor(LAYOUTS[2], dtype_for(name), own=True))
    f.call("aten.round.decimals", f.tensor(LAYOUTS[1]), decimals=2)
    f.call("aten.round_.decimals", f.tensor(LAYOUTS[1], own=True), decimals=2)
    for name in BINARY_IN_PLACE + BINARY:
        dtype = dtype_for(name)
        functional = name.replace("_.", ".") if name.startswith(("pow_", "floor_divide_")) else name
        if functional == name:
            for a, b in PAIRS if name in ("add.Tensor", "div.Tensor", "eq.Tensor", "maximum") else PAIRS[2:9:3]:
                if name in CONVERT_FIRST and a[0] != b[0]:
                    continue
                f.call("aten." + name, f.tensor(a, dtype), f.tensor(b, dtype), *([0.5] if name == "native_dropout_backward" else []))
            for other in SOME_DTYPES:
                f.call("aten." + name, f.tensor(M1, dtype), f.tensor(M1, other), *([0.5] if name == "native_dropout_backward" else []))
        if name in BINARY_IN_PLACE:
            f.call("aten." + in_place(name), f.tensor(LAYOUTS[1], dtype, own=True), f.tensor(M1, dtype))
            f.call("aten." + in_place(name), f.tensor(LAYOUTS[1], dtype, own=True), f.tensor(((6,), (1,), 0), dtype))
    for a in DTYPES:
        for b in DTYPES:
            f.call("aten.add.Tensor", f.tensor(M1, a), f.tensor(((6,), (1,), 0), b))
            f.call("aten.mul.Tensor", f.tensor(M1, a), f.tensor(((), (), 0), b))
        for number in (2, 0.5, True):
            f.call("aten.mul.Tensor", f.tensor(M1, a), number)
            f.call("aten.pow.Tensor_Scalar", f.tensor(M1, a), number)
        f.call("aten.div.Tensor", f.tensor(M1, a), f.tensor(M1, a))
    for name in WITH_NUMBER_IN_PLACE + WITH_NUMBER:
        dtype = dtype_for(name)
        numbers = (1, 2) if name == "threshold" else (2,)
        if not name.startswith(("pow_", "floor_divide_")):
            for layout in LAYOUTS[1:8:2]:
                f.call("aten." + name, f.tensor(layout, dtype), *numbers)
            f.call("aten." + name, f.tensor(M1, i64), *numbers)
            f.call("aten." + name, f.tensor(M1, f16), *[n + 0.5 for n in numbers])
            f.call("aten." + name, f.tensor(M1, i32), *[n + 0.5 for n in numbers])
        if name in WITH_NUMBER_IN_PLACE:
            f.call("aten." + in_place(name), f.tensor(LAYOUTS[1], dtype, own=True), *numbers)
    for name in NUMBER_FIRST:
        f.call("aten." + name, 2, f.tensor(LAYOUTS[1], dtype_for(name)))
        f.call("aten." + name, 2, f.tensor(LAYOUTS[6], i64))
    for mode in (None, "floor", "trunc"):
        for dtype in (f32, i64, f16):
            f.call("aten.div.Tensor_mode", f.tensor(LAYOUTS[1], dtype), f.tensor(M1, dtype), rounding_mode=mode)
            f.call("aten.div.Scalar_mode", f.tensor(LAYOUTS[1], dtype), 3, rounding_mode=mode)
    f.call("aten.div_.Tensor_mode", f.tensor(M1, own=True), f.tensor(M1), rounding_mode="floor")
    f.call("aten.div_.Scalar_mode", f.tensor(M1, own=True), 3, rounding_mode="floor")
    for triple in TRIPLES:
        for name in ("lerp.Tensor", "addcmul", "addcdiv", "clamp.Tensor"):
            f.call("aten." + name, *[f.tensor(t) for t in triple])
        condition, *others = triple
        f.call("aten.where.self", f.tensor(condition, b8), f.tensor(others[0]), f.tensor(others[1], f16))
        f.call("aten.where.self", f.tensor(condition, b8), f.tensor(others[0], i64), f.tensor(others[1], i32))
        f.call("aten.masked_fill.Scalar", f.tensor(others[0]), f.tensor(condition, b8), 1.0)
        f.call("aten.masked_fill.Tensor", f.tensor(others[0], f16), f.tensor(condition, b8), f.tensor(((), (), 0)))
    for a, b in PAIRS:
        f.call("aten.masked_fill.Scalar", f.tensor(a), f.tensor(b, b8), 1.0)
        f.call("aten.lerp.Scalar", f.tensor(a), f.tensor(b), 0.5)
    mask, x = f.tensor(LAYOUTS[1], b8), f.tensor(LAYOUTS[1])
    f.call("aten.where.ScalarSelf", mask, 1.0, f.tensor(M1, i64))
    f.call("aten.where.ScalarOther", mask, f.tensor(M1, f16), 1.0)
    f.call("aten.where.Scalar", mask, 1.0, 0)
    f.call("aten.clamp", x, 0.0)
    f.call("aten.clamp", x, None, 1.0)
    f.call("aten.clamp", x, max=1.0)
    f.call("aten.clamp", f.tensor(M1, i64), 0, 0.5)
    f.call("aten.clamp.Tensor", x, None, f.tensor(M1))
    f.call("aten.clamp_", f.tensor(M1, own=True), 0.0)
    f.call("aten.clamp_.Tensor", f.tensor(M1, own=True), f.tensor(M1))
    for name in ("lerp_.Tensor", "addcmul_", "addcdiv_"):
        f.call("aten." + name, f.tensor(LAYOUTS[1], own=True), f.tensor(M1), f.tensor(M1))
    f.call("aten.lerp_.Scalar", f.tensor(LAYOUTS[1], own=True), f.tensor(M1), 0.5)
    f.call("aten.masked_fill_.Scalar", f.tensor(LAYOUTS[1], own=True), f.tensor(M1, b8), 1.0)
    f.call("aten.masked_fill_.Tensor", f.tensor(LAYOUTS[1], own=True), f.tensor(M1, b8), f.tensor(((), (), 0)))
    for a, b in PAIRS[2:5]:
        grad, y = f.tensor(a), f.tensor(b)
        f.call("aten.threshold_backward", grad, y, 0)
        f.call("aten.hardtanh_backward", grad, y, -1, 1)
        f.call("aten.leaky_relu_backward", grad, y, 0.1, False)
        f.call("aten.softplus_backward", grad, y, 1, 20)
        f.call("aten.hardshrink_backward", grad, y, 0.5)
        f.call("aten.softshrink_backward", grad, y, 0.5)
        f.call("aten.elu_backward", grad, 1, 1, 1, False, y)
        f.call("aten.log_sigmoid_backward", grad, y, f.tensor(((0,), (1,), 0)))
    for layout in LAYOUTS:
        for dtype in (f16, i64, b8):
            f.call("prims.convert_element_type", f.tensor(layout), dtype)
    for name in PRIMS_UNARY:
        f.call("prims." + name, f.tensor(LAYOUTS[6], c64 if name == "conj_physical" else dtype_for(name)))
    f.call("prims.abs", f.tensor(LAYOUTS[6], c64))
    f.call("prims.fill", f.tensor(LAYOUTS[6]), 1.0)
    for name in PRIMS_BINARY:
        f.call("prims." + name, f.tensor(LAYOUTS[6], dtype_for(name)), f.tensor(LAYOUTS[6], dtype_for(name)))
        f.call("prims." + name, f.tensor(M1, dtype_for(name)), f.tensor(LAYOUTS[1], dtype_for(name)))
    f.call("prims.fma", f.tensor(LAYOUTS[6]), f.tensor(LAYOUTS[6]), f.tensor(LAYOUTS[6]))
    f.call("prims.where", f.tensor(LAYOUTS[6], b8), f.tensor(LAYOUTS[6]), f.tensor(LAYOUTS[6]))


FOREACH_UNARY = """acos asin atan cos cosh erf erfc exp expm1 lgamma log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt tan tanh
ceil floor frac neg round sign trunc abs""".split()


def foreach(f):
    def tensors(own=False, dtype=f32):
        return [f.tensor(layout, dtype, own) for layout in (M1, LAYOUTS[1], LAYOUTS[2])]

    for name in FOREACH_UNARY:
        f.call("aten._foreach_" + name, tensors())
        f.call(f"aten._foreach_{name}_", tensors(own=True))
    f.call("aten._foreach_sqrt", tensors(dtype=i64))
    f.call("aten._foreach_abs", tensors(dtype=c64))
    for name in "add mul div sub maximum minimum clamp_max clamp_min pow".split():
        others = {"List": tensors(), "Scalar": 2.0, "ScalarList": [1.0, 2.0, 3.0], "Tensor": f.tensor(((), (), 0))}
        for overload, other in others.items():
            if overload == "Tensor" and name not in ("add", "mul", "div"):
                continue
            f.call(f"aten._foreach_{name}.{overload}", tensors(), other)
            f.call(f"aten._foreach_{name}_.{overload}", tensors(own=True), other)
        f.call(f"aten._foreach_{name}.Scalar", tensors(dtype=i32), 2)
    for name in ("addcmul", "addcdiv"):
        for overload, value in {"Scalar": 1.0, "ScalarList": [1.0, 2.0, 3.0]}.items():
            f.call(f"aten._foreach_{name}.{overload}", tensors(), tensors(), tensors(), value)
            f.call(f"aten._foreach_{name}_.{overload}", tensors(own=True), tensors(), tensors(), value)
        cpu = f.call("aten._to_copy", f.tensor(((3,), (1,), 0)), device=torch.device("cpu"))
        f.call(f"aten._foreach_{name}.Tensor", tensors(), tensors(), tensors(), cpu)
        f.call(f"aten._foreach_{name}_.Tensor", tensors(own=True), tensors(), tensors(), cpu)
    for overload, weight in {"List": tensors(), "Scalar": 0.5, "ScalarList": [0.1, 0.2, 0.3]}.items():
        f.call(f"aten._foreach_lerp.{overload}", tensors(), tensors(), weight)
        f.call(f"aten._foreach_lerp_.{overload}", tensors(own=True), tensors(), weight)
    f.call("aten._foreach_pow.ScalarAndTensor", 2.0, tensors())
    f.call("aten._foreach_clone", tensors())
    f.call("aten._foreach_copy_", tensors(own=True), tensors())
    f.call("aten._foreach_zero", tensors())
    f.call("aten._foreach_zero_", tensors(own=True))
    f.call("aten._foreach_norm.Scalar", tensors())
    f.call("aten._foreach_norm.Scalar", tensors(), 2, f32)
    f.call("aten._foreach_max", tensors())
    f.call("aten._foreach_powsum.Scalar", tensors())
    found = f.tensor(((1,), (1,), 0), own=True)
    f.call("aten._amp_foreach_non_finite_check_and_unscale_", tensors(own=True), found, f.tensor(((1,), (1,), 0)))
    for name, lists in {"adam": 6, "adamw": 6, "sgd": 3, "adagrad": 4}.items():
        numbers = {"adam": dict(lr=0.1, beta1=0.9, beta2=0.9, weight_decay=0.0, eps=1e-8, amsgrad=True, maximize=False),
                   "sgd": dict(weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False, maximize=False, is_first_step=False),
                   "adagrad": dict(lr=0.1, lr_decay=0.0, weight_decay=0.0, eps=1e-8, maximize=False)}["adam" if name == "adamw" else name]
        for overload in ("default", "tensor_lr"):
            given = dict(numbers, lr=f.tensor(((), (), 0))) if overload == "tensor_lr" else numbers
            f.call(f"aten._fused_{name}_.{overload}", *[tensors(own=True) for _ in range(lists)], **given)


# ---- views

RESHAPES = [
    (((4, 6), (6, 1), 0), [(24,), (2, 12), (4, 2, 3), (1, 4, 6), (4, 6, 1), (4, 1, 6), (2, 2, 6), (-1, 3), (8, 3)]),
    (((4, 6), (1, 4), 2), [(4, 6), (4, 2, 3), (2, 2, 6), (4, 1, 6), (1, 4, 1, 6, 1), (2, 2, 3, 2)]),
    (((4, 6), (12, 2), 3), [(2, 2, 6), (4, 3, 2), (4, 6, 1), (-1, 4, 6)]),
    (((4, 6), (0, 1), 0), [(2, 2, 6), (4, 6, 1), (1, 4, 6)]),
    (((1, 8, 4, 16), (512, 16, 128, 1), 0), [(1, 8, 1, 4, 16), (8, 4, 16), (1, 8, 2, 2, 16), (8, 1, 4, 4, 4), (1, 1, 8, 4, 16)]),
    (((2, 1, 6), (6, 99, 1), 0), [(2, 6), (12,), (2, 1, 6), (1, 12), (2, 2, 3)]),
    (((1, 1), (7, 9), 0), [(1,), (), (1, 1, 1)]),
    (((), (), 3), [(1,), (1, 1), (), (-1,)]),
    (((0, 4), (4, 1), 0), [(0,), (4, 0), (0, 4), (2, 0, 2)]),
    (((6, 1), (1, 6), 0), [(6,), (2, 3), (1, 6), (6, 1)]),
]


def views(f):
    for layout, shapes in RESHAPES:
        for shape in shapes:
            for name in ("view", "_unsafe_view", "reshape"):
                f.call("aten." + name, f.tensor(layout), list(shape))
    f.call("aten.reshape", f.tensor(((4, 6), (1, 4), 2)), [24])
    f.call("aten.reshape", f.tensor(((4, 6), (12, 2), 3)), [-1])
    f.call("aten.view_as", f.tensor(M1), f.tensor(((2, 12), (12, 1), 0)))
    x = f.tensor(((2, 3, 4, 5), (1, 2, 6, 24), 7))
    for start, end in ((0, -1), (1, 2), (2, 3), (0, 0)):
        f.call("aten.flatten.using_ints", x, start, end)
        f.call("aten.flatten.using_ints", f.tensor(((2, 3, 4, 5), (60, 20, 5, 1), 0)), start, end)
    f.call("aten.flatten.using_ints", f.tensor(((), (), 0)))
    for layout in LAYOUTS:
        t, complex_ = f.tensor(layout), f.tensor(layout, c64)
        f.call("aten.contiguous", t)
        for name in ("alias", "detach", "lift_fresh", "lift", "positive", "squeeze"):
            f.call("aten." + name, t)
        f.call("aten._conj", complex_)
        f.call("aten._neg_view", t)
        for dtype in (f32, f16):
            f.call("aten.to.dtype", t, dtype)
        f.call("aten.to.dtype", t, f32, False, True)
        for dim in (0, 1, -1):
            f.call("aten.unsqueeze", t, dim)
            f.call("aten.squeeze.dim", t, dim)
            f.call("aten.unbind.int", t, dim)
            f.call("aten.select.int", t, dim, -1)
            for split in (1, 2, 4, 100):
                f.call("aten.split.Tensor", t, split, dim)
                f.call("aten.chunk", t, split, dim)
            f.call("aten.tensor_split.sections", t, 3, dim)
            f.call("aten.narrow", t, dim, -1, 1)
            f.call("aten.unfold", t, dim, 1, 2)
            f.call("aten.unfold", t, dim, 2, 1)
            for bounds in ((None, None), (1, None), (0, -1), (-2, 9223372036854775807), (5, 2), (-100, 100), (1, 9, 2), (0, 9, 3)):
                f.call("aten.slice.Tensor", t, dim, *bounds)
        f.call("aten.squeeze.dims", t, [0, -1])
        f.call("aten.transpose.int", t, 0, -1)
        f.call("aten.swapaxes", t, 0, -1)
        f.call("aten.swapdims", t, 0, -1)
        f.call("aten.t", t)
        if layout[0]:
            f.call("aten.mT", t)
        f.call("aten.view_as_real", complex_)
        f.call("aten.real", complex_)
        f.call("aten.real", t)
        f.call("aten.imag", complex_)
        f.call("prims.conj", complex_)
        f.call("prims.view_of", t)
        f.call("aten.permute", t, list(range(len(layout[0])))[::-1])
        f.call("aten.permute", t, [d - len(layout[0]) for d in range(len(layout[0]))])
        f.call("prims.transpose", t, list(range(len(layout[0])))[::-1])
        for dtype in (torch.int32, torch.int16, torch.float64, c64, torch.uint8):
            f.call("aten.view.dtype", t, dtype)
        f.call("prims.view_of_dtype", t, torch.int32)
        for offset in (0, 1, -1, 50):
            f.call("aten.diagonal", t, offset)
            f.call("aten.diagonal", t, offset, -1, 0)
        for target in ([4, 6], [5, 4, 6], [1, 4, 6], [-1, -1], [2, 3, 4, 5], [4, 3, 6], [3, 6], [7], [2, 7], [], [3]):
            f.call("aten.expand", t, target)
        f.call("aten.as_strided", t, [2, 2], [1, 3])
        f.call("aten.as_strided", t, [2, 2], [1, 3], 1)
    f.call("aten.contiguous", f.tensor(LAYOUTS[8]), memory_format=torch.channels_last)
    f.call("aten.contiguous", f.tensor(((2, 3, 4, 5), (60, 20, 5, 1), 0)), memory_format=torch.channels_last)
    f.call("aten.expand_as", f.tensor(((6,), (2,), 1)), f.tensor(M1))
    f.call("aten._reshape_alias", f.tensor(M1), [2, 12], [12, 1])
    f.call("aten.view_as_complex", f.tensor(((4, 3, 2), (6, 2, 1), 4)))
    f.call("aten.view_as_complex", f.tensor(((4, 3, 2), (2, 8, 1), 0)))
    y = f.tensor(((2, 3, 4), (1, 8, 2), 3))
    f.call("aten.permute", y, [1, 2, 0])
    f.call("aten.split_with_sizes", y, [1, 2], 1)
    f.call("aten.split.sizes", y, [1, 2], 1)
    f.call("aten.unsafe_split.Tensor", y, 2, 1)
    f.call("aten.unsafe_split_with_sizes", y, [1, 2], 1)
    f.call("aten.unsafe_chunk", y, 2, 1)
    f.call("prims.squeeze", f.tensor(((4, 1, 6), (1, 77, 4), 0)), [1])
    f.call("prims.broadcast_in_dim", f.tensor(((4,), (2,), 0)), [3, 4], [1])
    f.call("prims.broadcast_in_dim", f.tensor(((4,), (2,), 0)), [4, 1], [0])
    f.call("prims.broadcast_in_dim", f.tensor(((4,), (2,), 0)), [1, 4], [1])
    f.call("prims.broadcast_in_dim", f.tensor(((4, 1), (1, 4), 0)), [4, 2, 3], [0, 2])
    f.call("prims.collapse_view", f.tensor(((2, 3, 4), (12, 4, 1), 0)), 1, 2)
    one = ((4, 1, 6), (6, 6, 1), 0)
    f.call("aten.squeeze_", f.tensor(one, own=True))
    f.call("aten.squeeze_.dim", f.tensor(one, own=True), 1)
    f.call("aten.squeeze_.dims", f.tensor(one, own=True), [1])
    f.call("aten.unsqueeze_", f.tensor(one, own=True), 1)
    f.call("aten.transpose_", f.tensor(one, own=True), 0, 1)
    f.call("aten.t_", f.tensor(M1, own=True))
    f.call("aten.as_strided_", f.tensor(M1, own=True), [2, 2], [1, 3])
    f.call("aten.detach_", f.tensor(M1, own=True))


# ---- copies and creation


def copies(f):
    for layout in LAYOUTS:
        t = f.tensor(layout)
        rank = len(layout[0])
        for name in ("clone", "lift_fresh_copy", "alias_copy", "detach_copy", "_to_copy", "zero", "tril", "triu"):
            f.call("aten." + name, t)
        f.call("aten.clone", t, memory_format=torch.contiguous_format)
        f.call("aten.clone", t, memory_format=torch.preserve_format)
        f.call("aten._to_copy", t, dtype=f16)
        f.call("aten._to_copy", t, dtype=f16, memory_format=torch.contiguous_format)
        f.call("prims.clone", t)
        f.call("prims.device_put", t, torch.device("cpu"))
        f.call("aten.fill.Scalar", t, 1.0)
        f.call("aten.fill.Tensor", t, f.tensor(((), (), 0)))
        f.call("aten.copy", t, f.tensor((layout[0], tuple(torch.empty(layout[0]).stride()), 0)))
        if rank:
            f.call("aten.flip", t, [0])
            f.call("aten.roll", t, [1], [0])
            f.call("aten.roll", t, [1])
            f.call("aten.repeat", t, [2] * rank)
            f.call("aten.repeat", t, [3] + [1] * rank)
            f.call("aten.constant_pad_nd", t, [1, 2], 0)
            f.call("aten.constant_pad_nd", t, [0, -1, 3, 0], 0)
            part = [1, *layout[0][1:]]
            source = (tuple(part), tuple(torch.empty(part).stride()), 0)
            f.call("aten.slice_scatter", t, f.tensor(source), 0, 0, 1)
            f.call("aten.select_scatter", t, f.tensor((source[0][1:], source[1][1:], 0)), 0, 0)
            for dim in (0, -1):
                f.call("aten.cat", [t, t], dim)
                if rank != 4:  # the layout of stacked channels-last tensors depends on the dim
                    f.call("aten.stack", [t, t], dim)
    f.call("aten.slice_scatter", f.tensor(M1), f.tensor(((4, 2), (2, 1), 0)), 1, 0, 4, 2)
    f.call("aten.clone", f.tensor(LAYOUTS[8]), memory_format=torch.channels_last)
    f.call("aten.clone", f.tensor(((2, 3, 4, 5), (60, 20, 5, 1), 0)), memory_format=torch.channels_last)
    last, dense = f.tensor(LAYOUTS[8]), f.tensor(((2, 3, 4, 5), (60, 20, 5, 1), 0))
    for pair in ([last, last], [last, dense], [dense, last]):
        f.call("aten.cat", pair, 1)
    f.call("aten.cat", [f.tensor(((0,), (1,), 0)), f.tensor(M1)], 1)
    f.call("aten.cat", [f.tensor(M1, f16), f.tensor(M1, i64), f.tensor(M1)])
    f.call("aten.concat", [f.tensor(M1), f.tensor(LAYOUTS[1])])
    f.call("aten.concatenate", [f.tensor(M1), f.tensor(LAYOUTS[1])])
    f.call("prims.cat", [f.tensor(M1), f.tensor(LAYOUTS[1])], 1)
    f.call("aten.stack", [f.tensor(M1, f16), f.tensor(LAYOUTS[1])], 1)
    f.call("aten._chunk_cat", [f.tensor(M1), f.tensor(((5, 3), (3, 1), 0))], 0, 2)
    f.call("aten.diagonal_scatter", f.tensor(LAYOUTS[1]), f.tensor(((4,), (1,), 0)))
    f.call("aten.as_strided_scatter", f.tensor(M1), f.tensor(((2, 2), (2, 1), 0)), [2, 2], [6, 1])
    f.call("aten.select_backward", f.tensor(((6,), (1,), 0)), [4, 6], 0, 1)
    f.call("aten.slice_backward", f.tensor(((2, 6), (6, 1), 0)), [4, 6], 0, 1, 3, 1)
    f.call("aten.diagonal_backward", f.tensor(((4,), (1,), 0)), [4, 6], 0, 0, 1)
    f.call("aten.unfold_backward", f.tensor(((2, 6, 2), (12, 2, 1), 0)), [4, 6], 0, 2, 2)
    for name, args in {"copy_": (f.tensor(M1),), "fill_.Scalar": (1.0,), "fill_.Tensor": (f.tensor(((), (), 0)),), "zero_": (), "tril_": (), "triu_": ()}.items():
        f.call("aten." + name, f.tensor(LAYOUTS[1], own=True), *args)
    f.call("prims.copy_to", f.tensor(LAYOUTS[1], own=True), f.tensor(M1))
    f.call("fsdp.copy_", f.tensor(M1, own=True), f.tensor(M1))
    gathered = f.tensor(((40,), (1,), 0), own=True)
    f.call("fsdp.all_gather_copy_in", [f.tensor(((4,), (1,), 0)), f.tensor(((6,), (1,), 0))], gathered, [4, 6], 10, 2)
    out = [f.tensor(((4, 2), (2, 1), 0), own=True), f.tensor(((4, 4), (4, 1), 0), own=True)]
    f.call("fsdp.split_with_sizes_copy", f.tensor(M1), [2, 4], 1, out=out)
    f.call("aten.split_with_sizes_copy.out", f.tensor(M1), [2, 4], 1, out=out)
    f.call("fsdp.chunk_cat", [f.tensor(M1), f.tensor(M1)], 0, 2, out=f.tensor(((2, 24), (24, 1), 0), own=True))
    f.call("inductor.resize_storage_bytes_", f.tensor(M1, own=True), 0)


def creation(f):
    cuda = torch.device("cuda:0")
    size = [2, 3]
    for dtype in (None, bf16, i64):
        for name in ("empty.memory_format", "zeros", "ones", "rand", "randn"):
            f.call("aten." + name, size, dtype=dtype, device=cuda)
        f.call("aten.empty_strided", size, [1, 2], dtype=dtype, device=cuda)
        f.call("aten.empty_permuted", [2, 3, 4], [2, 0, 1], dtype=dtype, device=cuda)
        for value in (1, 0.5, True):
            f.call("aten.full", size, value, dtype=dtype, device=cuda)
            f.call("aten.scalar_tensor", value, dtype=dtype, device=cuda)
        for name in ("new_empty", "new_zeros", "new_ones"):
            f.call("aten." + name, f.tensor(M1, f16), size, dtype=dtype)
        f.call("aten.new_full", f.tensor(M1, f16), size, 2, dtype=dtype)
        f.call("aten.new_empty_strided", f.tensor(M1, f16), size, [1, 2], dtype=dtype)
        for args in ((5,), (2.5,), (0,)):
            f.call("aten.arange", *args, dtype=dtype, device=cuda)
        for args in ((1, 5), (0.5, 3), (2, 2)):
            f.call("aten.arange.start", *args, dtype=dtype, device=cuda)
        for args in ((1, 10, 3), (10, 1, -3), (0, 1, 0.3), (1, 5, 4)):
            f.call("aten.arange.start_step", *args, dtype=dtype, device=cuda)
        f.call("aten.linspace", 0, 1, 5, dtype=dtype, device=cuda)
        f.call("aten.eye", 3, dtype=dtype, device=cuda)
        f.call("aten.eye.m", 3, 4, dtype=dtype, device=cuda)
    f.call("aten.empty.memory_format", [2, 3, 4, 5], device=cuda, memory_format=torch.channels_last)
    f.call("aten.rand.generator", size, generator=None, device=cuda)
    f.call("aten.randn.generator", size, generator=None, device=cuda)
    f.call("aten.randint", 9, size, device=cuda)
    f.call("aten.randint.generator", 9, size, generator=None, device=cuda)
    f.call("aten.randint.low", 1, 9, size, device=cuda, dtype=i32)
    f.call("aten.randint.low_generator", 1, 9, size, generator=None, device=cuda)
    f.call("aten.randperm", 9, device=cuda)
    f.call("aten.randperm.generator", 9, generator=None, device=cuda)
    for layout in LAYOUTS:
        t = f.tensor(layout)
        for name in ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "bernoulli"):
            f.call("aten." + name, t)
        for name in ("rand_like.generator", "randn_like.generator"):
            f.call("aten." + name, t, generator=None)
        f.call("aten.empty_like", t, dtype=f16, memory_format=torch.contiguous_format)
        f.call("aten.full_like", t, 1, dtype=i64)
        f.call("aten.randint_like", t, 9)
        f.call("aten.randint_like.low_dtype", t, 1, 9)
        f.call("aten.bernoulli.p", t, 0.5)
        f.call("aten.native_dropout", t, 0.5, True)
    f.call("aten.bernoulli.Tensor", f.tensor(M1), f.tensor(M1))
    for name, args in {"bernoulli_.float": (0.5,), "bernoulli_.Tensor": (f.tensor(M1),), "normal_": (), "uniform_": (), "exponential_": (), "random_": (),
                       "random_.from": (1, 5), "random_.to": (5,), "cauchy_": (), "log_normal_": (), "geometric_": (0.5,)}.items():
        f.call("aten." + name, f.tensor(M1, own=True), *args)
    f.call("prims.iota", 7, start=0, step=1, dtype=i64, device=cuda, requires_grad=False)
    f.call("prims.iota", 7, start=0, step=2, dtype=i32, device=cuda, requires_grad=False)
    f.call("prims.full", [2, 3], 1.0, dtype=f16, device=cuda, requires_grad=False)
    f.call("prims.empty_strided", [2, 3], [1, 2], dtype=f16, device=cuda, requires_grad=False)
    f.call("prims.scalar_tensor", 1.0, dtype=f16, device=cuda)
    seeds = f.call("prims.inductor_seeds", 3, cuda)
    f.call("prims.inductor_seed", cuda)
    seed = f.call("prims.inductor_lookup_seed", seeds, 1)
    f.call("prims.inductor_random", [2, 3], seed, "rand")
    f.call("prims.inductor_randint", 0, 5, [2, 3], seed)


# ---- along dims


def reductions(f):
    for layout in LAYOUTS:
        if 0 in layout[0]:  # strides of nothing
            continue
        t = f.tensor(layout)
        for name in ("sum", "prod", "mean", "max", "min", "median", "any", "all", "argmax", "argmin", "count_nonzero", "var", "std", "var_mean",
                     "std_mean", "aminmax", "amax", "amin", "nansum", "linalg_vector_norm"):
            f.call("aten." + name, t)
        for dim in ([0], [-1], [0, 1], [], None):
            for keep in (False, True):
                for name in ("sum.dim_IntList", "mean.dim", "amax", "any.dims", "var_mean.dim", "std.dim"):
                    f.call("aten." + name, t, dim, *([True] if name.endswith("n.dim") and "mean." not in name or name in ("var_mean.dim", "std.dim") else []), keep)
                f.call("aten.var.correction", t, dim, correction=1, keepdim=keep)
                f.call("aten.var_mean.correction", t, dim, correction=1, keepdim=keep)
        for dim in (0, -1):
            for name in ("prod.dim_int", "any.dim", "all.dim", "argmax", "argmin", "max.dim", "min.dim", "median.dim", "mode"):
                f.call("aten." + name, t, dim)
                f.call("aten." + name, t, dim, True)
            f.call("aten.logsumexp", t, [dim], True)
            f.call("aten.kthvalue", t, 1, dim, True)
            f.call("aten.aminmax", t, dim=dim, keepdim=True)
            f.call("aten.norm.ScalarOpt_dim", t, 2, [dim], True)
            f.call("aten.linalg_vector_norm", t, 2, [dim], True)
            f.call("aten._softmax", t, dim, False)
            f.call("aten._log_softmax", t, dim, False)
            f.call("aten.softmax.int", t, dim)
            f.call("aten.log_softmax.int", t, dim, torch.float64)
            f.call("aten._safe_softmax", t, dim)
            for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "sort", "argsort"):
                f.call("aten." + name, t, dim)
            f.call("aten.sort.stable", t, stable=True, dim=dim)
            f.call("aten.argsort.stable", t, stable=True, dim=dim)
            f.call("aten.topk", t, 1, dim)
            f.call("prims.prepare_softmax_online", t, dim)
            for name in ("sum", "prod", "amax", "amin", "xor_sum", "var"):
                f.call("prims." + name, f.tensor(layout, i32 if name == "xor_sum" else f32), [dim % max(len(layout[0]), 1)], *([1.0] if name == "var" else []))
            f.call("aten._softmax_backward_data", t, t, dim, f32)
            f.call("aten._log_softmax_backward_data", t, t, dim, f32)
    transposed, dense = f.tensor(LAYOUTS[1]), f.tensor(M1)
    for name in ("_softmax_backward_data", "_log_softmax_backward_data"):
        f.call("aten." + name, transposed, dense, 1, f32)
        f.call("aten." + name, dense, transposed, 1, f16)
    for dtype in DTYPES + [torch.uint8]:
        t = f.tensor(M1, dtype)
        for name in ("sum", "prod", "mean", "max", "any", "all", "argmax", "var", "std", "cumsum", "logsumexp", "norm.Scalar", "count_nonzero"):
            f.call("aten." + name, t, *([0] if name == "cumsum" else [[0]] if name == "logsumexp" else []))
        f.call("aten.sum", t, dtype=f32)
        f.call("aten.cumsum", t, 0, dtype=i32)
        f.call("aten.linalg_vector_norm", t, 2, dtype=torch.float64)
    f.call("aten.norm.ScalarOpt_dtype", dense, 2, dtype=torch.float64)
    f.call("aten.norm.ScalarOpt_dim_dtype", dense, 2, [0], True, dtype=torch.float64)
    for overload in ("var.dim", "std_mean.dim"):
        f.call("aten." + overload, dense, [0], True, True)
    f.call("aten.std.correction", dense, [0])
    f.call("aten.std_mean.correction", dense, [0], keepdim=True)
    f.call("aten.all.dims", dense, [0, 1])
    f.call("aten.count_nonzero.dim_IntList", dense, [0])
    f.call("aten._softmax", f.tensor(M1, f16), 1, True)
    f.call("aten.cumsum_", f.tensor(M1, own=True), 0)
    f.call("aten.cumprod_", f.tensor(M1, own=True), 0)
    f.call("aten.topk", dense, 3, 1)
    f.call("aten.topk", transposed, 3)
    f.call("aten.histc", dense, 7)
    f.call("aten.histc", f.tensor(M1, i64), 7, 0, 7)


def indexing(f):
    x = f.tensor(((4, 5, 6), (30, 6, 1), 0))
    permuted = f.tensor(((4, 5, 6), (1, 4, 20), 0))
    i, j = f.tensor(((3,), (1,), 0), i64), f.tensor(((2, 1), (1, 1), 0), i64)
    for t in (x, permuted):
        for indices in ([i], [None, i], [i, i], [i, None, i], [None, i, j], [None, None, j], [j, i, i]):
            f.call("aten.index.Tensor", t, indices)
            f.call("aten._unsafe_index.Tensor", t, indices)
        f.call("aten._unsafe_masked_index", t, f.tensor(((3,), (1,), 0), b8), [i, i, i], 0.0)
        values = f.tensor(((3, 5, 6), (30, 6, 1), 0))
        f.call("aten.index_put", t, [i], values, True)
        f.call("aten._unsafe_index_put", t, [i], values)
        f.call("aten._unsafe_masked_index_put_accumulate", t, f.tensor(((3,), (1,), 0), b8), [i, i, i], f.tensor(((3,), (1,), 0)))
        index = f.tensor(((4, 2, 6), (12, 6, 1), 0), i64)
        source = f.tensor(((4, 2, 6), (1, 4, 8), 0))
        f.call("aten.gather", t, 1, index)
        f.call("aten.gather", t, 1, f.tensor(((4, 2, 6), (1, 4, 8), 0), i64))
        f.call("aten.scatter.src", t, 1, index, source)
        f.call("aten.scatter.value", t, 1, index, 1.0)
        f.call("aten.scatter.reduce", t, 1, index, source, reduce="add")
        f.call("aten.scatter.value_reduce", t, 1, index, 1.0, reduce="add")
        f.call("aten.scatter_add", t, 1, index, source)
        f.call("aten.scatter_reduce.two", t, 1, index, source, "sum")
        f.call("aten.index_select", t, 1, i)
        f.call("aten.index_select", t, -1, f.tensor(((), (), 0), i64))
        part = f.tensor(((4, 3, 6), (18, 6, 1), 0))
        for name in ("index_add", "index_copy"):
            f.call("aten." + name, t, 1, i, part)
        f.call("aten.index_reduce", t, 1, i, part, "prod")
        f.call("aten.index_fill.int_Scalar", t, 1, i, 1.0)
        f.call("aten.index_fill.int_Tensor", t, 1, i, f.tensor(((), (), 0)))
        f.call("aten.put", t, i, f.tensor(((3,), (1,), 0)))
        f.call("aten.take", t, j)
        f.call("aten.masked_scatter", t, f.tensor(((6,), (1,), 0), b8), x)
        f.call("aten.bucketize.Tensor", t, f.tensor(((7,), (1,), 0)))
        f.call("aten.searchsorted.Tensor", f.tensor(((7,), (1,), 0)), t, out_int32=True)
    f.call("aten.masked_scatter", f.tensor(((6,), (1,), 0)), f.tensor(M1, b8), f.tensor(M1))
    f.call("aten.bucketize.Scalar", 1.0, f.tensor(((7,), (1,), 0)))
    f.call("aten.searchsorted.Scalar", f.tensor(((7,), (1,), 0)), 1.0)
    own = lambda: f.tensor(((4, 5, 6), (1, 4, 20), 0), own=True)  # noqa: E731
    values = f.tensor(((3, 5, 6), (30, 6, 1), 0))
    f.call("aten.index_put_", own(), [i], values)
    f.call("aten._index_put_impl_", own(), [i], values)
    f.call("aten.scatter_.src", own(), 1, index, source)
    f.call("aten.scatter_.value", own(), 1, index, 1.0)
    f.call("aten.scatter_.reduce", own(), 1, index, source, reduce="add")
    f.call("aten.scatter_.value_reduce", own(), 1, index, 1.0, reduce="add")
    f.call("aten.scatter_add_", own(), 1, index, source)
    f.call("aten.scatter_reduce_.two", own(), 1, index, source, "sum")
    for name in ("index_add_", "index_copy_"):
        f.call("aten." + name, own(), 1, i, part)
    f.call("aten.index_reduce_", own(), 1, i, part, "prod")
    f.call("aten.index_fill_.int_Scalar", own(), 1, i, 1.0)
    f.call("aten.index_fill_.int_Tensor", own(), 1, i, f.tensor(((), (), 0)))
    f.call("aten.put_", own(), i, f.tensor(((3,), (1,), 0)))
    f.call("aten.masked_scatter_", own(), f.tensor(((4, 5, 6), (30, 6, 1), 0), b8), x)
    weight = f.tensor(((10, 8), (1, 10), 0))
    for places in (i, j, f.tensor(((), (), 0), i64), f.tensor(((2, 3), (1, 2), 0), i64)):
        f.call("aten.embedding", weight, places)
    f.call("aten.embedding_dense_backward", f.tensor(((3, 8), (8, 1), 0)), i, 10, -1, False)
    f.call("aten.embedding_renorm_", f.tensor(((10, 8), (8, 1), 0), own=True), i, 1.0, 2.0)
    f.call("aten.one_hot", i, 5)


# ---- products and layers


def products(f):
    def t(*shape, dtype=f32, order=None):
        strides = list(torch.empty(shape).stride())
        if order:
            flat = torch.empty([shape[d] for d in order]).stride()
            strides = [0] * len(shape)
            for d, s in zip(order, flat):
                strides[d] = s
        return f.tensor((shape, tuple(strides), 0), dtype)

    for order in (None, (1, 0)):
        a, b = t(4, 6, order=order), t(6, 5, order=order)
        f.call("aten.mm", a, b)
        f.call("aten.mm.dtype", t(4, 6, dtype=f16, order=order), t(6, 5, dtype=f16), f32)
        for bias in (t(5), t(4, 5), t(1, 5)):
            f.call("aten.addmm", bias, a, b)
            f.call("aten._addmm_activation", bias, a, b)
        f.call("aten.addmm.dtype", t(5, dtype=f16), t(4, 6, dtype=f16), t(6, 5, dtype=f16), f32)
        f.call("aten.addmm_", f.tensor(((4, 5), (5, 1), 0), own=True), a, b)
        f.call("aten.mv", a, t(6))
        f.call("aten.addmv", t(4), a, t(6))
        f.call("aten.linear", t(2, 3, 6), t(5, 6, order=order))
        f.call("aten.linear", a, t(5, 6), t(5))
        f.call("aten._int_mm", t(32, 16, dtype=torch.int8), t(16, 8, dtype=torch.int8))
    for order in (None, (0, 2, 1), (1, 0, 2)):
        a, b = t(3, 4, 6, order=order), t(3, 6, 5, order=order)
        f.call("aten.bmm", a, b)
        f.call("aten.bmm.dtype", t(3, 4, 6, dtype=f16), t(3, 6, 5, dtype=f16), f32)
        f.call("aten.baddbmm", t(3, 4, 5), a, b)
        f.call("aten.baddbmm.dtype", t(3, 4, 5, dtype=f16), t(3, 4, 6, dtype=f16), t(3, 6, 5, dtype=f16), f32)
        f.call("aten.addbmm", t(4, 5), a, b)
        f.call("aten.baddbmm_", f.tensor(((3, 4, 5), (20, 5, 1), 0), own=True), a, b)
    f.call("aten.dot", t(6), t(6))
    f.call("aten.vdot", t(6), t(6))
    e4 = torch.float8_e4m3fn
    scale = t()
    f.call("aten._scaled_mm", t(32, 64, dtype=e4), t(64, 16, dtype=e4, order=(1, 0)), scale, scale, out_dtype=bf16)
    ends = t(3, dtype=i32)
    f.call("aten._grouped_mm", t(32, 64, dtype=bf16), t(3, 64, 24, dtype=bf16, order=(0, 2, 1)), ends)
    f.call("aten._grouped_mm", t(32, 64, dtype=bf16), t(64, 24, dtype=bf16), ends)
    f.call("aten._grouped_mm", t(3, 32, 64, dtype=bf16), t(64, 24, dtype=bf16), ends)
    f.call("aten._grouped_mm", t(3, 32, 64, dtype=bf16), t(3, 64, 24, dtype=bf16))


def layers(f):
    def t(shape, dtype=f32, last=False):
        strides = torch.empty(shape).to(memory_format=torch.channels_last).stride() if last else torch.empty(shape).stride()
        return f.tensor((tuple(shape), tuple(strides), 0), dtype)

    for last in (False, True):
        x, w = t((2, 4, 9, 8), last=last), t((6, 4, 3, 3), last=last)
        if not last:  # the layout depends on the library that computes a channels-last convolution
            f.call("aten.convolution", x, w, t((6,)), [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
            f.call("aten.convolution", x, w, None, [1, 1], [0, 0], [2, 2], False, [0, 0], 1)
            f.call("aten.convolution", x, t((4, 3, 3, 3)), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2)
            f.call("aten.convolution", x, t((6, 2, 3, 3)), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)
            grad = t((2, 6, 5, 4))
            for mask in ([True, True, True], [True, True, False], [False, True, False], [False, True, True]):
                f.call("aten.convolution_backward", grad, x, w, [6], [2, 2], [1, 1], [1, 1], False, [0, 0], 1, mask)
            f.call("aten.convolution_backward", t((2, 6, 9, 8)), x, t((6, 2, 3, 3)), [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 2, [True, True, False])
            f.call("aten.convolution_backward", t((2, 6, 18, 16)), x, t((4, 3, 3, 3)), [0], [2, 2], [1, 1], [1, 1], True, [1, 1], 2, [True, True, False])
        f.call("aten.max_pool2d_with_indices", x, [3, 3], [2, 2], [1, 1])
        f.call("aten.max_pool2d_with_indices", x, [2], ceil_mode=True)
        f.call("aten.max_pool2d_with_indices", x, [3, 3], [2, 2], [1, 1], [1, 1], True)
        pooled = t((2, 4, 5, 4), last=last)
        f.call("aten.max_pool2d_with_indices_backward", pooled, x, [3, 3], [2, 2], [1, 1], [1, 1], False, t((2, 4, 5, 4), i64, last))
        f.call("aten.avg_pool2d", x, [2, 2])
        f.call("aten.avg_pool2d", x, [3, 3], [2, 2], [1, 1], True)
        f.call("aten.avg_pool2d_backward", t((2, 4, 4, 4), last=last), x, [2, 2], [2, 2], [0, 0], False, True, None)
        f.call("aten._adaptive_avg_pool2d", x, [3, 2])
        f.call("aten.adaptive_avg_pool2d", x, [3, 2])
        f.call("aten._adaptive_avg_pool2d_backward", t((2, 4, 3, 2), last=last), x)
        f.call("prims._low_memory_max_pool_with_offsets", x, [3, 3], [2, 2], [1, 1], [1, 1], False)
        f.call("prims._low_memory_max_pool_offsets_to_indices", t((2, 4, 5, 4), torch.int8, last), [3, 3], [9, 8], [2, 2], [1, 1], [1, 1])
        f.call("aten.native_group_norm", x, t((4,)), t((4,)), 2, 4, 72, 2, 1e-5)
    f.call("aten.convolution_overrideable", t((2, 4, 9, 8)), t((6, 4, 3, 3)), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    f.call("aten._convolution", t((2, 4, 9, 8)), t((6, 4, 3, 3)), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)
    f.call("aten.convolution", t((2, 4, 9)), t((6, 4, 3)), None, [1], [0], [1], False, [0], 1)
    f.call("aten.convolution", t((2, 4, 9, 8, 7)), t((6, 4, 3, 3, 3)), None, [1, 2, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1)
    for dtype in (f32, bf16):
        for order in ((2, 3, 8), (24, 8, 1)), ((2, 3, 8), (8, 16, 1)):
            x = f.tensor((*order, 0), dtype)
            f.call("aten.native_layer_norm", x, [8], t((8,), dtype), t((8,), dtype), 1e-5)
            f.call("aten.native_layer_norm", x, [3, 8], None, None, 1e-5)
            stats = t((2, 3, 1))
            for mask in ([True, True, True], [True, False, False], [False, True, True]):
                f.call("aten.native_layer_norm_backward", t((2, 3, 8), dtype), x, [8], stats, stats, t((8,), dtype), t((8,), dtype), mask)
    logits, target = t((5, 7)), t((5,), i64)
    for reduction in (0, 1, 2):
        f.call("aten.nll_loss_forward", logits, target, None, reduction, -100)
        f.call("aten.nll_loss2d_forward", t((2, 7, 3, 4)), t((2, 3, 4), i64), None, reduction, -100)
        for a, b in PAIRS[2:5]:
            for name in ("mse_loss", "smooth_l1_loss", "huber_loss"):
                f.call("aten." + name, f.tensor(a), f.tensor(b), reduction)
        f.call("aten.binary_cross_entropy", logits, logits, None, reduction)
    f.call("aten.nll_loss_backward", t(()), logits, target, None, 1, -100, t(()))
    f.call("aten.nll_loss2d_backward", t(()), t((2, 7, 3, 4)), t((2, 3, 4), i64), None, 1, -100, t(()))
    f.call("aten.mse_loss_backward", t(()), logits, logits, 1)
    f.call("aten.smooth_l1_loss_backward", t(()), logits, logits, 1, 1.0)
    f.call("aten.huber_loss_backward", t(()), logits, logits, 1, 1.0)
    f.call("aten.binary_cross_entropy_backward", t(()), logits, logits)


def attention(f):
    for order in ((0, 1, 2, 3), (0, 2, 1, 3)):
        def t(b, h, s, d, dtype=bf16):
            shape = (b, h, s, d)
            flat = torch.empty([shape[k] for k in order]).stride()
            strides = [0] * 4
            for k, s_ in zip(order, flat):
                strides[k] = s_
            return f.tensor((shape, tuple(strides), 0), dtype)

        q, k, v = t(2, 4, 16, 64), t(2, 4, 24, 64), t(2, 4, 24, 64)
        lse = f.tensor(((2, 4, 16), (64, 16, 1), 0))
        seed, offset = f.tensor(((2,), (1,), 0), torch.uint64), f.tensor(((), (), 0), torch.uint64)
        f.call("aten._scaled_dot_product_flash_attention", q, k, v, 0.0, True)
        f.call("aten._scaled_dot_product_flash_attention_backward", q, q, k, v, q, lse, None, None, 16, 24, 0.0, True, seed, offset)
        f.call("aten._scaled_dot_product_cudnn_attention", q, k, v, None, True, 0.0, True)
        f.call("aten._scaled_dot_product_cudnn_attention_backward", q, q, k, v, q, lse, seed, offset, None, None, None, 16, 24, 0.0, True)
        f.call("aten._scaled_dot_product_flash_attention_for_cpu", q, k, v, 0.0, True)
        f.call("aten._scaled_dot_product_flash_attention_for_cpu_backward", q, q, k, v, q, lse, 0.0, True)


# ---- communication


def communication(f):
    c = "_c10d_functional."
    for layout in (((8, 6), (6, 1), 0), ((8, 6), (1, 8), 0), ((8,), (1,), 0)):
        x = f.tensor(layout)
        f.call(c + "all_reduce", x, "sum", "0")
        f.call(c + "all_reduce_", f.tensor(layout, own=True), "avg", "0")
        for space in (c, "_c10d_functional_autograd."):
            f.call(space + "all_gather_into_tensor", x, GROUP_SIZE, "0")
            f.call(space + "reduce_scatter_tensor", x, "sum", GROUP_SIZE, "0")
            f.call(space + "all_to_all_single", x, [1, 2, 3, 4], [2, 2, 2, 2], "0")
        f.call(c + "wait_tensor", f.call(c + "all_gather_into_tensor", x, GROUP_SIZE, "0"))
    dense = f.tensor(((8, 6), (6, 1), 0))
    scalar, half = f.tensor(((), (), 0)), f.tensor(((4, 3), (3, 1), 0), bf16)
    f.call(c + "all_reduce", scalar, "max", "0")
    f.call(c + "all_reduce", f.tensor(M1, i64), "bor", "0")
    f.call(c + "all_gather_into_tensor", scalar, GROUP_SIZE, "0")
    f.call(c + "broadcast", dense, 0, "0")
    f.call(c + "broadcast_", f.tensor(M1, own=True), 0, "0")
    f.call(c + "all_reduce_coalesced", [dense, half], "sum", "0")
    f.call(c + "all_reduce_coalesced_", [f.tensor(M1, own=True), f.tensor(M1, own=True)], "sum", "0")
    f.call(c + "all_gather_into_tensor_coalesced", [dense, half], GROUP_SIZE, "0")
    f.call(c + "reduce_scatter_tensor_coalesced", [dense, half], "sum", GROUP_SIZE, "0")
    f.call("_dtensor.shard_dim_alltoall", f.tensor(((6, 8), (8, 1), 0)), 0, 1, "0")
    f.call(c + "isend", dense, 2, 0, "0")


RANDOM_UNARY = "exp neg isnan clone ceil _to_copy empty_like rsqrt".split()
RANDOM_BINARY = "add.Tensor mul.Tensor maximum eq.Tensor div.Tensor bitwise_and.Tensor atan2".split()


def random_layout(rng, shape):
    kind = rng.choice(["dense", "gaps", "expanded", "odd"])
    order = list(range(len(shape)))
    if rng.random() < 0.7:
        rng.shuffle(order)
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1) + (rng.choice([0, 0, 1, 3]) if kind == "gaps" else 0)
    for d, n in enumerate(shape):
        if kind == "expanded" and rng.random() < 0.4:
            strides[d] = 0
        if kind == "odd" and n == 1:
            strides[d] = rng.choice([1, 5, 50, 0])
    return (tuple(shape), tuple(strides), rng.choice([0, 0, 7]))


def broadcastable(rng, shape):
    part = list(shape[rng.randrange(len(shape) + 1) if rng.random() < 0.3 else 0:])
    return [1 if rng.random() < 0.25 else n for n in part]


def random_calls(f, count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        shape = [rng.choice([1, 1, 2, 3, 4, 5, 6]) for _ in range(rng.randrange(0, 5))]
        kind = rng.choice(["unary", "binary", "ternary", "view", "sum"])
        if kind == "unary":
            f.call("aten." + rng.choice(RANDOM_UNARY), f.tensor(random_layout(rng, shape)))
        elif kind == "binary":
            name = rng.choice(RANDOM_BINARY)
            dtype = i32 if "bitwise" in name else f32
            f.call("aten." + name, f.tensor(random_layout(rng, broadcastable(rng, shape)), dtype), f.tensor(random_layout(rng, broadcastable(rng, shape)), dtype))
        elif kind == "ternary":
            f.call("aten." + rng.choice(["addcmul", "lerp.Tensor", "clamp.Tensor"][:2]), *[f.tensor(random_layout(rng, broadcastable(rng, shape))) for _ in range(3)])
            f.call("aten.where.self", *[f.tensor(random_layout(rng, broadcastable(rng, shape)), d) for d in (b8, f32, f32)])
            a, b = broadcastable(rng, shape), broadcastable(rng, shape)
            f.call("aten.masked_fill.Scalar", f.tensor(random_layout(rng, a)), f.tensor(random_layout(rng, b), b8), 0.0)
        elif kind == "view":
            numbers = [n for s in shape for n in ([2, s // 2] if s % 2 == 0 else [s])] + [1] * rng.randrange(2)
            target = []
            for n in numbers:
                if target and rng.random() < 0.4:
                    target[-1] *= n
                else:
                    target.append(n)
            f.call("aten." + rng.choice(["view", "reshape"]), f.tensor(random_layout(rng, shape)), target)
        else:
            f.call("aten." + rng.choice(["cumsum", "sort", "_softmax", "argsort"]), f.tensor(random_layout(rng, shape)), -1, *([False] if False else []))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--random", type=int, default=0, help="this many random calls instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--refused", action="store_true", help="list the calls that PyTorch refused")
    options = parser.parse_args()
    logging.disable(logging.ERROR)  # of refused calls
    dist.init_process_group("fake", store=FakeStore(), rank=RANK, world_size=GROUP_SIZE)
    facts = Facts()
    if options.random:
        random_calls(facts, options.random, options.seed)
    else:
        for family in (pointwise, foreach, views, copies, creation, reductions, indexing, products, layers, attention, communication):
            family(facts)
    facts.write(options.path)
    print(f"{len(facts.nodes)} nodes, {len(facts.calls_of)} operators, {len(facts.refused)} calls refused", file=sys.stderr)
    never = sorted({str(op) for op, _ in facts.refused} - set(facts.calls_of))
    print("never accepted:", *never, file=sys.stderr)
    if options.refused:
        for op, error in facts.refused:
            print(f"  {op}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
