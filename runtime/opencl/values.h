// What a program's tensors become in this backend: strided views of pieces of device memory.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/program/tensor.h"

namespace modeld::opencl {

// Counters of one replay: indices out of range, divisions by zero, elements of next states that are
// not finite.
constexpr size_t kFlagCount = 3;

// How the elements of a tensor of rank r follow each other in memory.
enum class Layout : uint8_t {
  kPlain,         // C order
  kChannelsLast,  // axis 1 innermost: 0, 2, .., r-1, 1. Rank 3 and above only.
};

using RootId = uint32_t;
constexpr RootId kNoRoot = std::numeric_limits<RootId>::max();

// Where a piece of memory lives, and how long.
enum class Home : uint8_t {
  kArena,     // planned; alive between its first writer and its last reader
  kConstant,  // written when recording
  kUpload,    // in the packed upload; at `offset`
  kDownload,  // in the packed download
  kState,     // a state's current value
  kNext,      // a state's next value: kept until commit
  kBound,     // a frame the host binds; `index`: which program input
  kFlags,     // counters of run-time faults
};

struct Root {
  Home home = Home::kArena;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // in its block
  uint32_t index = 0;
};

// Offset and strides in elements; strides may be 0 or negative.
struct View {
  RootId root = kNoRoot;
  DType dtype = DType::kFloat32;
  int64_t offset = 0;
  Shape shape;
  std::vector<int64_t> strides;

  int64_t elements() const;
};

// Axes from the outermost to the innermost.
std::vector<size_t> storage_order(size_t rank, Layout layout);
std::vector<int64_t> dense_strides(const Shape& shape, Layout layout);
// True if the view's elements lie without a gap in the order of `layout`.
bool is_dense(const View& view, Layout layout);
// The layout that walks a view's memory forwards: channels last if axis 1 lies innermost.
Layout preferred_layout(const View& view);

// The view seen with `shape` by ONNX broadcasting.
View broadcast(const View& view, const Shape& shape);
// The same elements under another shape, if strides can say it.
bool reshape_view(const View& view, const Shape& shape, View& result);

// Axes of a loop over several views of one shape: those of extent 1 are dropped, neighbours merged
// where every view's strides allow it. An axis merges into its outer neighbour only if that leaves
// every address what it was, so no division or remainder appears that was not there.
struct LoopAxis {
  int64_t extent = 1;
  std::vector<int64_t> strides;  // by view
};
std::vector<LoopAxis> merged_axes(const Shape& shape, const std::vector<const View*>& views,
                                  const std::vector<size_t>& order);

// True if every index into the views fits in 31 bits.
bool fits_int(const std::vector<const View*>& views);

}  // namespace modeld::opencl
