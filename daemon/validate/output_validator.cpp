#include "daemon/validate/output_validator.h"

#include <cassert>
#include <cmath>
#include <cstdio>

#include "runtime/program/element.h"

namespace modeld {
namespace {

uint32_t slice_of(const OutputContract& contract, int64_t element) {
  for (size_t i = 0; i < contract.slices.size(); ++i) {
    if (element >= contract.slices[i].start && element < contract.slices[i].stop) {
      return static_cast<uint32_t>(i);
    }
  }
  return OutputVerdict::kNoSlice;
}

bool is_constant(const OutputSlice& slice, const OutputContract& contract,
                 std::span<const std::byte> bytes) {
  // One value cannot vary inside itself.
  if (slice.stop - slice.start < 2) return false;
  const double first = element_at(bytes, contract.type.dtype, slice.start);
  for (int64_t i = slice.start + 1; i < slice.stop; ++i) {
    if (element_at(bytes, contract.type.dtype, i) != first) return false;
  }
  return true;
}

}  // namespace

OutputValidator::OutputValidator(std::vector<OutputContract> outputs)
    : outputs_(std::move(outputs)) {}

OutputVerdict OutputValidator::check_report(const ReplayReport& report) const {
  OutputVerdict verdict;
  if (report.index_out_of_range != 0) {
    verdict.reason = InvalidReason::kIndexOutOfRange;
    verdict.value = report.index_out_of_range;
  } else if (report.integer_division_by_zero != 0) {
    verdict.reason = InvalidReason::kDivisionByZero;
    verdict.value = report.integer_division_by_zero;
  } else if (report.states_not_finite != 0) {
    verdict.reason = InvalidReason::kStateNotFinite;
    verdict.value = report.states_not_finite;
  }
  return verdict;
}

OutputVerdict OutputValidator::check_output(size_t index, std::span<const std::byte> bytes) const {
  const OutputContract& contract = outputs_[index];
  assert(bytes.size() == contract.type.bytes());
  const auto output = static_cast<uint32_t>(index);
  const int64_t elements = contract.type.elements();
  if (is_float(contract.type.dtype)) {
    for (int64_t i = 0; i < elements; ++i) {
      const double value = element_at(bytes, contract.type.dtype, i);
      if (!std::isfinite(value)) {
        return {InvalidReason::kOutputNotFinite, output, slice_of(contract, i), i, value};
      }
    }
  }
  for (size_t s = 0; s < contract.slices.size(); ++s) {
    const OutputSlice& slice = contract.slices[s];
    for (int64_t i = slice.start; i < slice.stop; ++i) {
      const double value = element_at(bytes, contract.type.dtype, i);
      if (value < slice.minimum || value > slice.maximum) {
        return {InvalidReason::kOutputOutOfRange, output, static_cast<uint32_t>(s), i, value};
      }
    }
    if (slice.varies && is_constant(slice, contract, bytes)) {
      return {InvalidReason::kOutputConstant, output, static_cast<uint32_t>(s), slice.start,
              element_at(bytes, contract.type.dtype, slice.start)};
    }
  }
  return {};
}

OutputVerdict OutputValidator::check(const Capture& capture, const ReplayReport& report) const {
  OutputVerdict verdict = check_report(report);
  for (size_t i = 0; verdict.valid() && i < outputs_.size(); ++i) {
    verdict = check_output(i, capture.output(i));
  }
  return verdict;
}

std::string OutputValidator::describe(const OutputVerdict& verdict) const {
  switch (verdict.reason) {
    case InvalidReason::kIndexOutOfRange:
    case InvalidReason::kDivisionByZero:
    case InvalidReason::kStateNotFinite:
      return std::string(to_string(verdict.reason)) + ": " +
             std::to_string(static_cast<uint64_t>(verdict.value)) + " times in this frame";
    case InvalidReason::kOutputNotFinite:
    case InvalidReason::kOutputOutOfRange:
    case InvalidReason::kOutputConstant:
      break;
    default:
      return std::string(to_string(verdict.reason));
  }
  const OutputContract& contract = outputs_[verdict.output];
  std::string slice = "no slice";
  std::string expected = "finite";
  if (verdict.slice != OutputVerdict::kNoSlice) {
    const OutputSlice& found = contract.slices[verdict.slice];
    slice = "slice " + found.name;
    char range[80];
    std::snprintf(range, sizeof range, "%g to %g", found.minimum, found.maximum);
    if (verdict.reason == InvalidReason::kOutputOutOfRange) expected = range;
    if (verdict.reason == InvalidReason::kOutputConstant) expected = "values that differ";
  }
  char value[32];
  std::snprintf(value, sizeof value, "%g", verdict.value);
  return std::string(to_string(verdict.reason)) + ": output " + contract.name + ", " + slice +
         ", element " + std::to_string(verdict.element) + " (expected " + expected + ", found " +
         value + ")";
}

}  // namespace modeld
