#include "daemon/engine/output_floats.h"

#include <cassert>
#include <cstring>

#include "runtime/base/half.h"

namespace modeld {
namespace {

bool readable(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

void convert(DType dtype, std::span<const std::byte> from, std::span<float> to) {
  assert(from.size() == to.size() * size_of(dtype));
  if (dtype == DType::kFloat32) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
    to[i] = dtype == DType::kFloat16 ? half_to_float(bits) : bfloat_to_float(bits);
  }
}

}  // namespace

OutputFloats::OutputFloats(const std::vector<OutputContract>& outputs) {
  for (const OutputContract& output : outputs) {
    dtypes_.push_back(output.type.dtype);
    values_.emplace_back(readable(output.type.dtype) ? static_cast<size_t>(output.type.elements())
                                                     : 0);
  }
  for (const std::vector<float>& values : values_) spans_.emplace_back(values);
}

std::span<const std::span<const float>> OutputFloats::read(const Capture& capture) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].empty()) convert(dtypes_[i], capture.output(i), values_[i]);
  }
  return spans_;
}

std::vector<OutputContract> OutputFloats::head_contracts(
    const std::vector<OutputContract>& outputs) {
  std::vector<OutputContract> heads = outputs;
  for (OutputContract& output : heads) {
    if (!readable(output.type.dtype)) output.slices.clear();
  }
  return heads;
}

}  // namespace modeld
