"""Programs around every operator of PyTorch's own test database: hocket compiles them, and they compute the same."""

import collections
import logging

import pytest
import torch
import torch.distributed as dist
from ranks import preload, run
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

preload("hocket.compiler", "torch.testing._internal.distributed.fake_pg")

SAMPLES = 2  # of each operator
# What PyTorch's tracing and running refuse, as they do without hocket.
REFUSED = {
    "AssertionError",
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "GuardOnDataDependentSymNode",
    "NotImplementedError",
    "RuntimeError",
}


def summed(tensor):
    group = dist.group.WORLD.group_name
    return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce(tensor, "sum", group))


def graph_of(function, *inputs):
    return make_fx(function, tracing_mode="fake")(*inputs)


def ran(module, inputs):
    torch.manual_seed(5)
    with torch.no_grad():
        return module(*[one.detach().clone() for one in inputs])


def compiled(module, inputs):
    """What it computes then, and why hocket left it alone, if it did."""
    import hocket

    optimized = hocket.optimize(module, memory_limit="2x", agree=False)
    left = hocket.report(optimized).note if "left as it is" in str(hocket.report(optimized)) else ""
    return ran(optimized, inputs), left


def parts_of_lists(rank):
    """Lists that are views, lists with holes, and an operator that gives back nothing."""

    def attention(q, k, v):
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(summed(q), k, v, 0.0, True)
        return out, lse

    def only_the_weight(x, weight):
        parts = torch.ops.aten.convolution_backward(
            summed(x), x, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]
        )
        return summed(parts[1])

    def halves(x):
        first, second = summed(x).split(3)
        third, fourth = torch.ops.aten.unsafe_split(summed(x + 1), 3)
        rows = summed(x * 2).unbind()
        return first + second, third * fourth, rows[-1] + torch.ops.aten._unsafe_view(rows[0], [4, 2])[0, 0]

    def updated(x, mean, variance):
        mean, variance = summed(mean), summed(variance)
        y = torch.ops.aten.native_batch_norm(summed(x), None, None, mean, variance, True, 0.5, 1e-5)[0]
        return y, mean * 2, variance * 2

    def on_many(x, y):
        x, y = summed(x), summed(y)
        torch.ops.aten._foreach_mul_([x, y], 3.0)
        return x + 1, summed(y)

    q = [torch.rand(1, 2, 8, 16) for _ in range(3)]
    x = torch.rand(6, 8)
    for function, inputs in (
        (attention, q),
        (only_the_weight, [torch.rand(2, 8, 5, 5), torch.rand(8, 8, 3, 3)]),
        (halves, [x]),
        (updated, [torch.rand(4, 3, 5), torch.rand(3), torch.rand(3)]),
        (on_many, [x, x + 1]),
    ):
        module = graph_of(function, *inputs)
        theirs = ran(module, inputs)
        ours, left = compiled(module, inputs)
        assert not left, f"{function.__name__}: {left}"
        for our, their in zip(pytree.tree_leaves(ours), pytree.tree_leaves(theirs), strict=True):
            assert torch.equal(our, their), function.__name__


def test_parts_of_lists_are_told_apart():
    run(2, parts_of_lists)


def lists_with_holes(rank):
    """What a GPU's attention gives back: two of nine are none, integers or tensors that nobody takes."""
    import hocket
    from hocket import fx_json

    def attention(q):
        parts = torch.ops.aten._scaled_dot_product_flash_attention(summed(q), q, q, 0.0, True, False)
        return summed(parts[0]), parts[1], parts[6]

    module = graph_of(attention, torch.empty(1, 2, 64, 32, dtype=torch.bfloat16))
    spec = fx_json.to_json(module.graph)
    nodes = {node["name"]: node for node in spec["nodes"]}
    (attended,) = (node for node in spec["nodes"] if "flash" in node.get("op", ""))
    whole = {(tuple(out["shape"]), out["dtype"]): out["storage"] for out in attended["out"]}
    taken = [node for node in spec["nodes"] if node.get("op") == "getitem"]
    assert {0, 1, 6} <= {node["args"][1] for node in taken}
    for node in taken:
        if node["args"][1] in (2, 3, 4, 5):  # none and integers
            assert node["out"] == []
            continue
        (out,) = node["out"]
        assert whole[tuple(out["shape"]), out["dtype"]] == out["storage"]
    assert nodes["output"]["out"] == []
    assert "left as it is" not in str(hocket.report(hocket.optimize(module, agree=False)))


