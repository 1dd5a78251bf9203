// RNN, GRU and LSTM, one sequence and one direction at a time. Formulas: ONNX operator
// documentation; gates in ONNX order (GRU z, r, h; LSTM i, o, f, c; peepholes i, o, f).
#include "runtime/program/recurrent.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/reference/kernel.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

using Reals = std::vector<double>;

// y += M x for a row-major matrix of y.size() rows.
void multiply_add(const double* matrix, const double* x, size_t count, double* y, size_t rows) {
  for (size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += matrix[row * count + i] * x[i];
    y[row] += sum;
  }
}

// The parameters of one direction.
struct Direction {
  bool reverse = false;
  const GateActivation* functions = nullptr;
  const double* w = nullptr;
  const double* r = nullptr;
  const double* bias_w = nullptr;
  const double* bias_r = nullptr;
  const double* peephole = nullptr;
};

class Recurrent final : public Kernel {
 public:
  explicit Recurrent(const KernelSpec& spec)
      : kind_(spec.kind),
        dtype_(spec.in(0).dtype),
        functions_(*recurrent_activations(spec.attributes)),
        directions_(static_cast<size_t>(spec.in(1).shape[0])),
        reverse_(spec.attributes.get_string("direction") == "reverse"),
        steps_(static_cast<size_t>(spec.in(0).shape[0])),
        batch_(static_cast<size_t>(spec.in(0).shape[1])),
        input_(static_cast<size_t>(spec.in(0).shape[2])),
        hidden_(static_cast<size_t>(spec.in(2).shape[2])),
        gates_(static_cast<size_t>(recurrent_gates(kind_))),
        clips_(spec.attributes.has("clip")),
        clip_(spec.attributes.get_float("clip")),
        linear_before_reset_(spec.attributes.get_int("linear_before_reset") != 0),
        input_forget_(spec.attributes.get_int("input_forget") != 0),
        has_lengths_(spec.has(4)) {
    for (size_t i = 0; i < 8; ++i) given_.push_back(spec.has(i));
    size_t peepholes = 3 * directions_ * hidden_;
    sizes_ = {steps_ * batch_ * input_,
              directions_ * gates_ * hidden_ * input_,
              directions_ * gates_ * hidden_ * hidden_,
              directions_ * 2 * gates_ * hidden_,
              0,
              directions_ * batch_ * hidden_,
              directions_ * batch_ * hidden_,
              peepholes};
    for (size_t i = 0; i < sizes_.size(); ++i) inputs_.emplace_back(sizes_[i], 0.0);
    from_x_.resize(gates_ * hidden_);
    from_h_.resize(gates_ * hidden_);
    reset_.resize(hidden_);
    state_.resize(hidden_);
    cell_.resize(hidden_);
    outputs_.resize(steps_ * directions_ * batch_ * hidden_);
  }

