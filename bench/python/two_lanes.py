"""How long a step of a graph takes, by the plainest model of it: one lane for computation and one for each group's collectives.

Nodes run in the order of the graph. A collective starts when computation reaches it and those before it in its group are done; a wait
holds computation up until its collective is done.
"""

import estimates

from hocket import fx_json


def step_ms(graph):
    now = 0.0
    lanes, done = {}, {}
    for node in graph.nodes:
        if node.op == "call_function" and fx_json.collective_kind(node):
            lane = str(_group(node))
            lanes[lane] = max(now, lanes.get(lane, 0.0)) + estimates.estimate(node)
            done[node] = lanes[lane]
        elif node.op == "call_function" and fx_json.is_wait(node):
            now = max(now, done.get(_started(node.args[0], done), 0.0))
        else:
            now += estimates.estimate(node)
    return max([now, *lanes.values()])


def _group(node):
    names = [argument.name for argument in node.target._schema.arguments]
    return (dict(zip(names, node.args)) | dict(node.kwargs))["group_name"]


def _started(node, done):
    """The collective whose result, or one of whose results, it is."""
    while node not in done and node.op == "call_function" and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node
