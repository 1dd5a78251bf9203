// An ONNX file read and bounded, as plain values: protobuf stays behind this header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "tools/compile/constant.h"
#include "tools/compile/wire_scan.h"

namespace modeld::compile {

// The branches of an If are read; other subgraphs are only noted (null), nothing that has one is
// imported.
struct OnnxBody;
struct OnnxSubgraph {
  std::shared_ptr<const OnnxBody> body;
};

using OnnxAttribute =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, ConstantPtr, OnnxSubgraph>;

struct OnnxNode {
  std::string name;  // never empty: "Conv#12" where the file has none
  std::string op_type;
  std::string domain;               // "" is ai.onnx
  std::vector<std::string> inputs;  // "" where an optional one is left out
  std::vector<std::string> outputs;
  std::map<std::string, OnnxAttribute, std::less<>> attributes;
};

// A subgraph without inputs. Its nodes may read what the enclosing graph wrote before.
struct OnnxBody {
  std::vector<OnnxNode> nodes;
  std::map<std::string, ConstantPtr, std::less<>> initializers;
  std::vector<std::string> outputs;
};

struct OnnxInput {
  std::string name;
  DType dtype = DType::kFloat32;
  // Extents; nothing where the file has a symbol or says nothing.
  std::vector<std::optional<int64_t>> shape;
  bool ranked = true;  // false: the file does not even tell the rank
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::map<std::string, ConstantPtr, std::less<>> initializers;
  std::vector<OnnxInput> inputs;  // those that are not initializers
  std::vector<std::string> outputs;
  std::map<std::string, int64_t, std::less<>> opsets;  // by domain
  std::map<std::string, std::string, std::less<>> metadata;
  std::string source_sha256;  // hex, of the .onnx file's bytes

  int64_t opset() const;  // of ai.onnx
  const std::string* find_metadata(std::string_view key) const;
};

// Reads `path` and the external data beside it. Refused: files over the limits, training
// information, sparse or string tensors, symbolic names used twice, nodes that read what no earlier
// node wrote (cycles among them). Errors name the node or tensor.
Result<OnnxGraph> read_onnx(const std::filesystem::path& path, const OnnxLimits& limits = {});

}  // namespace modeld::compile
