// GatherElements, GatherND and the scatters. A run-time index outside its axis reads 0 or writes
// nothing and is counted.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

int64_t index_at(DType type, const std::byte* indices, int64_t at) {
  int64_t index;
  load(type, indices + at * static_cast<int64_t>(size_of(type)), &index, 1);
  return index;
}

// `index` counted from the end if negative; -1, and counted, where it lies outside.
int64_t resolved(int64_t index, int64_t extent, Flags& flags) {
  if (index < 0) index += extent;
  if (index >= 0 && index < extent) return index;
  ++flags.index_out_of_range;
  return -1;
}

// Places of GatherElements and ScatterElements: element i of the indices belongs to data element
// base(i) + index * stride of the axis.
struct ElementPlaces {
  StridedLoop<2> loop;  // indices, data (0 along the axis)
  int64_t extent;
  int64_t stride;
  DType index_type;

  ElementPlaces(const KernelSpec& spec)
      : loop(spec.in(1).shape, {dense_strides(spec.in(1).shape), data_strides(spec)}),
        extent(spec.in(0).shape[axis(spec)]),
        stride(dense_strides(spec.in(0).shape)[axis(spec)]),
        index_type(spec.in(1).dtype) {}

  static size_t axis(const KernelSpec& spec) {
    return static_cast<size_t>(spec.attributes.get_int("axis"));
  }
  static std::vector<int64_t> data_strides(const KernelSpec& spec) {
    auto strides = dense_strides(spec.in(0).shape);
    strides[axis(spec)] = 0;
    return strides;
  }

  // visit(i, data element or -1)
  template <typename Visit>
  void for_each(const KernelIo& io, Visit visit) {
    loop.for_each_row([&](const StridedLoop<2>::Offsets& at) {
      for (int64_t i = 0; i < loop.row_length(); ++i) {
        const int64_t element = at[0] + i * loop.row_strides()[0];
        const int64_t index =
            resolved(index_at(index_type, io.inputs[1], element), extent, io.flags);
        const int64_t base = at[1] + i * loop.row_strides()[1];
        visit(element, index < 0 ? -1 : base + index * stride);
      }
    });
  }
};

// Places of GatherND and ScatterND: each tuple of indices names a block of data.
struct TuplePlaces {
  std::vector<int64_t> extents;  // of the indexed axes
  std::vector<int64_t> strides;
  int64_t tuples = 1;
  int64_t per_batch = 1;   // tuples of one batch
  int64_t batch_step = 0;  // data elements of one batch
  int64_t block = 1;       // elements a tuple names
  DType index_type;

  TuplePlaces(const KernelSpec& spec, size_t batch_dims) : index_type(spec.in(1).dtype) {
    const Shape& data = spec.in(0).shape;
    const Shape& indices = spec.in(1).shape;
    const auto depth = static_cast<size_t>(indices.back());
    const auto dense = dense_strides(data);
    for (size_t i = 0; i < depth; ++i) {
      extents.push_back(data[batch_dims + i]);
      strides.push_back(dense[batch_dims + i]);
    }
    for (size_t i = batch_dims + depth; i < data.size(); ++i) block *= data[i];
    for (size_t i = 0; i + 1 < indices.size(); ++i) {
      tuples *= indices[i];
      if (i >= batch_dims) per_batch *= indices[i];
    }
    if (batch_dims > 0) batch_step = dense[batch_dims - 1];
  }

  // visit(tuple, first data element or -1)
  template <typename Visit>
  void for_each(const KernelIo& io, Visit visit) const {
    const auto depth = static_cast<int64_t>(extents.size());
    for (int64_t tuple = 0; tuple < tuples; ++tuple) {
      int64_t at = tuple / std::max<int64_t>(per_batch, 1) * batch_step;
      bool inside = true;
      for (int64_t i = 0; i < depth && inside; ++i) {
        const auto k = static_cast<size_t>(i);
        const int64_t index =
            resolved(index_at(index_type, io.inputs[1], tuple * depth + i), extents[k], io.flags);
        inside = index >= 0;
        at += index * strides[k];
      }
      visit(tuple, inside ? at : -1);
    }
  }
};

KernelPointer gather_elements(const KernelSpec& spec) {
  const auto size = static_cast<int64_t>(size_of(spec.out().dtype));
  return kernel_of([places = ElementPlaces(spec), size](const KernelIo& io) mutable {
    places.for_each(io, [&](int64_t element, int64_t from) {
      std::byte* to = io.outputs[0] + element * size;
      if (from < 0) {
        std::memset(to, 0, static_cast<size_t>(size));
      } else {
        std::memcpy(to, io.inputs[0] + from * size, static_cast<size_t>(size));
      }
    });
  });
}

