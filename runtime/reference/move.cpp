// Ops that move elements, and Cast.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

// One strided copy between two tensors of the same element size.
struct Copy {
  StridedLoop<2> loop;  // to, from
  int64_t to_start = 0;
  int64_t from_start = 0;
  int64_t size = 1;  // of an element, bytes

  void run(const std::byte* from, std::byte* to) {
    loop.for_each_row([&](const StridedLoop<2>::Offsets& at) {
      copy_row(from + (from_start + at[1]) * size, to + (to_start + at[0]) * size);
    });
  }

 private:
  void copy_row(const std::byte* from, std::byte* to) const {
    const int64_t length = loop.row_length();
    const int64_t to_step = loop.row_strides()[0] * size;
    const int64_t from_step = loop.row_strides()[1] * size;
    if (to_step == size && from_step == size) {
      std::memcpy(to, from, static_cast<size_t>(length * size));
      return;
    }
    for (int64_t i = 0; i < length; ++i) {
      std::memcpy(to + i * to_step, from + i * from_step, static_cast<size_t>(size));
    }
  }
};

int64_t element_size(const KernelSpec& spec) {
  return static_cast<int64_t>(size_of(spec.out().dtype));
}

// A kernel that reads input 0 with `strides` from `start` into the dense output.
KernelPointer read_strided(const KernelSpec& spec, const Shape& shape, std::vector<int64_t> strides,
                           int64_t start) {
  Copy copy{{shape, {dense_strides(shape), std::move(strides)}}, 0, start, element_size(spec)};
  return kernel_of([copy](const KernelIo& io) mutable { copy.run(io.inputs[0], io.outputs[0]); });
}

KernelPointer transpose(const KernelSpec& spec) {
  const auto dense = dense_strides(spec.in(0).shape);
  std::vector<int64_t> strides;
  for (const int64_t axis : spec.attributes.get_ints("perm")) {
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  return read_strided(spec, spec.out().shape, std::move(strides), 0);
}

KernelPointer slice(const KernelSpec& spec) {
  const auto starts = spec.attributes.get_ints("starts");
  const auto steps = spec.attributes.get_ints("steps");
  auto strides = dense_strides(spec.in(0).shape);
  int64_t start = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    start += starts[axis] * strides[axis];
    strides[axis] *= steps[axis];
  }
  // Nothing is read from an empty slice, whose start need not exist.
  if (spec.out().elements() == 0) start = 0;
  return read_strided(spec, spec.out().shape, std::move(strides), start);
}

// Each axis is seen as (repeat, extent), the repeat with stride 0.
KernelPointer tile(const KernelSpec& spec) {
  const Shape& in = spec.in(0).shape;
  const auto repeats = spec.attributes.get_ints("repeats");
  const auto dense = dense_strides(in);
  Shape shape;
  std::vector<int64_t> strides;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    shape.insert(shape.end(), {repeats[axis], in[axis]});
    strides.insert(strides.end(), {0, dense[axis]});
  }
  return read_strided(spec, shape, std::move(strides), 0);
}

// Copies of whole tensors into, or out of, consecutive parts of one along `axis`.
KernelPointer concat(const KernelSpec& spec) {
  const auto axis = static_cast<size_t>(spec.attributes.get_int("axis"));
  const auto out_strides = dense_strides(spec.out().shape);
  std::vector<Copy> copies;
  int64_t start = 0;
  for (const TensorType* part : spec.inputs) {
    copies.push_back({{part->shape, {out_strides, dense_strides(part->shape)}},
                      start * out_strides[axis],
                      0,
                      element_size(spec)});
    start += part->shape[axis];
  }
  return kernel_of([copies = std::move(copies)](const KernelIo& io) mutable {
    for (size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[i], io.outputs[0]);
  });
}

KernelPointer split(const KernelSpec& spec) {
  const auto axis = static_cast<size_t>(spec.attributes.get_int("axis"));
  const auto in_strides = dense_strides(spec.in(0).shape);
  std::vector<Copy> copies;
  int64_t start = 0;
  for (const TensorType& part : spec.outputs) {
    copies.push_back({{part.shape, {dense_strides(part.shape), in_strides}},
                      0,
                      start * in_strides[axis],
                      element_size(spec)});
    start += part.shape[axis];
  }
  return kernel_of([copies = std::move(copies)](const KernelIo& io) mutable {
    for (size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[0], io.outputs[i]);
  });
}