def test_what_is_no_tensor_in_a_list_is_skipped():
    run(1, lists_with_holes, backend="fake")


def what_hocket_can_not_read(rank):
    import hocket

    module = graph_of(lambda x: summed(x).to(torch.complex32) * 2, torch.ones(3))
    with pytest.MonkeyPatch.context() as patch:
        heard = []
        patch.setattr(logging.getLogger("hocket"), "warning", lambda text, *given: heard.append(text % given))
        optimized = hocket.optimize(module)
    assert len(heard) == 1 and "leaves a graph as it is" in heard[0] and "complex32" in heard[0], heard
    assert optimized.code == module.code


def test_a_graph_that_hocket_can_not_read_is_left_alone():
    run(2, what_hocket_can_not_read)


def samples_of(operator, backward):
    """Functions of tensors alone, each with the tensors."""
    dtype = torch.float32 if torch.float32 in operator.dtypes else torch.int64
    if backward and not (operator.supports_autograd and dtype == torch.float32):
        return
    for number, sample in enumerate(operator.sample_inputs("cpu", dtype, requires_grad=backward)):
        if number == SAMPLES:
            return
        leaves, form = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        where = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def program(*tensors, leaves=leaves, form=form, where=where):
            filled = list(leaves)
            for i, tensor in zip(where, tensors):
                filled[i] = summed(tensor) if tensor.is_floating_point() else tensor
            first, args, kwargs = pytree.tree_unflatten(filled, form)
            results = [one for one in pytree.tree_leaves(operator.op(first, *args, **kwargs)) if isinstance(one, torch.Tensor)]
            inputs = [tensor for tensor in tensors if tensor.requires_grad]
            loss = [one for one in results if one.requires_grad]
            if inputs and loss:
                gradients = torch.autograd.grad(loss, inputs, [torch.ones_like(one) for one in loss], allow_unused=True)
                results += [summed(one) for one in gradients if one is not None]
            return results

        yield program, [leaves[i] for i in where]


def same(ours, theirs):
    """To the last bit."""

    def bytes_of(tensor):
        return tensor.to_dense().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8)

    return ours.shape == theirs.shape and ours.dtype == theirs.dtype and torch.equal(bytes_of(ours), bytes_of(theirs))


def all_operators(rank):
    from torch.testing._internal.common_methods_invocations import op_db

    compared, left_alone = 0, collections.Counter()
    for operator in op_db:
        for backward in (False, True):
            for program, inputs in samples_of(operator, backward):
                try:
                    module = graph_of(program, *inputs)
                    theirs = ran(module, inputs)
                except Exception as error:
                    assert type(error).__name__ in REFUSED, f"{operator.name}: {error}"
                    continue
                try:
                    ours, left = compiled(module, inputs)
                except Exception as error:
                    raise AssertionError(f"{operator.name}, backward {backward}: {error}\n{module.code}") from error
                if "communicates nothing" in left:  # integers
                    continue
                compared += 1
                left_alone[operator.name] += bool(left)
                if operator.name.startswith(("empty", "new_empty")):
                    continue  # whatever was there
                for our, their in zip(ours, theirs, strict=True):
                    assert same(our, their), f"{operator.name}, backward {backward}: {our} instead of {their}\n{module.code}"
    return compared, {name: times for name, times in left_alone.items() if times}


@pytest.mark.long
def test_every_operator_of_pytorch_is_compiled_and_computes_the_same():
    ((compared, left_alone),) = run(1, all_operators, backend="fake", patience=1500)
    assert compared > 2000
    # Sizes that are known at run time only, 16-bit complex numbers, reductions of 8-bit floats.
    assert sum(left_alone.values()) <= 40, left_alone
