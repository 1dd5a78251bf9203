#include "runtime/program/seeded_inputs.h"

#include <cstring>

#include "runtime/base/half.h"

namespace modeld {
namespace {

template <typename T, typename Make>
void fill(std::span<std::byte> out, Make make) {
  for (size_t at = 0; at + sizeof(T) <= out.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(out.data() + at, &value, sizeof(T));
  }
}

}  // namespace

uint64_t SplitMix64::next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double SplitMix64::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double SplitMix64::normal() {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum - 6;
}

void fill_seeded(std::span<std::byte> out, DType dtype, uint64_t seed, uint32_t stream,
                 uint32_t step) {
  // Each number passes through the mixer once, so that neighbours give unrelated sequences.
  const uint64_t with_stream = SplitMix64(seed).next() + stream;
  SplitMix64 random(SplitMix64(with_stream).next() + step);
  const auto normal = [&] { return static_cast<float>(random.normal()); };
  const auto small = [&] { return random.next() >> 60; };
  switch (dtype) {
    case DType::kFloat32:
      return fill<float>(out, normal);
    case DType::kFloat64:
      return fill<double>(out, [&] { return random.normal(); });
    case DType::kFloat16:
      return fill<uint16_t>(out, [&] { return float_to_half(normal()); });
    case DType::kBFloat16:
      return fill<uint16_t>(out, [&] { return float_to_bfloat(normal()); });
    case DType::kUInt8:
    case DType::kNv12:
      return fill<uint8_t>(out, [&] { return static_cast<uint8_t>(random.next() >> 56); });
    case DType::kBool:
      return fill<uint8_t>(out, [&] { return static_cast<uint8_t>(random.next() >> 63); });
    case DType::kInt8:
      return fill<uint8_t>(out, [&] { return static_cast<uint8_t>(small()); });
    case DType::kInt16:
    case DType::kUInt16:
      return fill<uint16_t>(out, [&] { return static_cast<uint16_t>(small()); });
    case DType::kInt32:
    case DType::kUInt32:
      return fill<uint32_t>(out, [&] { return static_cast<uint32_t>(small()); });
    case DType::kInt64:
    case DType::kUInt64:
      return fill<uint64_t>(out, small);
  }
}

}  // namespace modeld
