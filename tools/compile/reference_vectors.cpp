#include "tools/compile/reference_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
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

constexpr double kFloatUnit = 1e-4;
constexpr double kHalfUnit = 1e-2;
constexpr double kBFloatUnit = 8e-2;  // three bits less
constexpr double kErrorsAllowed = 8;
constexpr double kLeastShare = 0.5;
constexpr double kNoise = 4;  // errors

bool stores(const Program& program, DType dtype) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [&](const Tensor& tensor) { return tensor.type.dtype == dtype; });
}

double unit_of(const Program& program) {
  if (stores(program, DType::kBFloat16)) return kBFloatUnit;
  return stores(program, DType::kFloat16) ? kHalfUnit : kFloatUnit;
}

using Values = std::vector<double>;  // of one output

Values values_of(const TensorType& type, const std::vector<std::byte>& bytes) {
  return to_doubles(HostTensor{type, bytes});
}

std::span<const double> part_of(const Values& values, const OutputSlice& slice) {
  return std::span(values).subspan(static_cast<size_t>(slice.start),
                                   static_cast<size_t>(slice.stop - slice.start));
}

// Distance between the smallest and the largest.
double spread(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return values.empty() ? 0 : *high - *low;
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

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// The values of one output under every seed, as stored and in double.
struct OutputValues {
  std::array<Values, kSeeds.size()> stored;
  std::array<Values, kSeeds.size()> exact;
};

SliceError measure_slice(OutputSlice& slice, const OutputValues& values, double unit,
                         const std::vector<DeviceClass>& classes) {
  const auto first = part_of(values.stored[0], slice);
  const auto second = part_of(values.stored[1], slice);
  const double magnitude = std::max({1.0, largest_magnitude(first), largest_magnitude(second)});
  SliceError measured;
  measured.slice = slice.name;
  measured.bound = unit * magnitude;
  measured.error = std::max(largest_difference(first, part_of(values.exact[0], slice)),
                            largest_difference(second, part_of(values.exact[1], slice)));
  // What only rounding moves, a device that rounds elsewhere does not move.
  const double noise = kNoise * measured.error;
  const bool uniform = first.size() > 1 && (spread(first) <= noise || spread(second) <= noise);
  slice.varies = !uniform && largest_difference(first, second) > noise;
  measured.tolerance =
      std::clamp(kErrorsAllowed * measured.error, kLeastShare * measured.bound, measured.bound);
  slice.tolerances.clear();
  for (const DeviceClass device_class : classes) {
    slice.tolerances.push_back({device_class, measured.tolerance, 0});
  }
  return measured;
}

Status check_bound(Precision policy, const SliceError& measured) {
  // A network's own halves are its author's choice.
  if (policy == Precision::kFloat32 || measured.error <= measured.bound) return {};
  std::ostringstream bound, error;
  bound << "at most " << measured.bound;
  error << measured.error;
  return Error(ErrorCode::kRefused, "precision " + std::string(to_string(policy)) +
                                        " costs too much in slice '" + printable(measured.slice) +
                                        "' of output '" + printable(measured.output) + "'")
      .expecting(bound.str(), error.str());
}

Result<std::vector<SliceError>> measure(Model& model, const std::vector<OutputBytes>& exact) {
  Contract& contract = model.contract;
  const double unit = unit_of(model.program);
  std::vector<SliceError> errors;
  for (size_t i = 0; i < contract.outputs.size(); ++i) {
    OutputContract& output = contract.outputs[i];
    OutputValues values;
    for (size_t seed = 0; seed < kSeeds.size(); ++seed) {
      values.stored[seed] = values_of(output.type, contract.references[seed].outputs[i]);
      MODELD_TRY(check_finite(output, values.stored[seed]));
      values.exact[seed] = values_of(output.type, exact[seed][i]);
    }
    const double output_unit = is_float(output.type.dtype) ? unit : 0;
    for (OutputSlice& slice : output.slices) {
      errors.push_back(measure_slice(slice, values, output_unit, contract.device_classes));
      errors.back().output = output.name;
      MODELD_TRY(check_bound(contract.precision, errors.back()));
    }
  }
  return errors;
}

Result<std::unique_ptr<Capture>> recorded(Device& device, const Contract& contract,
                                          const Program& program, WeightSource& weights) {
  MODELD_ASSIGN(const CaptureOptions options, reference_capture_options(contract));
  return device.record(program, weights, options);
}

}  // namespace

Result<std::vector<SliceError>> add_references(Model& model, const ExactProgram& exact) {
  const std::unique_ptr<Device> device = open_reference_device();
  const uint32_t steps = model.program.states.empty() ? 1 : kStepsWithState;
  {
    MODELD_ASSIGN(const auto capture,
                  recorded(*device, model.contract, model.program, *model.weights));
    for (const uint64_t seed : kSeeds) {
      ReferenceVector reference{seed, steps, {}};
      MODELD_ASSIGN(reference.outputs,
                    replay_reference(*capture, model.contract, seed, steps, kReplayDeadline));
      model.contract.references.push_back(std::move(reference));
    }
  }
  MODELD_ASSIGN(const auto capture,
                recorded(*device, model.contract, exact.program, exact.weights));
  std::vector<OutputBytes> outputs;
  for (const uint64_t seed : kSeeds) {
    MODELD_ASSIGN(outputs.emplace_back(),
                  replay_reference(*capture, model.contract, seed, steps, kReplayDeadline));
  }
  return measure(model, outputs);
}

}  // namespace modeld::compile
