"""Groups come and go: what they took is given back, and nothing of one reaches the next."""

import os

import torch
import torch.distributed as dist
from ranks import run

ROUNDS = 60
WARM_UP = 15
BUSY_AT_ONCE = 4  # the pool of threads has as many as there were groups busy at the same time; they stay
ALLOWED_KIB = 300  # of which a lane that is not given back takes 50 in every round


def taken():
    """KiB of memory, threads, descriptors."""
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(status["VmRSS"].split()[0]), int(status["Threads"]), len(os.listdir("/proc/self/fd"))


def use(group):
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        return
    ranks = dist.get_process_group_ranks(group)
    tensor = torch.ones(1000)
    dist.all_reduce(tensor, group=group)
    dist.all_reduce(tensor, group=group, async_op=True).wait()
    assert tensor[0] == len(ranks) ** 2
    message = torch.tensor([float(dist.get_rank())])
    if dist.get_rank() == ranks[0]:
        dist.send(message, ranks[1], group=group)
    elif dist.get_rank() == ranks[1]:
        dist.recv(message, ranks[0], group=group)
        assert message.item() == ranks[0]
    dist.destroy_process_group(group)


class Flat:
    """What a process has taken in early rounds and in late ones: the least of several."""

    def __init__(self):
        self.rounds = []

    def add(self):
        self.rounds.append(taken())

    def check(self, allowed_kib):
        early, late = (tuple(map(min, zip(*part))) for part in (self.rounds[WARM_UP : 2 * WARM_UP], self.rounds[-WARM_UP:]))
        assert late[0] < early[0] + allowed_kib, f"{late[0] - early[0]} KiB more"
        assert late[1] <= early[1] + BUSY_AT_ONCE, f"there were {early[1]} threads, and are {late[1]}"
        assert late[2] <= early[2], f"there were {early[2]} descriptors, and are {late[2]}"


def many_groups(rank):
    flat = Flat()
    for _ in range(ROUNDS):
        groups = [dist.new_group(ranks) for ranks in ([0, 1], [1, 2], [0, 1, 2], [0, 1])]
        for group in groups:
            use(group)
        del groups, group
        flat.add()
    flat.check(ALLOWED_KIB)


def worlds_again_and_again(rank):
    store = dist.distributed_c10d._get_default_store()
    dist.destroy_process_group()
    flat = Flat()
    for _ in range(ROUNDS):
        dist.init_process_group("hocket", store=store, rank=rank, world_size=2)
        dist.all_reduce(torch.ones(3), async_op=True).wait()
        dist.barrier()
        dist.destroy_process_group()
        flat.add()
    flat.check(ALLOWED_KIB)
    descriptors = [of_round[2] for of_round in flat.rounds]
    assert max(descriptors) == min(descriptors), f"a world is left with all it took, but descriptors were {descriptors}"
    dist.init_process_group("hocket", store=store, rank=rank, world_size=2)


def a_message_that_nobody_took(rank):
    first = dist.new_group([0, 1])
    if rank == 0:
        dist.send(torch.tensor([1.0]), 1, group=first)
    dist.barrier(first)
    dist.destroy_process_group(first)
    second = dist.new_group([0, 1])
    message = torch.tensor([2.0])
    if rank == 0:
        dist.send(message, 1, group=second)
    else:
        message.zero_()
        dist.recv(message, 0, group=second)
    assert message.item() == 2


def a_group_that_failed(rank):
    """Its lane is not for the next group, which would find it broken."""
    first = dist.new_group([0, 1])
    try:
        dist.all_reduce(torch.ones(3 + rank), group=first)
    except dist.DistBackendError:
        pass
    else:
        raise AssertionError("ranks with different tensors were not noticed")
    dist.destroy_process_group(first)
    second = dist.new_group([0, 1])
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=second)
    assert tensor.tolist() == [2, 2, 2]


def memory_outlives_its_group(rank):
    import hocket

    first = dist.new_group([0, 1])
    tensor = hocket.symmetric_empty(1000, group=first)
    tensor.fill_(rank + 1)
    dist.all_reduce(tensor, group=first)
    dist.destroy_process_group(first)
    second = dist.new_group([0, 1])
    other = hocket.symmetric_empty(1000, group=second)
    other.fill_(10)
    dist.all_reduce(other, group=second)
    assert tensor[0] == 3 and other[0] == 20
    dist.all_reduce(tensor, group=second)
    assert tensor[-1] == 6


def test_groups_give_back_what_they_took():
    run(3, many_groups)


def test_worlds_give_back_what_they_took():
    run(2, worlds_again_and_again)


def test_a_message_of_one_group_does_not_reach_the_next():
    run(2, a_message_that_nobody_took)


def test_a_group_that_failed_leaves_nothing_to_the_next():
    run(2, a_group_that_failed)


def test_memory_outlives_its_group():
    run(2, memory_outlives_its_group)
