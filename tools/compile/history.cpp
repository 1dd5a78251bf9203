#include "tools/compile/history.h"

#include <algorithm>
#include <numeric>

namespace modeld::compile {
namespace {

int64_t sample_count(const Shape& input, const HistorySpec& history) {
  return input[static_cast<size_t>(history.axis)] / history.size;
}

int64_t buffer_rows(int64_t samples, const HistorySpec& history) {
  const int64_t span =
      history.maximum ? samples * history.stride : (samples - 1) * history.stride + 1;
  return span + history.delay;
}

class HistoryMaker {
 public:
  HistoryMaker(Draft& draft, const HistorySpec& history, std::string name, Phase phase)
      : draft_(draft), history_(history), name_(std::move(name)), phase_(phase) {}

  // The buffer with `row` appended; it is the state's next value.
  Result<TensorId> append(TensorId row, int64_t rows);
  // [samples, row...] out of the buffer.
  Result<TensorId> pick(TensorId buffer, int64_t samples);
  // `samples` with its first axis moved into the history's.
  Result<TensorId> merge(TensorId samples, const Shape& input);

 private:
  // Rows first, first + step, ... of `buffer`.
  Result<TensorId> rows_of(TensorId buffer, int64_t first, int64_t step, int64_t count);

  Draft& draft_;
  const HistorySpec& history_;
  std::string name_;
  Phase phase_;
};

Result<TensorId> HistoryMaker::rows_of(TensorId buffer, int64_t first, int64_t step,
                                       int64_t count) {
  Shape sizes = draft_.shape(buffer);
  std::vector<int64_t> starts(sizes.size(), 0);
  std::vector<int64_t> steps(sizes.size(), 1);
  starts[0] = first;
  steps[0] = step;
  sizes[0] = count;
  Attributes attributes;
  attributes.set("starts", std::move(starts));
  attributes.set("steps", std::move(steps));
  attributes.set("sizes", std::move(sizes));
  return draft_.add(OpKind::kSlice, name_, {buffer}, std::move(attributes), phase_);
}

Result<TensorId> HistoryMaker::append(TensorId row, int64_t rows) {
  Shape one = draft_.shape(row);
  one.insert(one.begin(), 1);
  Shape all = one;
  all[0] = rows;
  const TensorId current = draft_.add_tensor({draft_.dtype(row), all}, name_);
  MODELD_ASSIGN(const TensorId newest, draft_.reshaped(row, one, name_, phase_));
  std::vector<TensorId> parts = {newest};
  if (rows > 1) {
    MODELD_ASSIGN(const TensorId kept, rows_of(current, 1, 1, rows - 1));
    parts.insert(parts.begin(), kept);
  }
  Attributes attributes;
  attributes.set("axis", int64_t{0});
  MODELD_ASSIGN(const TensorId next, draft_.add(OpKind::kConcat, name_, std::move(parts),
                                                std::move(attributes), phase_));
  draft_.tensors[next].name = "next_" + name_;
  draft_.states.push_back({current, next});
  return next;
}

Result<TensorId> HistoryMaker::pick(TensorId buffer, int64_t samples) {
  if (!history_.maximum) return rows_of(buffer, 0, history_.stride, samples);
  MODELD_ASSIGN(const TensorId span, rows_of(buffer, 0, 1, samples * history_.stride));
  Shape groups = draft_.shape(buffer);
  groups[0] = history_.stride;
  groups.insert(groups.begin(), samples);
  MODELD_ASSIGN(const TensorId grouped, draft_.reshaped(span, groups, name_, phase_));
  Attributes attributes;
  attributes.set("axes", std::vector<int64_t>{1});
  attributes.set("keepdims", int64_t{0});
  return draft_.add(OpKind::kReduceMax, name_, {grouped}, std::move(attributes), phase_);
}

Result<TensorId> HistoryMaker::merge(TensorId samples, const Shape& input) {
  std::vector<int64_t> perm(draft_.shape(samples).size());
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + 1 + history_.axis);
  TensorId moved = samples;
  if (history_.axis > 0) {
    Attributes attributes;
    attributes.set("perm", std::move(perm));
    MODELD_ASSIGN(moved,
                  draft_.add(OpKind::kTranspose, name_, {samples}, std::move(attributes), phase_));
  }
  return draft_.reshaped(moved, input, name_, phase_);
}

}  // namespace

Result<Shape> row_shape(const Shape& input, const HistorySpec& history) {
  const auto axis = static_cast<size_t>(history.axis);
  if (axis >= input.size() || input[axis] < 1 || input[axis] % history.size != 0) {
    return Error(ErrorCode::kInvalidArgument, "the history does not fit the input")
        .expecting("axis " + std::to_string(history.axis) + " with a multiple of " +
                       std::to_string(history.size) + " elements",
                   to_string(input));
  }
  Shape row = input;
  row[axis] = history.size;
  return row;
}

Result<TensorId> add_history(Draft& draft, TensorId row, const Shape& input,
                             const HistorySpec& history, const std::string& name, Phase phase) {
  const int64_t samples = sample_count(input, history);
  HistoryMaker maker(draft, history, name + "_history", phase);
  MODELD_ASSIGN(const TensorId buffer, maker.append(row, buffer_rows(samples, history)));
  MODELD_ASSIGN(const TensorId picked, maker.pick(buffer, samples));
  return maker.merge(picked, input);
}

}  // namespace modeld::compile