KernelPointer gather_nd(const KernelSpec& spec) {
  const TuplePlaces places(spec, static_cast<size_t>(spec.attributes.get_int("batch_dims")));
  const auto size = static_cast<int64_t>(size_of(spec.out().dtype));
  const auto bytes = static_cast<size_t>(places.block * size);
  return kernel_of([=](const KernelIo& io) {
    if (bytes == 0) return;
    places.for_each(io, [&](int64_t tuple, int64_t from) {
      std::byte* to = io.outputs[0] + static_cast<size_t>(tuple) * bytes;
      if (from < 0) {
        std::memset(to, 0, bytes);
      } else {
        std::memcpy(to, io.inputs[0] + from * size, bytes);
      }
    });
  });
}

enum class Reduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

Reduction reduction_of(const KernelSpec& spec) {
  const std::string name = spec.attributes.get_string("reduction");
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "max") return Reduction::kMax;
  return name == "min" ? Reduction::kMin : Reduction::kNone;
}

template <typename Wide>
Wide combine(Reduction reduction, Wide a, Wide b) {
  constexpr bool kReal = std::is_same_v<Wide, double>;
  switch (reduction) {
    case Reduction::kAdd:
      if constexpr (kReal) return a + b;
      return static_cast<Wide>(uint64_t(a) + uint64_t(b));
    case Reduction::kMul:
      if constexpr (kReal) return a * b;
      return static_cast<Wide>(uint64_t(a) * uint64_t(b));
    case Reduction::kMax:
      if constexpr (kReal) return larger(a, b);
      return std::max(a, b);
    case Reduction::kMin:
      if constexpr (kReal) return smaller(a, b);
      return std::min(a, b);
    default:
      return b;
  }
}

template <typename Wide>
void combine_element(Reduction reduction, DType dtype, std::byte* to, const std::byte* update) {
  Wide a;
  Wide b;
  load(dtype, to, &a, 1);
  load(dtype, update, &b, 1);
  a = combine(reduction, a, b);
  store(dtype, &a, to, 1);
}

// Writes `count` updates behind each other, in order: with duplicates the last one stays, or each
// is combined with what its predecessors left.
struct Update {
  Reduction reduction;
  DType dtype;
  int64_t size;

  explicit Update(const KernelSpec& spec)
      : reduction(reduction_of(spec)),
        dtype(spec.out().dtype),
        size(static_cast<int64_t>(size_of(dtype))) {}

  void write(std::byte* to, const std::byte* updates, int64_t count) const {
    if (reduction == Reduction::kNone) {
      std::memcpy(to, updates, static_cast<size_t>(count * size));
      return;
    }
    for (int64_t i = 0; i < count; ++i, to += size, updates += size) {
      switch (domain_of(dtype)) {
        case Domain::kReal:
          combine_element<double>(reduction, dtype, to, updates);
          break;
        case Domain::kSigned:
          combine_element<int64_t>(reduction, dtype, to, updates);
          break;
        default:
          combine_element<uint64_t>(reduction, dtype, to, updates);
      }
    }
  }
};

KernelPointer scatter_elements(const KernelSpec& spec) {
  const auto bytes = static_cast<size_t>(spec.out().bytes());
  return kernel_of(
      [places = ElementPlaces(spec), update = Update(spec), bytes](const KernelIo& io) mutable {
        std::copy_n(io.inputs[0], bytes, io.outputs[0]);
        places.for_each(io, [&](int64_t element, int64_t to) {
          if (to < 0) return;
          update.write(io.outputs[0] + to * update.size, io.inputs[2] + element * update.size, 1);
        });
      });
}

KernelPointer scatter_nd(const KernelSpec& spec) {
  const auto bytes = static_cast<size_t>(spec.out().bytes());
  return kernel_of(
      [places = TuplePlaces(spec, 0), update = Update(spec), bytes](const KernelIo& io) {
        std::copy_n(io.inputs[0], bytes, io.outputs[0]);
        places.for_each(io, [&](int64_t tuple, int64_t to) {
          if (to < 0) return;
          update.write(io.outputs[0] + to * update.size,
                       io.inputs[2] + tuple * places.block * update.size, places.block);
        });
      });
}

}  // namespace

KernelPointer make_index_kernel(const KernelSpec& spec) {
  switch (spec.kind) {
    case OpKind::kGatherElements:
      return gather_elements(spec);
    case OpKind::kGatherNd:
      return gather_nd(spec);
    case OpKind::kScatterElements:
      return scatter_elements(spec);
    default:
      return scatter_nd(spec);
  }
}

}  // namespace modeld::reference
