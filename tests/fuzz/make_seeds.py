#!/usr/bin/env python3
"""Writes the inputs that the fuzzers start from: make_seeds.py FOLDER (tests/fuzz/seeds).

All encodings are written by hand (for ONNX the field numbers of onnx.proto), so that nothing but
Python is needed. The files are committed; this says what is in them. Made otherwise:
config/modeld.toml is the shipped one, artifact/* are the header and the manifest of
`modelctl compile seeds/onnx/gemm.onnx`.
"""

import bz2
import pathlib
import struct
import sys

FLOAT, INT64, FLOAT16, UINT8 = 1, 7, 10, 2


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    out = data(1, name)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return out + data(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return out + data(5, value) + number(20, 4)
    return out + b"".join(number(8, item) for item in value) + number(20, 7)


def tensor(name, kind, dims, values):
    codes = {FLOAT: "f", INT64: "q", FLOAT16: "e", UINT8: "B"}
    raw = struct.pack(f"<{len(values)}{codes[kind]}", *values)
    return (b"".join(number(1, dim) for dim in dims) + number(2, kind) + data(8, name) +
            data(9, raw))


def floats(name, dims):
    count = 1
    for dim in dims:
        count *= dim
    return tensor(name, FLOAT, dims, [(i % 7 - 3) / 4 for i in range(count)])


def ints(name, values):
    return tensor(name, INT64, [len(values)], values)


def node(kind, inputs, outputs, **attributes):
    return (b"".join(data(1, name) for name in inputs) +
            b"".join(data(2, name) for name in outputs) + data(4, kind) +
            b"".join(data(5, attribute(name, value)) for name, value in attributes.items()))


def value(name, kind, dims):
    shape = b"".join(data(1, data(2, dim) if isinstance(dim, str) else number(1, dim))
                     for dim in dims)
    return data(1, name) + data(2, data(1, number(1, kind) + data(2, shape)))


def model(inputs, tensors, nodes, outputs, opset=18):
    graph = (b"".join(data(1, item) for item in nodes) + data(2, "g") +
             b"".join(data(5, item) for item in tensors) +
             b"".join(data(11, value(*item)) for item in inputs) +
             b"".join(data(12, value(name, FLOAT, [])) for name in outputs))
    return number(1, 8) + data(7, graph) + data(8, number(2, opset))


def onnx_seeds():
    image = [("x", FLOAT, [1, 3, 6, 6])]
    rows = [("x", FLOAT, [2, 6])]
    yield "convolution", model(
        image,
        [floats("w", [4, 3, 3, 3]), floats("b", [4]), floats("s", [4]), floats("m", [4]),
         tensor("v", FLOAT, [4], [1, 2, 3, 4])],
        [node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]),
         node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"], epsilon=1e-5),
         node("Relu", ["c"], ["y"])], ["y"])
    yield "pool", model(image, [], [
        node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", ["a"], ["b"], kernel_shape=[2, 2], count_include_pad=1,
             pads=[1, 0, 1, 0]),
        node("GlobalAveragePool", ["b"], ["y"])], ["y"])
    yield "transposed", model(image, [floats("w", [3, 2, 2, 2])], [
        node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])], ["y"])
    yield "gemm", model(rows, [floats("w", [6, 3]), floats("b", [3])], [
        node("Gemm", ["x", "w", "b"], ["a"], alpha=0.5), node("Sigmoid", ["a"], ["s"]),
        node("Mul", ["a", "s"], ["y"])], ["y"])
    yield "attention", model(
        [("q", FLOAT, [1, 4, 8]), ("k", FLOAT, [1, 4, 8])], [floats("r", [1])],
        [node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]), node("MatMul", ["q", "kt"], ["a"]),
         node("Mul", ["a", "r"], ["b"]), node("Softmax", ["b"], ["p"], axis=-1),
         node("MatMul", ["p", "k"], ["y"])], ["y"])
    yield "shapes", model(
        rows, [ints("i", [0]), ints("n", [-1]), ints("axes", [0])],
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["d"], axis=0),
         node("Concat", ["d", "n"], ["t"], axis=0), node("Reshape", ["x", "t"], ["a"]),
         node("Unsqueeze", ["a", "axes"], ["y"])], ["y"])
    yield "folding", model(
        [("x", FLOAT, [4])], [ints("n", [4]), ints("r", [2])],
        [node("ConstantOfShape", ["n"], ["z"],
              value=tensor("", FLOAT, [1], [0.5])),
         node("Tile", ["z", "r"], ["t"]), node("Expand", ["z", "n"], ["e"]),
         node("Add", ["x", "e"], ["a"]), node("ReduceSum", ["t"], ["b"], keepdims=0),
         node("Add", ["a", "b"], ["y"])], ["y"])
    yield "slices", model(
        rows, [ints("b", [1]), ints("e", [5]), ints("a", [1]), ints("st", [2]), ints("sp", [1, 1])],
        [node("Slice", ["x", "b", "e", "a", "st"], ["s"]),
         node("Split", ["s", "sp"], ["p", "q"], axis=1),
         node("Concat", ["p", "q"], ["c"], axis=0), node("Flatten", ["c"], ["y"], axis=1)], ["y"])
    yield "resize", model(
        image, [tensor("s", FLOAT, [4], [1, 1, 2, 2]), ints("p", [0, 0, 1, 1, 0, 0, 1, 1])],
        [node("Resize", ["x", "", "s"], ["a"], mode="linear",
              coordinate_transformation_mode="half_pixel"),
         node("Pad", ["a", "p"], ["y"], mode="reflect")], ["y"])
    yield "normalisation", model(
        rows, [floats("g", [6]), floats("h", [6]), tensor("e", FLOAT, [1], [2])],
        [node("ReduceMean", ["x"], ["m"], axes=[1]), node("Sub", ["x", "m"], ["d"]),
         node("Pow", ["d", "e"], ["p"]), node("LayerNormalization", ["d", "g", "h"], ["l"])],
        ["l", "p"], opset=17)
    yield "half", model([("x", FLOAT16, [2, 2])], [tensor("w", FLOAT16, [2, 2], [1, 2, 3, 4])], [
        node("MatMul", ["x", "w"], ["a"]), node("Cast", ["a"], ["y"], to=FLOAT)], ["y"])
    yield "bytes", model([("x", UINT8, [1, 4])], [], [
        node("Cast", ["x"], ["a"], to=FLOAT), node("Clip", ["a"], ["y"])], ["y"])
    yield "symbols", model([("x", FLOAT, ["batch", 3])], [], [node("Tanh", ["x"], ["y"])], ["y"])
    outside = (number(1, 4) + number(2, FLOAT) + data(8, "w") +
               data(13, data(1, "location") + data(2, "w.bin")) + number(14, 1))
    yield "external", model([("x", FLOAT, [4])], [outside], [
        node("Add", ["x", "w"], ["y"])], ["y"])
    # Asks for 2^60 elements from sixty bytes.
    yield "bomb", model([("x", FLOAT, [1])], [ints("n", [1 << 20, 1 << 20, 1 << 20])], [
        node("ConstantOfShape", ["n"], ["z"]), node("Add", ["x", "z"], ["y"])], ["y"])


