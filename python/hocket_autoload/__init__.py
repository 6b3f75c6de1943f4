"""What PyTorch calls when it is imported, so that ``init_process_group("hocket")`` needs no import of hocket.

It stands apart from the package so that it costs nothing and can't fail: hocket itself, and its complaint about another version of
PyTorch, come when a group is made.
"""


def register() -> None:
    """Makes the back end known to torch.distributed."""
    import torch.distributed as dist

    if not dist.is_available():
        return

    def create(options, group_options):
        from hocket import process_group

        return process_group.create(options, group_options)

    dist.Backend.register_backend("hocket", create, extended_api=True, devices=["cpu"])
