#include "tools/compile/onnx_tensor.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "runtime/base/checked.h"
#include "tools/compile/dtype_numbers.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX raw data is little-endian");

Error wrong_length(uint64_t want, uint64_t have) {
  return Error(ErrorCode::kCorrupt, "the contents do not fit the shape")
      .expecting(std::to_string(want) + " bytes", std::to_string(have) + " bytes");
}

// `values` narrowed to elements of `size` bytes (little-endian: the low bytes).
template <typename List>
std::vector<std::byte> narrowed(const List& values, size_t size) {
  std::vector<std::byte> bytes(static_cast<size_t>(values.size()) * size);
  std::byte* out = bytes.data();
  for (const auto value : values) {
    std::memcpy(out, &value, size);
    out += size;
  }
  return bytes;
}

std::vector<std::byte> typed_bytes(const onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return narrowed(proto.float_data(), sizeof(float));
    case DType::kFloat64:
      return narrowed(proto.double_data(), sizeof(double));
    case DType::kInt64:
      return narrowed(proto.int64_data(), sizeof(int64_t));
    case DType::kUInt32:
    case DType::kUInt64:
      return narrowed(proto.uint64_data(), size_of(dtype));
    default:
      return narrowed(proto.int32_data(), size_of(dtype));
  }
}

std::vector<std::byte> take_raw(onnx::TensorProto& proto) {
  const std::string& raw = proto.raw_data();
  const auto* first = reinterpret_cast<const std::byte*>(raw.data());
  std::vector<std::byte> bytes(first, first + raw.size());
  proto.clear_raw_data();
  return bytes;
}

Result<uint64_t> number_of(const std::string& text) {
  uint64_t value = 0;
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) {
    return Error(ErrorCode::kCorrupt, "external data: not a number: " + printable(text));
  }
  return value;
}

Result<std::vector<std::byte>> external_bytes(const onnx::TensorProto& proto, uint64_t want,
                                              ExternalData& external) {
  ExternalRange range;
  range.length = want;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") range.location = entry.value();
    if (entry.key() == "offset") {
      MODELD_ASSIGN(range.offset, number_of(entry.value()));
    }
    if (entry.key() == "length") {
      MODELD_ASSIGN(range.length, number_of(entry.value()));
    }
  }
  if (range.length != want) return wrong_length(want, range.length);
  return external.read(range);
}

// Any other value than 0 and 1 in a bool byte would let two kernels disagree.
void normalise_bools(std::vector<std::byte>& bytes) {
  for (std::byte& byte : bytes) byte = byte == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace

Result<HostTensor> tensor_of(onnx::TensorProto& proto, ExternalData& external) {
  HostTensor tensor;
  MODELD_ASSIGN(tensor.type.dtype, dtype_of(proto.data_type()));
  if (proto.has_segment()) return Error(ErrorCode::kUnsupported, "a tensor stored in segments");
  tensor.type.shape.assign(proto.dims().begin(), proto.dims().end());
  const auto count = checked_elements(tensor.type.shape);
  const auto want =
      count ? checked_mul<uint64_t>(static_cast<uint64_t>(*count), size_of(tensor.type.dtype))
            : std::nullopt;
  if (!want) {
    return Error(ErrorCode::kCorrupt, "impossible shape " + to_string(tensor.type.shape));
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    MODELD_ASSIGN(tensor.bytes, external_bytes(proto, *want, external));
  } else if (proto.has_raw_data()) {
    tensor.bytes = take_raw(proto);
  } else {
    tensor.bytes = typed_bytes(proto, tensor.type.dtype);
  }
  if (tensor.bytes.size() != *want) return wrong_length(*want, tensor.bytes.size());
  if (tensor.type.dtype == DType::kBool) normalise_bools(tensor.bytes);
  return tensor;
}

}  // namespace modeld::compile