def npy(header, payload):
    header = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + payload


def npy_seeds():
    yield "f32", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                     struct.pack("<6f", *range(6)))
    yield "u8", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", b"abcd")
    yield "scalar", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
                        struct.pack("<q", 7))


def event(kind, words, pointers):
    """A framed Event: 16 bytes of data and one pointer, to a struct of zeros."""
    body = struct.pack("<QHHI", 1_000_000, kind, 0, 0) + struct.pack("<IHH", 0, words, pointers)
    body += bytes(8 * (words + pointers))
    root = struct.pack("<IHH", 0, 2, 1)
    return struct.pack("<II", 0, len(root + body) // 8) + root + body


def event_log_seeds():
    # Tags of the union in ipc/schema/log.capnp: deviceState, carState, modelV2.
    yield "three", event(5, 4, 2) + event(21, 8, 4) + event(73, 6, 40)
    yield "truncated", event(73, 6, 40)[:-8]


def state(tag, frame_id, time):
    """A framed Event holding a FrameData (12 data words, 7 pointers) of that frame."""
    frame = struct.pack("<IIQIIIIQ", frame_id, 0, time, 0, 0, 0, 0, time - 18_000_000)
    body = struct.pack("<QHHI", time, tag, 0, 0) + struct.pack("<IHH", 0, 12, 7)
    body += frame + bytes(8 * 19 - len(frame))
    root = struct.pack("<IHH", 0, 2, 1)
    return struct.pack("<II", 0, len(root + body) // 8) + root + body


def encode_index(tag, frame_id, picture, time):
    """A framed Event holding an EncodeIndex (6 data words) of that frame."""
    index = struct.pack("<IHHIiIIQQII", frame_id, 1, 0, frame_id, 0, picture, picture,
                        time - 18_000_000, time, 0, 1000)
    body = struct.pack("<QHHI", time, tag, 0, 0) + struct.pack("<IHH", 0, 6, 0) + index
    root = struct.pack("<IHH", 0, 2, 1)
    return struct.pack("<II", 0, len(root + body) // 8) + root + body


def zstd_stored(content):
    """A zstd frame of one raw block."""
    return (struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) +
            struct.pack("<I", len(content) << 3 | 1)[:3] + content)


def replay_log_seeds():
    # Tags: narrowRoadCameraState 1, cabinCameraState 68, wideRoadCameraState 72, their indices 14,
    # 74 and 75; carState 21, deviceState 5, modelV2 73, sentinel 71.
    log = event(71, 1, 0) + event(5, 15, 11)
    for frame in range(3):
        time = 1_000_000_000 + frame * 50_000_000
        log += state(1, 100 + frame, time) + encode_index(14, 100 + frame, frame, time)
        log += state(72, 100 + frame, time) + encode_index(75, 100 + frame, frame, time)
        log += state(68, 7 + frame, time) + event(21, 10, 6) + event(73, 6, 17)
    yield "plain", log
    yield "bzip2", bz2.compress(log)
    yield "two_bzip2", bz2.compress(log[:80]) + bz2.compress(log[80:])
    yield "zstd", zstd_stored(log)
    yield "truncated_bzip2", bz2.compress(log)[:-20]
    yield "truncated_zstd", zstd_stored(log)[:-100]
    yield "truncated", log[:-12]
    # Damage that is searched for the next message byte by byte: once took a minute.
    yield "damage_bzip2", bz2.compress(log + bytes(range(256)) * 512 + log)


def msgq_ring_seeds():
    # 48 header words (readers, write pointer, writer, 15 places, 15 valid flags, 15 owners) and data.
    one = struct.pack("<q", 5) + b"hello" + bytes(3)
    yield "fresh", bytes(384)
    yield "one_message", struct.pack("<48Q", 1, len(one), 7, *[0] * 15, 1, *[0] * 14, 1,
                                     *[0] * 14) + one
    # The reader stands at a wrap marker, the writer one cycle further.
    yield "wrapped", struct.pack("<48Q", 1, 1 << 32 | len(one), 7, 488, *[0] * 14, 1, *[0] * 14, 1,
                                 *[0] * 14) + one + bytes(488 - len(one)) + struct.pack("<q", -1)


def record(size, index):
    width, height, stride = 64, 48, 64
    length = stride * height * 3 // 2
    fields = {0: length, 8: length + 8, 40: width, 48: height, 56: stride, 64: stride * height,
              88: 77, 96: index}
    out = bytearray(size)
    for offset, value in fields.items():
        struct.pack_into("<Q", out, offset, value)
    return bytes(out)


def frame_records_seeds():
    # The first byte is the number of descriptors.
    yield "newest", b"\x02" + record(112, 0) + record(112, 1)
    yield "older", b"\x02" + record(136, 0) + record(136, 1)
    yield "notification", b"\x00" + struct.pack("<QQQQQQ", 77, 1, 9, 1000, 2000, 1)


def main():
    rooms = {"onnx": onnx_seeds, "npy": npy_seeds, "event_log": event_log_seeds,
             "frame_records": frame_records_seeds, "replay_log": replay_log_seeds, "msgq_ring": msgq_ring_seeds}
    for room, seeds in rooms.items():
        folder = pathlib.Path(sys.argv[1]) / room
        folder.mkdir(exist_ok=True)
        for name, content in seeds():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
