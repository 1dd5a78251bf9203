#include "tools/compile/output_slices.h"

#include <algorithm>

#include "tools/compile/base64.h"
#include "tools/compile/slice_pickle.h"
#include "tools/compile/text.h"

namespace modeld::compile {

Result<std::vector<NamedSlice>> read_slice_pickle(std::span<const std::byte> pickle) {
  return SlicePickle(pickle).read();
}

Result<std::vector<NamedSlice>> decode_output_slices(std::string_view base64) {
  auto bytes = decode_base64(base64);
  if (!bytes.ok()) return std::move(bytes).error().in("output_slices");
  auto slices = read_slice_pickle(*bytes);
  if (!slices.ok()) return std::move(slices).error().in("output_slices");
  return slices;
}

Result<SliceBounds> resolve_slice(const NamedSlice& slice, int64_t total) {
  const int64_t step = slice.step.value_or(1);
  if (step == 0) return Error(ErrorCode::kCorrupt, "slice '" + printable(slice.name) + "': step 0");
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? total : total - 1;
  const auto resolve = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    if (*bound < 0) return *bound < -total ? low : std::max(*bound + total, low);
    return std::min(*bound, high);
  };
  return SliceBounds{resolve(slice.start, step > 0 ? low : high),
                     resolve(slice.stop, step > 0 ? high : low), step};
}

}  // namespace modeld::compile
