#include "tools/compile/wire_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace modeld::compile {
namespace {

enum class Kind : uint8_t { kModel, kGraph, kNode, kAttribute, kTensor, kData, kOther };

// Which fields of a message lead to nodes or to tensor contents; all others are structure.
struct Edge {
  Kind from;
  uint32_t field;
  Kind to;
};

constexpr auto kEdges = std::to_array<Edge>({
    {Kind::kModel, 6, Kind::kData},  // doc_string
    {Kind::kModel, 7, Kind::kGraph},       {Kind::kGraph, 1, Kind::kNode},
    {Kind::kGraph, 5, Kind::kTensor},      {Kind::kGraph, 10, Kind::kData},
    {Kind::kNode, 5, Kind::kAttribute},    {Kind::kNode, 6, Kind::kData},
    {Kind::kAttribute, 5, Kind::kTensor},  {Kind::kAttribute, 6, Kind::kGraph},
    {Kind::kAttribute, 10, Kind::kTensor}, {Kind::kAttribute, 11, Kind::kGraph},
    {Kind::kAttribute, 13, Kind::kData},   {Kind::kTensor, 4, Kind::kData},
    {Kind::kTensor, 5, Kind::kData},       {Kind::kTensor, 7, Kind::kData},
    {Kind::kTensor, 9, Kind::kData},       {Kind::kTensor, 10, Kind::kData},
    {Kind::kTensor, 11, Kind::kData},      {Kind::kTensor, 12, Kind::kData},
});

Kind kind_of(Kind from, uint32_t field) {
  for (const Edge& edge : kEdges) {
    if (edge.from == from && edge.field == field) return edge.to;
  }
  return Kind::kOther;
}

Error corrupt(const char* what) {
  return {ErrorCode::kCorrupt, std::string("not an ONNX file: ") + what};
}

class Scanner {
 public:
  explicit Scanner(const OnnxLimits& limits) : limits_(limits) {}

  Status message(std::span<const std::byte> bytes, Kind kind, int depth);
  const WireCounts& counts() const { return counts_; }

 private:
  Status field(std::span<const std::byte>& bytes, Kind kind, int depth);
  Status payload(std::span<const std::byte> bytes, Kind kind, int depth);
  Status count_structure(uint64_t bytes);

  const OnnxLimits& limits_;
  WireCounts counts_;
};

std::optional<uint64_t> take_varint(std::span<const std::byte>& bytes) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto byte = static_cast<uint64_t>(bytes[i]);
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes = bytes.subspan(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

Status Scanner::count_structure(uint64_t bytes) {
  counts_.structure_bytes += bytes;
  ++counts_.fields;
  if (counts_.structure_bytes <= limits_.max_structure_bytes &&
      counts_.fields <= limits_.max_fields) {
    return {};
  }
  return Error(ErrorCode::kRefused, "the graph's description is too large")
      .expecting("at most " + std::to_string(limits_.max_structure_bytes) + " bytes and " +
                     std::to_string(limits_.max_fields) + " fields beside tensor contents",
                 "more");
}

Status Scanner::message(std::span<const std::byte> bytes, Kind kind, int depth) {
  if (depth > limits_.max_depth) {
    return Error(ErrorCode::kRefused, "messages nested too deeply")
        .expecting("at most " + std::to_string(limits_.max_depth) + " levels", "more");
  }
  if (kind == Kind::kNode && ++counts_.nodes > limits_.max_nodes) {
    return Error(ErrorCode::kRefused, "too many nodes")
        .expecting("at most " + std::to_string(limits_.max_nodes), "more");
  }
  while (!bytes.empty()) MODELD_TRY(field(bytes, kind, depth));
  return {};
}

Status Scanner::field(std::span<const std::byte>& bytes, Kind kind, int depth) {
  const size_t before = bytes.size();
  const auto tag = take_varint(bytes);
  if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return corrupt("a field has no valid tag");
  uint64_t skip = 0;
  switch (*tag & 7) {
    case 0:
      if (!take_varint(bytes)) return corrupt("a number is cut off");
      break;
    case 1:
      skip = 8;
      break;
    case 5:
      skip = 4;
      break;
    case 2: {
      const auto length = take_varint(bytes);
      if (!length || *length > bytes.size()) return corrupt("a field is longer than the file");
      MODELD_TRY(count_structure(before - bytes.size()));
      const auto content = bytes.first(*length);
      bytes = bytes.subspan(*length);
      return payload(content, kind_of(kind, static_cast<uint32_t>(*tag >> 3)), depth + 1);
    }
    default:
      return corrupt("a field has an unknown wire type");
  }
  if (skip > bytes.size()) return corrupt("a number is cut off");
  bytes = bytes.subspan(skip);
  return count_structure(before - bytes.size());
}

Status Scanner::payload(std::span<const std::byte> bytes, Kind kind, int depth) {
  if (kind == Kind::kData) return {};
  if (kind == Kind::kOther) return count_structure(bytes.size());
  return message(bytes, kind, depth);
}

}  // namespace

Result<WireCounts> scan_model(std::span<const std::byte> file, const OnnxLimits& limits) {
  Scanner scanner(limits);
  MODELD_TRY(scanner.message(file, Kind::kModel, 0));
  return scanner.counts();
}

}  // namespace modeld::compile
