#include "runtime/selftest/self_test.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "runtime/program/element.h"
#include "runtime/selftest/steadiness.h"

namespace modeld {
namespace {

// No tolerance for a class means that the two must be equal.
Tolerance tolerance_for(const OutputSlice& slice, DeviceClass device_class) {
  for (const Tolerance& tolerance : slice.tolerances) {
    if (tolerance.device_class == device_class) return tolerance;
  }
  return {device_class, 0, 0};
}

void compare_elements(const OutputSlice& slice, DType dtype, const Tolerance& tolerance,
                      std::span<const std::byte> expected, std::span<const std::byte> found,
                      SliceResult& result) {
  double worst_excess = -std::numeric_limits<double>::infinity();
  for (int64_t i = slice.start; i < slice.stop; ++i) {
    const double want = element_at(expected, dtype, i);
    const double have = element_at(found, dtype, i);
    const double allowed = tolerance.absolute + tolerance.relative * std::abs(want);
    const double difference = want == have ? 0 : std::abs(have - want);
    const bool wrong = !(difference <= allowed);  // a NaN is wrong
    if (wrong) ++result.wrong_elements;
    const double excess =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference - allowed;
    if (excess > worst_excess) {
      worst_excess = excess;
      result.worst_element = i;
      result.expected = want;
      result.found = have;
      result.difference = difference;
      result.allowed = allowed;
    }
  }
}

bool is_constant(const OutputSlice& slice, DType dtype, std::span<const std::byte> bytes) {
  const double first = element_at(bytes, dtype, slice.start);
  for (int64_t i = slice.start + 1; i < slice.stop; ++i) {
    if (element_at(bytes, dtype, i) != first) return false;
  }
  return true;
}

bool equal_slices(const OutputSlice& slice, DType dtype, std::span<const std::byte> a,
                  std::span<const std::byte> b) {
  const size_t start = static_cast<size_t>(slice.start) * size_of(dtype);
  const size_t length = static_cast<size_t>(slice.stop - slice.start) * size_of(dtype);
  return std::equal(a.begin() + static_cast<std::ptrdiff_t>(start),
                    a.begin() + static_cast<std::ptrdiff_t>(start + length),
                    b.begin() + static_cast<std::ptrdiff_t>(start));
}

std::string reason_of(const SliceResult& result, const OutputSlice& slice, DType dtype,
                      std::span<const std::byte> found, const std::vector<std::byte>* other) {
  const bool may_be_constant = !slice.varies;
  if (!may_be_constant && slice.stop - slice.start > 1 && is_constant(slice, dtype, found)) {
    return "constant";
  }
  if (!may_be_constant && other != nullptr && equal_slices(slice, dtype, found, *other)) {
    return "the same for different inputs";
  }
  return result.wrong_elements > 0 ? "outside tolerance" : "";
}

Status check_lengths(const Contract& contract, const OutputBytes& outputs) {
  for (size_t i = 0; i < contract.outputs.size(); ++i) {
    const uint64_t want = contract.outputs[i].type.bytes();
    const uint64_t have = i < outputs.size() ? outputs[i].size() : 0;
    if (want == have) continue;
    return Error(ErrorCode::kCheckFailed, "length of output '" + contract.outputs[i].name + "'")
        .expecting(std::to_string(want) + " bytes", std::to_string(have) + " bytes");
  }
  return {};
}

void note_unsteady(const Contract& contract, uint64_t seed,
                   const std::vector<Steadiness>& steadiness, SelfTestReport& report) {
  for (size_t i = 0; i < steadiness.size(); ++i) {
    if (steadiness[i].distinct() < 2) continue;
    report.unsteady.push_back({contract.outputs[i].name, seed, steadiness[i].distinct(),
                               steadiness[i].first(), steadiness[i].last()});
  }
}

// Runs one reference vector `repeats` times; answers the first run's outputs.
Result<OutputBytes> run_vector(Capture& capture, const Contract& contract,
                               const ReferenceVector& reference, const SelfTestOptions& options,
                               SelfTestReport& report) {
  OutputBytes first;
  std::vector<Steadiness> steadiness;
  for (uint32_t repeat = 0; repeat < std::max(options.repeats, 1u); ++repeat) {
    if (options.stop && options.stop()) {
      return Error(ErrorCode::kInterrupted, "self-test interrupted");
    }
    MODELD_ASSIGN(OutputBytes outputs, replay_reference(capture, contract, reference.seed,
                                                        reference.steps, options.replay_deadline));
    MODELD_TRY(check_lengths(contract, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (repeat == 0) steadiness.emplace_back(contract.outputs[i].type);
      steadiness[i].add(outputs[i]);
    }
    if (repeat == 0) first = std::move(outputs);
  }
  note_unsteady(contract, reference.seed, steadiness, report);
  return first;
}

}  // namespace

std::vector<SliceResult> compare_with_reference(const Contract& contract,
                                                const ReferenceVector& reference,
                                                const OutputBytes& found, const OutputBytes* other,
                                                DeviceClass device_class) {
  std::vector<SliceResult> results;
  for (size_t i = 0; i < contract.outputs.size(); ++i) {
    const OutputContract& output = contract.outputs[i];
    const DType dtype = output.type.dtype;
    for (const OutputSlice& slice : output.slices) {
      SliceResult& result = results.emplace_back();
      result.output = output.name;
      result.slice = slice.name;
      result.seed = reference.seed;
      compare_elements(slice, dtype, tolerance_for(slice, device_class), reference.outputs[i],
                       found[i], result);
      result.reason =
          reason_of(result, slice, dtype, found[i], other == nullptr ? nullptr : &(*other)[i]);
      result.passed = result.reason.empty();
    }
  }
  return results;
}

Result<SelfTestReport> run_self_test(Capture& capture, const Contract& contract,
                                     DeviceClass device_class, const SelfTestOptions& options) {
  if (contract.references.empty()) {
    return Error(ErrorCode::kCheckFailed, "the artifact cannot be self-tested")
        .expecting("reference vectors", "none");
  }
  SelfTestReport report;
  report.repeats = std::max(options.repeats, 1u);
  std::vector<OutputBytes> found;
  for (const ReferenceVector& reference : contract.references) {
    MODELD_ASSIGN(found.emplace_back(), run_vector(capture, contract, reference, options, report));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const OutputBytes* other = i == 0 ? nullptr : &found[i - 1];
    auto slices =
        compare_with_reference(contract, contract.references[i], found[i], other, device_class);
    std::move(slices.begin(), slices.end(), std::back_inserter(report.slices));
  }
  MODELD_TRY(capture.reset_state());
  report.passed =
      report.unsteady.empty() && std::all_of(report.slices.begin(), report.slices.end(),
                                             [](const SliceResult& slice) { return slice.passed; });
  return report;
}

Result<SelfTestReport> run_self_test(Device& device, const Model& model,
                                     const SelfTestOptions& options) {
  MODELD_ASSIGN(CaptureOptions capture_options, reference_capture_options(model.contract));
  capture_options.threads = options.threads;
  MODELD_ASSIGN(const auto capture, device.record(model.program, *model.weights, capture_options));
  return run_self_test(*capture, model.contract, device.capabilities().device_class, options);
}

std::string describe_failure(const SelfTestReport& report) {
  std::ostringstream line;
  for (const SliceResult& slice : report.slices) {
    if (slice.passed) continue;
    line << "slice '" << slice.slice << "' of output '" << slice.output << "' is " << slice.reason
         << " (seed " << slice.seed << ", element " << slice.worst_element << ": expected "
         << slice.expected << ", found " << slice.found << ", allowed difference " << slice.allowed
         << ", " << slice.wrong_elements << " elements wrong)";
    return line.str();
  }
  for (const UnsteadyOutput& output : report.unsteady) {
    line << "output '" << output.output << "' is not the same every time (seed " << output.seed
         << ", " << output.distinct << " different results in " << report.repeats
         << " runs, differing elements from " << to_string(output.first) << " to "
         << to_string(output.last) << ")";
    return line.str();
  }
  return {};
}

}  // namespace modeld
