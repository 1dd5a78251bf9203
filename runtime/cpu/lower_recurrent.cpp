// RNN, GRU and LSTM of float32 with constant weights: every product by row_product(), gates by the
// vector functions. Both directions of a bidirectional op run on two members.
#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/cpu/activation.h"
#include "runtime/cpu/lowering.h"
#include "runtime/cpu/row_product.h"
#include "runtime/program/recurrent.h"

namespace modeld::cpu {
namespace {

// Functions that the vector code has; the others are the reference loop's business.
std::optional<Activation> vector_function(const GateActivation& gate) {
  const auto alpha = static_cast<float>(gate.alpha);
  const auto beta = static_cast<float>(gate.beta);
  switch (gate.function) {
    case GateFunction::kSigmoid:
      return Activation{OpKind::kSigmoid, 0, 0};
    case GateFunction::kTanh:
      return Activation{OpKind::kTanh, 0, 0};
    case GateFunction::kRelu:
      return Activation{OpKind::kRelu, 0, 0};
    case GateFunction::kElu:
      return Activation{OpKind::kElu, alpha, 0};
    case GateFunction::kLeakyRelu:
      return Activation{OpKind::kLeakyRelu, alpha, 0};
    case GateFunction::kHardSigmoid:
      return Activation{OpKind::kHardSigmoid, alpha, beta};
    case GateFunction::kSoftplus:
      return Activation{OpKind::kSoftplus, 0, 0};
    default:
      return std::nullopt;
  }
}

// A matrix (columns x inner as ONNX stores it) ready for row_product().
struct Matrix {
  int64_t inner = 0;
  int64_t columns = 0;
  AlignedBytes packed;

  Matrix(const float* rows, int64_t inner_extent, int64_t column_count)
      : inner(inner_extent),
        columns(column_count),
        packed(pack_columns(rows, inner_extent, column_count, 1, inner_extent)) {}
  bool ok() const { return packed.size() > 0 || inner * columns == 0; }

  // out = x times the matrix, plus bias, for any number of rows.
  void multiply(const float* x, int64_t rows, const float* bias, float* out) const {
    if (inner == 0) {
      for (int64_t row = 0; row < rows; ++row) std::copy_n(bias, columns, out + row * columns);
      return;
    }
    const int64_t blocks = (columns + kRowProductColumns - 1) / kRowProductColumns;
    for (int64_t row = 0; row < rows; row += kRowProductRows) {
      RowProduct product;
      product.rows = std::min(kRowProductRows, rows - row);
      product.inner = inner;
      product.columns = columns;
      product.a = x + row * inner;
      product.packed = reinterpret_cast<const float*>(packed.data());
      product.bias = bias;
      product.out = out + row * columns;
      row_product(product, 0, blocks);
    }
  }
};

struct Direction {
  bool reverse = false;
  std::vector<Activation> functions;
  std::vector<Matrix> w;  // one
  std::vector<Matrix> r;  // GRU: update and reset gates; the candidate
  std::vector<float> bias_w;
  std::vector<float> bias_r;
  std::vector<float> peephole;
};

struct Extents {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t directions = 1;
  int64_t hidden = 0;
  int64_t gates = 1;

  int64_t rows() const { return gates * hidden; }
  int64_t state() const { return batch * hidden; }
  // Floats one direction works in: gates of all steps from the input, of one step from the state,
  // two gates, state and cell.
  int64_t scratch() const {
    return steps * batch * rows() + batch * rows() + 4 * state() + kRowProductColumns;
  }
};

class RecurrentStep final : public Step {
 public:
  // ids: X, lengths, initial_h, initial_c (kNoValue where absent); Y, Y_h, Y_c; scratch.
  struct Values {
    ValueId x, lengths, initial_h, initial_c, y, y_h, y_c, scratch;
  };

  RecurrentStep(const Op& op, const Extents& extents, std::vector<Direction> directions,
                const Values& values)
      : kind_(op.kind),
        e_(extents),
        directions_(std::move(directions)),
        v_(values),
        linear_before_reset_(op.attributes.get_int("linear_before_reset") != 0),
        input_forget_(op.attributes.get_int("input_forget") != 0) {
    if (op.attributes.has("clip")) clip_ = static_cast<float>(op.attributes.get_float("clip"));
  }

  void run(const RunContext& context) override {
    const Share share = share_of(e_.directions, context.part, context.parts);
    for (int64_t d = share.begin; d < share.end; ++d) run_direction(context, d);
  }

 private:
  // The places of one direction while it runs.
  struct Work {
    float* from_x;
    float* from_h;
    float* gate;
    float* other;
    float* state;
    float* cell;
  };

