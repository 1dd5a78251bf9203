#include "tools/compile/output_contracts.h"

#include <algorithm>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

Error refused(const std::string& name, std::string why) {
  return {ErrorCode::kRefused, "slice '" + printable(name) + "' " + std::move(why)};
}

}  // namespace

Result<std::vector<NamedRange>> ranges_of(const std::vector<NamedRange>& slices, int64_t total) {
  std::vector<NamedRange> sorted = slices;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const NamedRange& a, const NamedRange& b) { return a.start < b.start; });
  std::vector<NamedRange> result;
  int64_t at = 0;
  const auto fill_to = [&](int64_t start) {
    if (start > at) result.push_back({"unnamed_" + std::to_string(at), at, start});
  };
  for (NamedRange& slice : sorted) {
    if (slice.start < at || slice.start >= slice.stop || slice.stop > total) {
      return refused(slice.name, "is empty, overlaps another or leaves the output")
          .expecting(std::to_string(at) + ".." + std::to_string(total),
                     std::to_string(slice.start) + ".." + std::to_string(slice.stop));
    }
    fill_to(slice.start);
    at = slice.stop;
    result.push_back(std::move(slice));
  }
  fill_to(total);
  return result;
}

Result<std::vector<NamedRange>> ranges_of(const std::vector<NamedSlice>& slices, int64_t total) {
  std::vector<NamedRange> ranges;
  for (const NamedSlice& slice : slices) {
    MODELD_ASSIGN(const SliceBounds bounds, resolve_slice(slice, total));
    if (bounds.step != 1) {
      return refused(slice.name, "has a step").expecting("1", std::to_string(bounds.step));
    }
    ranges.push_back({slice.name, bounds.start, bounds.stop});
  }
  return ranges_of(ranges, total);
}

}  // namespace modeld::compile
