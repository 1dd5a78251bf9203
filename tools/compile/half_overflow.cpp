#include "tools/compile/half_overflow.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "runtime/program/expand.h"
#include "runtime/reference/evaluate.h"
#include "runtime/reference/reference_device.h"
#include "runtime/selftest/reference_inputs.h"
#include "tools/compile/constant.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr uint64_t kSeed = 42;
constexpr Nanoseconds kReplayDeadline = 1800 * kSecond;

// What images are filled with; nothing: the reference input.
using Fill = std::optional<uint8_t>;

class OverflowCheck {
 public:
  explicit OverflowCheck(const Model& model) : model_(model), program_(expanded(model.program)) {
    for (size_t i = 0; i < program_.outputs.size(); ++i) observed_[program_.outputs[i]] = i;
    for (const Op& op : program_.ops) {
      for (const TensorId id : op.outputs) {
        if (observed_.emplace(id, program_.outputs.size()).second) program_.outputs.push_back(id);
      }
    }
  }

  Status run();

 private:
  Status replay(Fill fill);
  Status check(const Op& op);
  Result<HostTensor> value(TensorId id) const;
  Result<std::vector<double>> in_double(const Op& op, const std::vector<HostTensor>& inputs) const;

  const Model& model_;
  Program program_;                      // expanded, with every op's result as an output
  std::map<TensorId, size_t> observed_;  // tensor -> output
  std::unique_ptr<Capture> capture_;
};

Result<HostTensor> OverflowCheck::value(TensorId id) const {
  const Tensor& tensor = program_.tensors[id];
  HostTensor result{tensor.type, std::vector<std::byte>(tensor.type.bytes())};
  if (const auto output = observed_.find(id); output != observed_.end()) {
    const auto bytes = capture_->output(output->second);
    std::copy(bytes.begin(), bytes.end(), result.bytes.begin());
    return result;
  }
  if (tensor.weight) {
    MODELD_TRY(model_.weights->read(tensor.weight->offset, result.bytes));
    return result;
  }
  if (const auto input = find_slot(capture_->inputs(), tensor.name)) {
    const auto bytes = capture_->staging(*input);
    std::copy_n(bytes.begin(), std::min(bytes.size(), result.bytes.size()), result.bytes.begin());
    return result;
  }
  for (size_t i = 0; i < program_.states.size(); ++i) {
    if (program_.states[i].current == id) MODELD_TRY(capture_->read_state(i, result.bytes));
  }
  return result;
}

Result<std::vector<double>> OverflowCheck::in_double(const Op& op,
                                                     const std::vector<HostTensor>& inputs) const {
  Op exact = op;
  if (exact.kind == OpKind::kCast) exact.attributes.set("to", std::string("f64"));
  std::vector<HostTensor> wide;
  wide.reserve(inputs.size());
  std::vector<const HostTensor*> pointers;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kNoTensor) {
      pointers.push_back(nullptr);
      continue;
    }
    const HostTensor& input = inputs[i];
    wide.push_back(is_float(input.type.dtype)
                       ? from_doubles({DType::kFloat64, input.type.shape}, to_doubles(input))
                       : input);
    pointers.push_back(&wide.back());
  }
  MODELD_ASSIGN(const std::vector<HostTensor> outputs, evaluate(exact, pointers));
  return to_doubles(outputs[0]);
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

Status OverflowCheck::check(const Op& op) {
  const Tensor& out = program_.tensors[op.outputs[0]];
  if (out.type.dtype != DType::kFloat16) return {};
  MODELD_ASSIGN(const HostTensor stored, value(op.outputs[0]));
  const std::vector<double> values = to_doubles(stored);
  if (all_finite(values)) return {};
  std::vector<HostTensor> inputs;
  for (const TensorId id : op.inputs) {
    inputs.emplace_back();
    if (id == kNoTensor) continue;
    MODELD_ASSIGN(inputs.back(), value(id));
    // Infinities that come in are the network's own, or were made and named before.
    if (is_float(inputs.back().type.dtype) && !all_finite(to_doubles(inputs.back()))) return {};
  }
  MODELD_ASSIGN(const std::vector<double> exact, in_double(op, inputs));
  for (size_t i = 0; i < values.size() && i < exact.size(); ++i) {
    if (std::isfinite(values[i]) || !std::isfinite(exact[i])) continue;
    return Error(ErrorCode::kRefused, "float16 overflows in " + std::string(to_string(op.kind)) +
                                          " '" + printable(op.name) + "'")
        .expecting("at most 65504", std::to_string(exact[i]) + " at element " + std::to_string(i) +
                                        " of '" + printable(out.name) + "'");
  }
  return {};
}

Status OverflowCheck::replay(Fill fill) {
  MODELD_TRY(capture_->reset_state());
  for (size_t i = 0; i < model_.contract.inputs.size(); ++i) {
    const InputContract& input = model_.contract.inputs[i];
    const bool image = input.type.dtype == DType::kUInt8 || input.type.dtype == DType::kNv12;
    const auto staging = capture_->staging(i);
    fill_reference_input(model_.contract, i, kSeed, 0, staging);
    if (fill && image) std::memset(staging.data(), *fill, staging.size());
  }
  MODELD_ASSIGN(Submission * submission, capture_->replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
  for (const Op& op : program_.ops) MODELD_TRY(check(op));
  return {};
}

Status OverflowCheck::run() {
  const std::unique_ptr<Device> device = open_reference_device();
  MODELD_ASSIGN(const CaptureOptions options, reference_capture_options(model_.contract));
  MODELD_ASSIGN(capture_, device->record(program_, *model_.weights, options));
  for (const Fill fill : {Fill(), Fill(uint8_t{0}), Fill(uint8_t{255})}) MODELD_TRY(replay(fill));
  return {};
}

}  // namespace

Status check_half_overflow(const Model& model) {
  return OverflowCheck(model).run();
}

}  // namespace modeld::compile