  void run_direction(const RunContext& context, int64_t d) const {
    const Direction& p = directions_[static_cast<size_t>(d)];
    const int64_t count = e_.steps * e_.batch * e_.rows();
    Work w{};
    w.from_x = context.at<float>(v_.scratch) + d * e_.scratch();
    w.from_h = w.from_x + count;
    w.gate = w.from_h + e_.batch * e_.rows();
    w.other = w.gate + e_.state();
    w.state = w.other + e_.state();
    w.cell = w.state + e_.state();
    p.w[0].multiply(context.at<float>(v_.x), e_.steps * e_.batch, p.bias_w.data(), w.from_x);
    start(context, v_.initial_h, d, w.state);
    start(context, v_.initial_c, d, w.cell);
    for (int64_t i = 0; i < e_.steps; ++i) {
      const int64_t t = p.reverse ? e_.steps - 1 - i : i;
      step(context, p, w, t, d);
    }
    std::copy_n(w.state, e_.state(), context.at<float>(v_.y_h) + d * e_.state());
    if (kind_ == OpKind::kLstm) {
      std::copy_n(w.cell, e_.state(), context.at<float>(v_.y_c) + d * e_.state());
    }
  }

  void start(const RunContext& context, ValueId given, int64_t d, float* to) const {
    if (given == kNoValue) {
      std::fill_n(to, e_.state(), 0.0f);
    } else {
      std::copy_n(context.at<float>(given) + d * e_.state(), e_.state(), to);
    }
  }

  // One step of every sequence of the batch. A sequence that has not begun (in reverse) or is over
  // keeps its state and answers 0.
  void step(const RunContext& context, const Direction& p, Work& w, int64_t t, int64_t d) const {
    float* x = w.from_x + t * e_.batch * e_.rows();
    for (int64_t b = 0; b < e_.batch; ++b) {
      float* y = context.at<float>(v_.y) + ((t * e_.directions + d) * e_.batch + b) * e_.hidden;
      const bool over = v_.lengths != kNoValue && t >= context.at<int32_t>(v_.lengths)[b];
      if (over) {
        std::fill_n(y, e_.hidden, 0.0f);
        continue;
      }
      const int64_t at = b * e_.hidden;
      Work one{x + b * e_.rows(), w.from_h + b * e_.rows(), w.gate + at, w.other + at, w.state + at,
               w.cell + at};
      if (kind_ == OpKind::kLstm) {
        lstm(p, one);
      } else if (kind_ == OpKind::kGru) {
        gru(p, one);
      } else {
        p.r[0].multiply(one.state, 1, p.bias_r.data(), one.from_h);
        for (int64_t j = 0; j < e_.hidden; ++j) one.gate[j] = one.from_x[j] + one.from_h[j];
        activate(p.functions[0], one.gate, one.state);
      }
      std::copy_n(one.state, e_.hidden, y);
    }
  }

  void lstm(const Direction& p, const Work& w) const {
    const int64_t n = e_.hidden;
    p.r[0].multiply(w.state, 1, p.bias_r.data(), w.from_h);
    // Gates i, o, f, c lie behind each other.
    for (int64_t j = 0; j < 4 * n; ++j) w.from_x[j] += w.from_h[j];
    float* in = w.from_x;
    float* out = in + n;
    float* forget = out + n;
    float* fresh = forget + n;
    if (!p.peephole.empty()) {
      for (int64_t j = 0; j < n; ++j) {
        in[j] += p.peephole[static_cast<size_t>(j)] * w.cell[j];
        forget[j] += p.peephole[static_cast<size_t>(2 * n + j)] * w.cell[j];
      }
    }
    activate(p.functions[0], in, in);
    activate(p.functions[1], fresh, fresh);
    if (input_forget_) {
      for (int64_t j = 0; j < n; ++j) forget[j] = 1.0f - in[j];
    } else {
      activate(p.functions[0], forget, forget);
    }
    for (int64_t j = 0; j < n; ++j) w.cell[j] = forget[j] * w.cell[j] + in[j] * fresh[j];
    if (!p.peephole.empty()) {
      for (int64_t j = 0; j < n; ++j) {
        out[j] += p.peephole[static_cast<size_t>(n + j)] * w.cell[j];
      }
    }
    activate(p.functions[0], out, out);
    apply(p.functions[2], w.cell, w.gate, static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) w.state[j] = out[j] * w.gate[j];
  }

  void gru(const Direction& p, const Work& w) const {
    const int64_t n = e_.hidden;
    p.r[0].multiply(w.state, 1, p.bias_r.data(), w.from_h);
    for (int64_t j = 0; j < 2 * n; ++j) w.from_x[j] += w.from_h[j];
    float* update = w.from_x;
    float* reset = update + n;
    float* fresh = reset + n;
    activate(p.functions[0], update, update);
    activate(p.functions[0], reset, reset);
    for (int64_t j = 0; j < n; ++j) {
      w.gate[j] = linear_before_reset_ ? w.state[j] : reset[j] * w.state[j];
    }
    p.r[1].multiply(w.gate, 1, p.bias_r.data() + 2 * n, w.other);
    for (int64_t j = 0; j < n; ++j) {
      fresh[j] += linear_before_reset_ ? reset[j] * w.other[j] : w.other[j];
    }
    activate(p.functions[1], fresh, fresh);
    for (int64_t j = 0; j < n; ++j) {
      w.state[j] = (1.0f - update[j]) * fresh[j] + update[j] * w.state[j];
    }
  }

