// TopK and NonMaxSuppression: what is chosen depends on the values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

// True if `a` comes before `b`: the larger (smaller) value, NaN above every number.
template <typename Wide>
bool comes_first(Wide a, Wide b, bool largest) {
  if constexpr (std::is_same_v<Wide, double>) {
    if (std::isnan(a) || std::isnan(b)) {
      return largest ? std::isnan(a) && !std::isnan(b) : std::isnan(b) && !std::isnan(a);
    }
  }
  return largest ? a > b : a < b;
}

// Sorted; of equal values the one with the lower index comes first.
template <typename Wide>
KernelPointer top_k(const KernelSpec& spec) {
  const Shape& shape = spec.in(0).shape;
  const auto axis = static_cast<size_t>(spec.attributes.get_int("axis"));
  const auto inner = static_cast<size_t>(dense_strides(shape)[axis]);
  const auto count = static_cast<size_t>(shape[axis]);
  const auto chosen = static_cast<size_t>(spec.out().shape[axis]);
  const bool largest = spec.attributes.get_int("largest") != 0;
  const DType dtype = spec.in(0).dtype;
  const size_t size = size_of(dtype);
  const size_t lines = count == 0 ? 0 : static_cast<size_t>(spec.in(0).elements()) / count;
  std::vector<Wide> line(count);
  std::vector<size_t> order(count);
  return kernel_of([=](const KernelIo& io) mutable {
    for (size_t k = 0; k < lines; ++k) {
      const size_t start = k / inner * inner * count + k % inner;
      for (size_t i = 0; i < count; ++i) {
        load(dtype, io.inputs[0] + (start + i * inner) * size, &line[i], 1);
      }
      std::iota(order.begin(), order.end(), size_t{0});
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(chosen),
                        order.end(), [&](size_t a, size_t b) {
                          if (comes_first(line[a], line[b], largest)) return true;
                          if (comes_first(line[b], line[a], largest)) return false;
                          return a < b;
                        });
      const size_t to = k / inner * inner * chosen + k % inner;
      for (size_t i = 0; i < chosen; ++i) {
        const auto index = static_cast<int64_t>(order[i]);
        store(dtype, &line[order[i]], io.outputs[0] + (to + i * inner) * size, 1);
        store(DType::kInt64, &index, io.outputs[1] + (to + i * inner) * sizeof(int64_t), 1);
      }
    }
  });
}

struct Box {
  double low[2];  // y, x
  double high[2];
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// Either two opposite corners (y, x, y, x) in any order, or centre and size (x, y, width, height).
Box box_of(const double* corners, bool by_centre) {
  Box box;
  for (size_t i = 0; i < 2; ++i) {
    if (by_centre) {
      box.low[i] = corners[1 - i] - corners[3 - i] / 2;
      box.high[i] = corners[1 - i] + corners[3 - i] / 2;
    } else {
      box.low[i] = std::min(corners[i], corners[i + 2]);
      box.high[i] = std::max(corners[i], corners[i + 2]);
    }
  }
  return box;
}

double intersection_over_union(const Box& a, const Box& b) {
  double shared = 1;
  for (size_t i = 0; i < 2; ++i) {
    const double side = std::min(a.high[i], b.high[i]) - std::max(a.low[i], b.low[i]);
    if (!(side > 0)) return 0;
    shared *= side;
  }
  const double all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0;
}

class NonMaxSuppression final : public Kernel {
 public:
  explicit NonMaxSuppression(const KernelSpec& spec)
      : batches_(static_cast<size_t>(spec.in(1).shape[0])),
        classes_(static_cast<size_t>(spec.in(1).shape[1])),
        boxes_(static_cast<size_t>(spec.in(1).shape[2])),
        rows_(static_cast<size_t>(spec.out().shape[0])),
        most_(static_cast<size_t>(spec.attributes.get_int("max_output"))),
        by_centre_(spec.attributes.get_int("center_point_box") != 0),
        has_iou_(spec.has(2)),
        has_score_(spec.has(3)),
        corners_(batches_ * boxes_ * 4),
        scores_(batches_ * classes_ * boxes_) {
    order_.reserve(boxes_);
    kept_.reserve(boxes_);
    result_.reserve(rows_ * 3);
  }

  void run(const KernelIo& io) override {
    load(DType::kFloat32, io.inputs[0], corners_.data(), corners_.size());
    load(DType::kFloat32, io.inputs[1], scores_.data(), scores_.size());
    double iou = 0;
    if (has_iou_) load(DType::kFloat32, io.inputs[2], &iou, 1);
    double score = -std::numeric_limits<double>::infinity();
    if (has_score_) load(DType::kFloat32, io.inputs[3], &score, 1);
    result_.clear();
    for (size_t batch = 0; batch < batches_; ++batch) {
      for (size_t c = 0; c < classes_; ++c) select(batch, c, iou, score);
    }
    result_.resize(rows_ * 3, -1);
    store(DType::kInt64, result_.data(), io.outputs[0], result_.size());
  }

 private:
  void select(size_t batch, size_t c, double iou, double least) {
    const double* scores = scores_.data() + (batch * classes_ + c) * boxes_;
    const double* corners = corners_.data() + batch * boxes_ * 4;
    order_.clear();
    for (size_t i = 0; i < boxes_; ++i) {
      if (!has_score_ || scores[i] > least) order_.push_back(i);
    }
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      if (comes_first(scores[a], scores[b], true)) return true;
      if (comes_first(scores[b], scores[a], true)) return false;
      return a < b;
    });
    kept_.clear();
    for (const size_t candidate : order_) {
      if (kept_.size() == most_) return;
      const Box box = box_of(corners + candidate * 4, by_centre_);
      const bool covered = std::any_of(kept_.begin(), kept_.end(), [&](const Box& other) {
        return intersection_over_union(box, other) > iou;
      });
      if (covered) continue;
      kept_.push_back(box);
      for (const size_t value : {batch, c, candidate}) {
        result_.push_back(static_cast<int64_t>(value));
      }
    }
  }

  const size_t batches_;
  const size_t classes_;
  const size_t boxes_;
  const size_t rows_;
  const size_t most_;  // per class
  const bool by_centre_;
  const bool has_iou_;
  const bool has_score_;
  std::vector<double> corners_;
  std::vector<double> scores_;
  std::vector<size_t> order_;
  std::vector<Box> kept_;
  std::vector<int64_t> result_;
};

}  // namespace

KernelPointer make_selection_kernel(const KernelSpec& spec) {
  if (spec.kind == OpKind::kNonMaxSuppression) return std::make_unique<NonMaxSuppression>(spec);
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return top_k<double>(spec);
    case Domain::kSigned:
      return top_k<int64_t>(spec);
    default:
      return top_k<uint64_t>(spec);
  }
}

}  // namespace modeld::reference
