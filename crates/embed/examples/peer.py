"""Passages a second by onnxruntime, beside the example `throughput`, on one thread.

    pip install onnxruntime numpy tokenizers
    cargo run --release -p kapsa-embed --example throughput -- --write TEXTS
    python3 crates/embed/examples/peer.py VOCAB.txt TEXTS MODEL.onnx...

`xtask/src/model.rs` names the packages with the original of the bundled model and its vocabulary.
As in `throughput`, cutting into tokens is counted. Texts are given one by one and in batches of 64,
padded to the longest after sorting; the faster way is printed, for each model. A model beside the
first, such as an 8-bit one by `onnxruntime.quantization.quantize_dynamic`, is compared with the
first by the mean cosine.
"""

import sys
import time

import numpy as np
import onnxruntime
from tokenizers import BertWordPieceTokenizer

RUNS = 3
TOKENS_MAX = 256


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def encode(model, tokenizer, texts, size):
    names = {value.name for value in model.get_inputs()}
    tokens_out = next(value.name for value in model.get_outputs() if len(value.shape) == 3)
    vectors = [None] * len(texts)
    tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(texts)), key=lambda at: len(tokens[at]))
    for first in range(0, len(order), size):
        batch = order[first : first + size]
        longest = max(len(tokens[at]) for at in batch)
        ids = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, at in enumerate(batch):
            ids[row, : len(tokens[at])] = tokens[at]
            mask[row, : len(tokens[at])] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = model.run([tokens_out], {name: given[name] for name in names})[0]
        sums = (states * mask[:, :, None]).sum(1)
        for row, at in enumerate(batch):
            vectors[at] = sums[row] / np.linalg.norm(sums[row])
    return np.array(vectors)


def main():
    vocabulary, file, *models = sys.argv[1:]
    tokenizer = BertWordPieceTokenizer(vocabulary)
    tokenizer.enable_truncation(TOKENS_MAX)
    with open(file) as lines:
        texts = lines.read().strip().split("\n")
    first = None
    for path in models:
        model = session(path)
        rates = {}
        for size in (1, 64):
            times = []
            for _ in range(RUNS):
                begin, used = time.perf_counter(), time.process_time()
                vectors = encode(model, tokenizer, texts, size)
                times.append((time.process_time() - used, time.perf_counter() - begin))
            used, passed = sorted(times)[RUNS // 2]
            rates[size] = (len(texts) / used, len(texts) / passed)
        size = max(rates, key=lambda size: rates[size][0])
        first = vectors if first is None else first
        print(
            f"{path}: one core: {rates[size][1]:.1f} passages/s, {rates[size][0]:.1f} for each second "
            f"of processor time, in batches of {size}; cosine to the first {np.mean(np.sum(vectors * first, 1)):.4f}"
        )


main()