  void activate(const Activation& function, const float* from, float* to) const {
    const auto count = static_cast<size_t>(e_.hidden);
    if (clip_) {
      apply({OpKind::kClip, -*clip_, *clip_}, from, to, count);
      from = to;
    }
    apply(function, from, to, count);
  }

  const OpKind kind_;
  const Extents e_;
  const std::vector<Direction> directions_;
  const Values v_;
  const bool linear_before_reset_;
  const bool input_forget_;
  std::optional<float> clip_;
};

bool given(const Op& op, size_t input) {
  return op.inputs.size() > input && op.inputs[input] != kNoTensor;
}

bool fits(const Lowering& lowering, const Op& op) {
  if (lowering.stored(op.inputs[0]) != DType::kFloat32) return false;
  for (const size_t input : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    if (given(op, input) && !lowering.is_constant(op.inputs[input])) return false;
  }
  return lowering.type(op.outputs[0]).elements() > 0;
}

Extents extents_of(const Lowering& lowering, const Op& op) {
  const Shape& x = lowering.shape(op.inputs[0]);
  const Shape& r = lowering.shape(op.inputs[2]);
  return {x[0], x[1], x[2], r[0], r[2], recurrent_gates(op.kind)};
}

std::vector<float> part_of(const Lowering& lowering, const Op& op, size_t input, int64_t at,
                           int64_t count) {
  if (!given(op, input)) return {};
  const auto values = lowering.constant_floats(op.inputs[input]);
  return {values.begin() + at, values.begin() + at + count};
}

// Nothing where a function has no vector code.
std::optional<Direction> direction_of(const Lowering& lowering, const Op& op, const Extents& e,
                                      int64_t d) {
  Direction result;
  result.reverse = d == 1 || op.attributes.get_string("direction") == "reverse";
  const auto functions = recurrent_activations(op.attributes);
  const auto per_direction = recurrent_functions(op.kind);
  for (size_t i = 0; i < per_direction; ++i) {
    const auto function = vector_function((*functions)[static_cast<size_t>(d) * per_direction + i]);
    if (!function) return std::nullopt;
    result.functions.push_back(*function);
  }
  const int64_t rows = e.rows();
  result.w.emplace_back(lowering.constant_floats(op.inputs[1]).data() + d * rows * e.input, e.input,
                        rows);
  const float* r = lowering.constant_floats(op.inputs[2]).data() + d * rows * e.hidden;
  const bool apart = op.kind == OpKind::kGru;
  result.r.emplace_back(r, e.hidden, apart ? 2 * e.hidden : rows);
  if (apart) result.r.emplace_back(r + 2 * e.hidden * e.hidden, e.hidden, e.hidden);
  result.bias_w = part_of(lowering, op, 3, d * 2 * rows, rows);
  result.bias_r = part_of(lowering, op, 3, d * 2 * rows + rows, rows);
  result.bias_w.resize(static_cast<size_t>(rows), 0.0f);
  result.bias_r.resize(static_cast<size_t>(rows), 0.0f);
  result.peephole = part_of(lowering, op, 7, d * 3 * e.hidden, 3 * e.hidden);
  return result;
}

}  // namespace

Result<bool> lower_recurrent(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kRnn && op.kind != OpKind::kGru && op.kind != OpKind::kLstm) return false;
  if (!fits(lowering, op)) return false;
  const Extents e = extents_of(lowering, op);
  std::vector<Direction> directions;
  for (int64_t d = 0; d < e.directions; ++d) {
    auto direction = direction_of(lowering, op, e, d);
    if (!direction) return false;
    for (const Matrix& matrix : direction->r) {
      if (!matrix.ok() || !direction->w[0].ok()) {
        return Error(ErrorCode::kExhausted, "not enough memory for weights");
      }
    }
    directions.push_back(std::move(*direction));
  }
  const auto optional = [&](size_t input) {
    return given(op, input) ? lowering.value(op.inputs[input], Layout::kPlain) : kNoValue;
  };
  RecurrentStep::Values v{};
  v.x = lowering.value(op.inputs[0], Layout::kPlain);
  v.lengths = optional(4);
  v.initial_h = optional(5);
  v.initial_c = optional(6);
  v.y = lowering.define(op.outputs[0], Layout::kPlain);
  v.y_h = lowering.define(op.outputs[1], Layout::kPlain);
  const bool has_cell = op.kind == OpKind::kLstm;
  v.y_c = has_cell ? lowering.define(op.outputs[2], Layout::kPlain) : kNoValue;
  v.scratch = lowering.temporary(static_cast<uint64_t>(e.directions * e.scratch()) * sizeof(float));
  std::vector<ValueId> reads = {v.x};
  for (const ValueId id : {v.lengths, v.initial_h, v.initial_c}) {
    if (id != kNoValue) reads.push_back(id);
  }
  std::vector<ValueId> writes = {v.y, v.y_h, v.scratch};
  if (has_cell) writes.push_back(v.y_c);
  Lowering::StepOptions options;
  options.parallel = e.directions > 1;
  lowering.add(std::make_unique<RecurrentStep>(op, e, std::move(directions), v), "own: recurrent",
               std::move(reads), std::move(writes), std::move(options));
  return true;
}

}  // namespace modeld::cpu
