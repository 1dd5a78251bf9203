#include "tools/compile/reference_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "runtime/reference/reference_device.h"
#include "runtime/selftest/reference_inputs.h"
#include "tools/compile/constant.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr std::array<uint64_t, 2> kSeeds = {42, 43};
constexpr uint32_t kStepsWithState = 3;
// The interpreter is slow by design; a whole network on a busy machine takes minutes at most.
constexpr Nanoseconds kReplayDeadline = 1800 * kSecond;

constexpr double kFloatTolerance = 1e-4;
constexpr double kHalfTolerance = 1e-2;

bool stores_halves(const Program& program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(), [](const Tensor& tensor) {
    return tensor.type.dtype == DType::kFloat16 || tensor.type.dtype == DType::kBFloat16;
  });
}

using Values = std::vector<double>;  // of one output

Values values_of(const TensorType& type, const std::vector<std::byte>& bytes) {
  return to_doubles(HostTensor{type, bytes});
}

std::span<const double> part_of(const Values& values, const OutputSlice& slice) {
  return std::span(values).subspan(static_cast<size_t>(slice.start),
                                   static_cast<size_t>(slice.stop - slice.start));
}

bool is_constant(std::span<const double> values) {
  return values.size() > 1 && std::all_of(values.begin(), values.end(),
                                          [&](double value) { return value == values[0]; });
}

double largest_magnitude(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

Status check_finite(const OutputContract& output, std::span<const double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return Error(ErrorCode::kRefused, "output '" + printable(output.name) + "' is not finite")
        .expecting("finite values for seeded inputs",
                   std::to_string(values[i]) + " at element " + std::to_string(i));
  }
  return {};
}

void measure_slice(OutputSlice& slice, std::span<const double> first,
                   std::span<const double> second, double unit,
                   const std::vector<DeviceClass>& classes) {
  slice.varies = !is_constant(first) && !is_constant(second) &&
                 !std::equal(first.begin(), first.end(), second.begin());
  const double magnitude = std::max({1.0, largest_magnitude(first), largest_magnitude(second)});
  slice.tolerances.clear();
  for (const DeviceClass device_class : classes) {
    slice.tolerances.push_back({device_class, unit * magnitude, 0});
  }
}

Status measure(Model& model) {
  Contract& contract = model.contract;
  const double unit = stores_halves(model.program) ? kHalfTolerance : kFloatTolerance;
  for (size_t i = 0; i < contract.outputs.size(); ++i) {
    OutputContract& output = contract.outputs[i];
    std::array<Values, kSeeds.size()> values;
    for (size_t seed = 0; seed < kSeeds.size(); ++seed) {
      values[seed] = values_of(output.type, contract.references[seed].outputs[i]);
      MODELD_TRY(check_finite(output, values[seed]));
    }
    const double output_unit = is_float(output.type.dtype) ? unit : 0;
    for (OutputSlice& slice : output.slices) {
      measure_slice(slice, part_of(values[0], slice), part_of(values[1], slice), output_unit,
                    contract.device_classes);
    }
  }
  return {};
}

}  // namespace

Status add_references(Model& model) {
  const std::unique_ptr<Device> device = open_reference_device();
  MODELD_ASSIGN(const CaptureOptions options, reference_capture_options(model.contract));
  MODELD_ASSIGN(const std::unique_ptr<Capture> capture,
                device->record(model.program, *model.weights, options));
  const uint32_t steps = model.program.states.empty() ? 1 : kStepsWithState;
  for (const uint64_t seed : kSeeds) {
    ReferenceVector reference{seed, steps, {}};
    MODELD_ASSIGN(reference.outputs,
                  replay_reference(*capture, model.contract, seed, steps, kReplayDeadline));
    model.contract.references.push_back(std::move(reference));
  }
  return measure(model);
}

}  // namespace modeld::compile
