"""torchrun on two hosts: shared memory inside each, gloo between them."""

import textwrap

import pytest
import two_hosts

SCRIPT = """
    import socket, sys, torch, torch.distributed as dist, hocket
    dist.init_process_group("hocket")
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.full((1000,), rank + 1.0)
    dist.all_reduce(tensor)
    assert (tensor == size * (size + 1) / 2).all(), tensor
    gathered = [torch.empty(3) for _ in range(size)]
    dist.all_gather(gathered, torch.full((3,), float(rank)))
    assert [int(one[0]) for one in gathered] == list(range(size))
    exchanged = torch.empty(size)
    dist.all_to_all_single(exchanged, torch.arange(size) + 10.0 * rank)
    assert exchanged.tolist() == [10.0 * other + rank for other in range(size)]
    # A message to the other host and back.
    other = (rank + size // 2) % size
    got = torch.zeros(5000)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((5000,), float(rank)), other), dist.P2POp(dist.irecv, got, other)])
    for work in works:
        work.wait()
    assert (got == other).all()
    # Groups of one host, of one rank of each, and of a mesh.
    mesh = dist.device_mesh.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("hosts", "ranks"))
    for name, expected in (("hosts", 2), ("ranks", size // 2)):
        one = torch.ones(10)
        dist.all_reduce(one, group=mesh.get_group(name))
        assert one[0] == expected
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    model(torch.ones(1, 3) * rank).sum().backward()
    names = [None] * size
    dist.all_gather_object(names, socket.gethostname())
    dist.monitored_barrier()
    # In one piece: launchers and ranks write to the same place.
    sys.stdout.write(f"rank {rank} of {size} on {len(set(names))} hosts, grad {model.module.weight.grad[0, 0].item()}\\n")
    sys.stdout.flush()
    dist.destroy_process_group()
"""


@pytest.mark.long
def test_torchrun_on_two_hosts(tmp_path):
    if why := two_hosts.impossible():
        pytest.skip(why)
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    with two_hosts.TwoHosts() as hosts:
        codes, text = hosts.torchrun(script, ranks_per_host=2)
    assert codes == [0, 0], text
    assert sorted(line for line in text.splitlines() if line.startswith("rank ")) == [
        f"rank {rank} of 4 on 2 hosts, grad 1.5" for rank in range(4)
    ]