KernelPointer gather(const KernelSpec& spec) {
  const Shape& in = spec.in(0).shape;
  const auto axis = static_cast<size_t>(spec.attributes.get_int("axis"));
  const int64_t extent = in[axis];
  const auto count = spec.in(1).elements();
  const DType index_type = spec.in(1).dtype;
  const int64_t block = dense_strides(in)[axis] * element_size(spec);  // bytes per index
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= in[i];
  return kernel_of([=](const KernelIo& io) {
    if (block == 0) return;
    std::byte* to = io.outputs[0];
    const auto index_size = static_cast<int64_t>(size_of(index_type));
    for (int64_t o = 0; o < outer; ++o) {
      const std::byte* rows = io.inputs[0] + o * extent * block;
      for (int64_t i = 0; i < count; ++i, to += block) {
        int64_t index;
        load(index_type, io.inputs[1] + i * index_size, &index, 1);
        if (index < 0) index += extent;
        const bool inside = index >= 0 && index < extent;
        // Counted once per index, not once per outer row.
        if (!inside && o == 0) ++io.flags.index_out_of_range;
        if (inside) std::memcpy(to, rows + index * block, static_cast<size_t>(block));
        if (!inside) std::memset(to, 0, static_cast<size_t>(block));
      }
    }
  });
}

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };

// The element of an axis of `extent` that position `at` (0 = first element) repeats; -1 for none.
int64_t padded_source(PadMode mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case PadMode::kReflect:
      return at < 0 ? -at : 2 * (extent - 1) - at;
    case PadMode::kEdge:
      return at < 0 ? 0 : extent - 1;
    case PadMode::kWrap:
      return (at % extent + extent) % extent;
    default:
      return -1;
  }
}

class Pad final : public Kernel {
 public:
  explicit Pad(const KernelSpec& spec)
      : mode_(mode_of(spec.attributes.get_string("mode"))),
        in_(spec.in(0).shape),
        out_(spec.out().shape),
        before_(spec.attributes.get_ints("pads")),
        size_(static_cast<size_t>(element_size(spec))) {
    const double value = spec.attributes.get_float("value");
    store(spec.out().dtype, &value, fill_, 1);
  }

  void run(const KernelIo& io) override {
    std::byte* to = io.outputs[0];
    run_axis(io.inputs[0], 0, 0, to);
  }

 private:
  static PadMode mode_of(const std::string& name) {
    if (name == "reflect") return PadMode::kReflect;
    if (name == "edge") return PadMode::kEdge;
    return name == "wrap" ? PadMode::kWrap : PadMode::kConstant;
  }

  // Writes everything below `axis`; `flat` is the input's index so far, -1 inside the padding.
  void run_axis(const std::byte* from, size_t axis, int64_t flat, std::byte*& to) const {
    if (axis == out_.size()) {
      const std::byte* element = flat < 0 ? fill_ : from + static_cast<size_t>(flat) * size_;
      std::memcpy(to, element, size_);
      to += size_;
      return;
    }
    for (int64_t at = 0; at < out_[axis]; ++at) {
      const int64_t source = padded_source(mode_, at - before_[axis], in_[axis]);
      const bool filled = flat < 0 || source < 0;
      run_axis(from, axis + 1, filled ? -1 : flat * in_[axis] + source, to);
    }
  }

  const PadMode mode_;
  const Shape in_;
  const Shape out_;
  const std::vector<int64_t> before_;
  const size_t size_;
  std::byte fill_[8] = {};
};

template <typename Wide>
KernelPointer cast_through(const KernelSpec& spec) {
  const DType from = spec.in(0).dtype;
  const DType to = spec.out().dtype;
  const auto count = static_cast<size_t>(spec.out().elements());
  return kernel_of([=](const KernelIo& io) {
    Wide row[kChunk];
    for (size_t at = 0; at < count; at += kChunk) {
      const size_t length = std::min(kChunk, count - at);
      load(from, io.inputs[0] + at * size_of(from), row, length);
      store(to, row, io.outputs[0] + at * size_of(to), length);
    }
  });
}

KernelPointer cast(const KernelSpec& spec) {
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return cast_through<double>(spec);
    case Domain::kSigned:
      return cast_through<int64_t>(spec);
    default:
      return cast_through<uint64_t>(spec);
  }
}

KernelPointer reshape(const KernelSpec& spec) {
  const auto bytes = static_cast<size_t>(spec.out().bytes());
  return kernel_of(
      [bytes](const KernelIo& io) { std::copy_n(io.inputs[0], bytes, io.outputs[0]); });
}

}  // namespace

KernelPointer make_move_kernel(const KernelSpec& spec) {
  const Shape& out = spec.out().shape;
  switch (spec.kind) {
    case OpKind::kCast:
      return cast(spec);
    case OpKind::kConcat:
      return concat(spec);
    case OpKind::kExpand:
      return read_strided(spec, out, broadcast_strides(spec.in(0).shape, out), 0);
    case OpKind::kGather:
      return gather(spec);
    case OpKind::kPad:
      return std::make_unique<Pad>(spec);
    case OpKind::kReshape:
      return reshape(spec);
    case OpKind::kSlice:
      return slice(spec);
    case OpKind::kSplit:
      return split(spec);
    case OpKind::kTile:
      return tile(spec);
    default:
      return transpose(spec);
  }
}

}  // namespace modeld::reference