  void run(const KernelIo& io) override {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (given_[i] && i != 4) load(dtype_, io.inputs[i], inputs_[i].data(), sizes_[i]);
    }
    std::fill(outputs_.begin(), outputs_.end(), 0.0);
    for (size_t d = 0; d < directions_; ++d) {
      for (size_t b = 0; b < batch_; ++b) run_sequence(io, d, b);
    }
    store(dtype_, outputs_.data(), io.outputs[0], outputs_.size());
  }

 private:
  Direction direction(size_t d) const {
    const size_t rows = gates_ * hidden_;
    Direction result;
    result.reverse = reverse_ || d == 1;
    result.functions = functions_.data() + d * recurrent_functions(kind_);
    result.w = inputs_[1].data() + d * rows * input_;
    result.r = inputs_[2].data() + d * rows * hidden_;
    result.bias_w = inputs_[3].data() + d * 2 * rows;
    result.bias_r = result.bias_w + rows;
    result.peephole = inputs_[7].data() + d * 3 * hidden_;
    return result;
  }

  // Steps of sequence `b`; the rest of its outputs stay 0.
  size_t length(const KernelIo& io, size_t b) const {
    if (!has_lengths_) return steps_;
    int64_t given;
    load(DType::kInt32, io.inputs[4] + b * sizeof(int32_t), &given, 1);
    return static_cast<size_t>(std::clamp<int64_t>(given, 0, static_cast<int64_t>(steps_)));
  }

  void run_sequence(const KernelIo& io, size_t d, size_t b) {
    const Direction parameters = direction(d);
    const size_t at = (d * batch_ + b) * hidden_;
    std::copy_n(inputs_[5].data() + at, hidden_, state_.data());
    std::copy_n(inputs_[6].data() + at, hidden_, cell_.data());
    const size_t count = length(io, b);
    for (size_t i = 0; i < count; ++i) {
      const size_t t = parameters.reverse ? count - 1 - i : i;
      step(parameters, inputs_[0].data() + (t * batch_ + b) * input_);
      std::copy_n(state_.data(), hidden_,
                  outputs_.data() + ((t * directions_ + d) * batch_ + b) * hidden_);
    }
    const size_t offset = at * size_of(dtype_);
    store(dtype_, state_.data(), io.outputs[1] + offset, hidden_);
    if (kind_ == OpKind::kLstm) store(dtype_, cell_.data(), io.outputs[2] + offset, hidden_);
  }

  void step(const Direction& p, const double* x) {
    const size_t rows = gates_ * hidden_;
    std::copy_n(p.bias_w, rows, from_x_.data());
    std::copy_n(p.bias_r, rows, from_h_.data());
    multiply_add(p.w, x, input_, from_x_.data(), rows);
    if (kind_ == OpKind::kGru) return step_gru(p);
    multiply_add(p.r, state_.data(), hidden_, from_h_.data(), rows);
    if (kind_ == OpKind::kLstm) return step_lstm(p);
    for (size_t j = 0; j < hidden_; ++j) {
      state_[j] = gate(p.functions[0], from_x_[j] + from_h_[j]);
    }
  }

  void step_gru(const Direction& p) {
    const double* candidate = p.r + 2 * hidden_ * hidden_;
    multiply_add(p.r, state_.data(), hidden_, from_h_.data(), 2 * hidden_);
    const auto at = [&](size_t block, size_t j) {
      return from_x_[block * hidden_ + j] + from_h_[block * hidden_ + j];
    };
    for (size_t j = 0; j < hidden_; ++j) {
      reset_[j] = gate(p.functions[0], at(1, j)) * (linear_before_reset_ ? 1.0 : state_[j]);
    }
    multiply_add(candidate, linear_before_reset_ ? state_.data() : reset_.data(), hidden_,
                 from_h_.data() + 2 * hidden_, hidden_);
    for (size_t j = 0; j < hidden_; ++j) {
      const double update = gate(p.functions[0], at(0, j));
      const double recurrent = from_h_[2 * hidden_ + j] * (linear_before_reset_ ? reset_[j] : 1.0);
      const double fresh = gate(p.functions[1], from_x_[2 * hidden_ + j] + recurrent);
      cell_[j] = (1 - update) * fresh + update * state_[j];
    }
    std::swap(state_, cell_);
  }

  void step_lstm(const Direction& p) {
    for (size_t j = 0; j < hidden_; ++j) {
      const auto at = [&](size_t block) {
        return from_x_[block * hidden_ + j] + from_h_[block * hidden_ + j];
      };
      const double* peephole = p.peephole + j;
      const double in = gate(p.functions[0], at(0) + peephole[0] * cell_[j]);
      const double forget =
          input_forget_ ? 1 - in : gate(p.functions[0], at(2) + peephole[2 * hidden_] * cell_[j]);
      cell_[j] = forget * cell_[j] + in * gate(p.functions[1], at(3));
      const double out = gate(p.functions[0], at(1) + peephole[hidden_] * cell_[j]);
      state_[j] = out * apply(p.functions[2], cell_[j]);
    }
  }

  double gate(const GateActivation& function, double x) const {
    return apply(function, clips_ ? std::clamp(x, -clip_, clip_) : x);
  }

  const OpKind kind_;
  const DType dtype_;
  const std::vector<GateActivation> functions_;
  const size_t directions_;
  const bool reverse_;
  const size_t steps_;
  const size_t batch_;
  const size_t input_;
  const size_t hidden_;
  const size_t gates_;
  const bool clips_;
  const double clip_;
  const bool linear_before_reset_;
  const bool input_forget_;
  const bool has_lengths_;
  std::vector<bool> given_;
  std::vector<size_t> sizes_;
  std::vector<Reals> inputs_;  // absent ones all 0
  Reals from_x_;
  Reals from_h_;
  Reals reset_;
  Reals state_;
  Reals cell_;  // GRU: the next state
  Reals outputs_;
};

}  // namespace

KernelPointer make_recurrent_kernel(const KernelSpec& spec) {
  return std::make_unique<Recurrent>(spec);
}

}  // namespace modeld::reference
