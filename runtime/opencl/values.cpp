#include "runtime/opencl/values.h"

#include <algorithm>
#include <cstdlib>

namespace modeld::opencl {

int64_t View::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

std::vector<size_t> storage_order(size_t rank, Layout layout) {
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (layout == Layout::kChannelsLast && rank >= 3) {
    for (size_t i = 1; i + 1 < rank; ++i) order[i] = i + 1;
    order[rank - 1] = 1;
  }
  return order;
}

std::vector<int64_t> dense_strides(const Shape& shape, Layout layout) {
  std::vector<int64_t> strides(shape.size());
  const std::vector<size_t> order = storage_order(shape.size(), layout);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

bool is_dense(const View& view, Layout layout) {
  const std::vector<int64_t> dense = dense_strides(view.shape, layout);
  for (size_t i = 0; i < dense.size(); ++i) {
    if (view.shape[i] != 1 && view.strides[i] != dense[i]) return false;
  }
  return true;
}

Layout preferred_layout(const View& view) {
  const size_t rank = view.shape.size();
  if (rank < 3 || is_dense(view, Layout::kPlain)) return Layout::kPlain;
  return view.shape[1] > 1 && view.strides[1] == 1 ? Layout::kChannelsLast : Layout::kPlain;
}

View broadcast(const View& view, const Shape& shape) {
  View result = view;
  result.shape = shape;
  result.strides.assign(shape.size(), 0);
  const size_t skip = shape.size() - view.shape.size();
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] != 1) result.strides[skip + i] = view.strides[i];
  }
  return result;
}

bool reshape_view(const View& view, const Shape& shape, View& result) {
  // Groups of old axes and new axes of equal product; inside a group the old axes must merge.
  result = view;
  result.shape = shape;
  result.strides.assign(shape.size(), 0);
  if (view.elements() == 0) return true;
  std::vector<std::pair<int64_t, int64_t>> old;  // extent, stride
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] != 1) old.emplace_back(view.shape[i], view.strides[i]);
  }
  size_t next_old = 0;
  size_t next_new = 0;
  while (next_new < shape.size()) {
    if (shape[next_new] == 1) {
      ++next_new;
      continue;
    }
    int64_t want = shape[next_new];
    size_t end_new = next_new + 1;
    if (next_old == old.size()) return false;
    int64_t have = old[next_old].first;
    size_t end_old = next_old + 1;
    while (want != have) {
      if (want < have) {
        if (end_new == shape.size()) return false;
        want *= shape[end_new++];
      } else {
        if (end_old == old.size()) return false;
        // The next old axis must continue the one before it.
        if (old[end_old - 1].second != old[end_old].second * old[end_old].first) return false;
        have *= old[end_old++].first;
      }
    }
    int64_t stride = old[end_old - 1].second;
    for (size_t i = end_new; i-- > next_new;) {
      result.strides[i] = stride;
      stride *= shape[i];
    }
    next_old = end_old;
    next_new = end_new;
  }
  return true;
}

std::vector<LoopAxis> merged_axes(const Shape& shape, const std::vector<const View*>& views,
                                  const std::vector<size_t>& order) {
  std::vector<LoopAxis> axes;
  for (const size_t axis : order) {
    if (shape[axis] == 1) continue;
    LoopAxis next{shape[axis], {}};
    for (const View* view : views) next.strides.push_back(view->strides[axis]);
    bool merges = !axes.empty();
    for (size_t k = 0; merges && k < views.size(); ++k) {
      merges = axes.back().strides[k] == next.strides[k] * next.extent;
    }
    if (merges) {
      axes.back().extent *= next.extent;
      axes.back().strides = next.strides;
    } else {
      axes.push_back(std::move(next));
    }
  }
  return axes;
}

bool fits_int(const std::vector<const View*>& views) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1024;
  for (const View* view : views) {
    int64_t reach = std::abs(view->offset);
    int64_t count = 1;
    for (size_t i = 0; i < view->shape.size(); ++i) {
      reach += (view->shape[i] > 0 ? view->shape[i] - 1 : 0) * std::abs(view->strides[i]);
      count *= view->shape[i];
    }
    if (reach > kMost || count > kMost) return false;
  }
  return true;
}

}  // namespace modeld::opencl
