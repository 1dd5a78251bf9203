#include "tools/compile/onnx_graph.h"

#include <google/protobuf/io/coded_stream.h>

#include <climits>
#include <set>
#include <unordered_set>

#include "runtime/artifact/sha256.h"
#include "runtime/base/file.h"
#include "tools/compile/dtype_numbers.h"
#include "tools/compile/onnx_proto.h"
#include "tools/compile/onnx_tensor.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

std::string node_name(const onnx::NodeProto& node, int index) {
  if (!node.name().empty()) return node.name();
  return node.op_type() + "#" + std::to_string(index);
}

Result<onnx::ModelProto> parse(std::span<const std::byte> file, const OnnxLimits& limits) {
  onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(file.data()),
                                                static_cast<int>(file.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  stream.SetRecursionLimit(limits.max_depth + 4);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Error(ErrorCode::kCorrupt, "not an ONNX file");
  }
  if (!model.has_graph()) return Error(ErrorCode::kCorrupt, "not an ONNX file: it has no graph");
  return model;
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, const OnnxLimits& limits)
      : external_(folder, limits.max_external_bytes) {}

  Result<OnnxGraph> read(onnx::ModelProto& model);

 private:
  Status head(const onnx::ModelProto& model);
  using Initializers = std::map<std::string, ConstantPtr, std::less<>>;
  Status initializers(onnx::GraphProto& graph, Initializers& into);
  Status inputs(const onnx::GraphProto& graph);
  Status nodes(onnx::GraphProto& graph, std::vector<OnnxNode>& into);
  Result<OnnxSubgraph> body(onnx::GraphProto& graph);
  Status outputs(const onnx::GraphProto& graph);
  Result<OnnxInput> input(const onnx::ValueInfoProto& proto);
  Result<OnnxNode> node(onnx::NodeProto& proto, int index);
  Result<OnnxAttribute> attribute(onnx::AttributeProto& proto, bool of_if);
  Status define(const std::string& name);

  ExternalData external_;
  OnnxGraph graph_;
  std::unordered_set<std::string> defined_;  // values that nodes may read by now
  std::vector<std::string> order_;           // the same in the order they were defined
};

Status Reader::define(const std::string& name) {
  if (defined_.insert(name).second) {
    order_.push_back(name);
    return {};
  }
  return Error(ErrorCode::kRefused, "value '" + printable(name) + "' is written twice");
}

Status Reader::head(const onnx::ModelProto& model) {
  if (model.training_info_size() > 0) {
    return Error(ErrorCode::kRefused, "the model carries training information");
  }
  for (const auto& opset : model.opset_import()) {
    graph_.opsets[canonical_domain(opset.domain())] = opset.version();
  }
  for (const auto& entry : model.metadata_props()) graph_.metadata[entry.key()] = entry.value();
  return {};
}

Status Reader::initializers(onnx::GraphProto& graph, Initializers& into) {
  if (graph.sparse_initializer_size() > 0) {
    return Error(ErrorCode::kUnsupported, "sparse initializers");
  }
  for (auto& proto : *graph.mutable_initializer()) {
    const std::string where = "initializer '" + printable(proto.name()) + "'";
    if (auto defined = define(proto.name()); !defined.ok()) {
      return std::move(defined).error().in(where);
    }
    auto tensor = tensor_of(proto, external_);
    if (!tensor.ok()) return std::move(tensor).error().in(where);
    into[proto.name()] = std::make_shared<const HostTensor>(std::move(tensor).value());
  }
  return {};
}

Result<OnnxInput> Reader::input(const onnx::ValueInfoProto& proto) {
  if (!proto.type().has_tensor_type()) {
    return Error(ErrorCode::kUnsupported, "not a tensor");
  }
  const auto& type = proto.type().tensor_type();
  OnnxInput input{proto.name(), DType::kFloat32, {}, type.has_shape()};
  MODELD_ASSIGN(input.dtype, dtype_of(type.elem_type()));
  for (const auto& dim : type.shape().dim()) {
    if (dim.value_case() != onnx::TensorShapeProto::Dimension::kDimValue) {
      input.shape.emplace_back(std::nullopt);
    } else if (dim.dim_value() < 0) {
      return Error(ErrorCode::kCorrupt, "a negative dimension")
          .expecting("0 or more", std::to_string(dim.dim_value()));
    } else {
      input.shape.emplace_back(dim.dim_value());
    }
  }
  return input;
}

Status Reader::inputs(const onnx::GraphProto& graph) {
  for (const auto& proto : graph.input()) {
    // Before IR version 4 every initializer was listed as an input too; it is a constant all the
    // same, because nobody feeds it here.
    if (graph_.initializers.contains(proto.name())) continue;
    MODELD_TRY(define(proto.name()));
    auto made = input(proto);
    if (!made.ok()) {
      return std::move(made).error().in("input '" + printable(proto.name()) + "'");
    }
    graph_.inputs.push_back(std::move(made).value());
  }
  return {};
}

// What a branch defines ends with it.
Result<OnnxSubgraph> Reader::body(onnx::GraphProto& graph) {
  const size_t outside = order_.size();
  if (graph.input_size() > 0) return Error(ErrorCode::kRefused, "a branch with inputs");
  auto made = std::make_shared<OnnxBody>();
  MODELD_TRY(initializers(graph, made->initializers));
  MODELD_TRY(nodes(graph, made->nodes));
  for (const auto& proto : graph.output()) {
    if (!defined_.contains(proto.name())) {
      return Error(ErrorCode::kRefused,
                   "output '" + printable(proto.name()) + "' of a branch is written by no node");
    }
    made->outputs.push_back(proto.name());
  }
  for (; order_.size() > outside; order_.pop_back()) defined_.erase(order_.back());
  return OnnxSubgraph{std::move(made)};
}

Result<OnnxAttribute> Reader::attribute(onnx::AttributeProto& proto, bool of_if) {
  using Proto = onnx::AttributeProto;
  switch (proto.type()) {
    case Proto::INT:
      return OnnxAttribute(static_cast<int64_t>(proto.i()));
    case Proto::FLOAT:
      return OnnxAttribute(proto.f());
    case Proto::STRING:
      return OnnxAttribute(proto.s());
    case Proto::INTS:
      return OnnxAttribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case Proto::FLOATS:
      return OnnxAttribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case Proto::STRINGS:
      return OnnxAttribute(
          std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case Proto::GRAPH: {
      if (!of_if) return OnnxAttribute(OnnxSubgraph{});
      MODELD_ASSIGN(OnnxSubgraph branch, body(*proto.mutable_g()));
      return OnnxAttribute(std::move(branch));
    }
    case Proto::GRAPHS:
      return OnnxAttribute(OnnxSubgraph{});
    case Proto::TENSOR: {
      MODELD_ASSIGN(HostTensor tensor, tensor_of(*proto.mutable_t(), external_));
      return OnnxAttribute(ConstantPtr(std::make_shared<const HostTensor>(std::move(tensor))));
    }
    default:
      return Error(ErrorCode::kUnsupported,
                   "an attribute of kind " + std::to_string(static_cast<int>(proto.type())));
  }
}

Result<OnnxNode> Reader::node(onnx::NodeProto& proto, int index) {
  OnnxNode node{
      node_name(proto, index), proto.op_type(), canonical_domain(proto.domain()), {}, {}, {}};
  for (auto& item : *proto.mutable_attribute()) {
    const std::string where = "attribute '" + printable(item.name()) + "'";
    if (!item.ref_attr_name().empty()) {
      return Error(ErrorCode::kUnsupported, "a reference to a function's attribute").in(where);
    }
    auto value = attribute(item, node.domain.empty() && node.op_type == "If");
    if (!value.ok()) return std::move(value).error().in(where);
    if (!node.attributes.emplace(item.name(), std::move(value).value()).second) {
      return Error(ErrorCode::kCorrupt, "given twice").in(where);
    }
  }
  for (const auto& name : proto.input()) {
    if (!name.empty() && !defined_.contains(name)) {
      return Error(ErrorCode::kRefused, "input '" + printable(name) +
                                            "' is written by no node before it (cyclic, unsorted "
                                            "or incomplete graph)");
    }
    node.inputs.push_back(name);
  }
  for (const auto& name : proto.output()) {
    if (!name.empty()) MODELD_TRY(define(name));
    node.outputs.push_back(name);
  }
  return node;
}

Status Reader::nodes(onnx::GraphProto& graph, std::vector<OnnxNode>& into) {
  into.reserve(static_cast<size_t>(graph.node_size()));
  for (int i = 0; i < graph.node_size(); ++i) {
    auto& proto = *graph.mutable_node(i);
    auto made = node(proto, i);
    if (!made.ok()) {
      return std::move(made).error().in("node '" + printable(node_name(proto, i)) + "'");
    }
    into.push_back(std::move(made).value());
  }
  return {};
}

Status Reader::outputs(const onnx::GraphProto& graph) {
  std::set<std::string> seen;
  for (const auto& proto : graph.output()) {
    if (!defined_.contains(proto.name()) || !seen.insert(proto.name()).second) {
      return Error(ErrorCode::kRefused, "output '" + printable(proto.name()) +
                                            "' is written by no node, or listed twice");
    }
    graph_.outputs.push_back(proto.name());
  }
  if (graph_.outputs.empty()) return Error(ErrorCode::kRefused, "the graph has no outputs");
  return {};
}

Result<OnnxGraph> Reader::read(onnx::ModelProto& model) {
  MODELD_TRY(head(model));
  MODELD_TRY(initializers(*model.mutable_graph(), graph_.initializers));
  MODELD_TRY(inputs(model.graph()));
  MODELD_TRY(nodes(*model.mutable_graph(), graph_.nodes));
  MODELD_TRY(outputs(model.graph()));
  return std::move(graph_);
}

Result<OnnxGraph> read_checked(const std::filesystem::path& path, const OnnxLimits& limits) {
  MODELD_ASSIGN(std::vector<std::byte> file, read_file(path, limits.max_file_bytes));
  MODELD_TRY(scan_model(file, limits));
  std::string digest = to_hex(sha256(file));
  MODELD_ASSIGN(onnx::ModelProto model, parse(file, limits));
  file = {};
  MODELD_ASSIGN(OnnxGraph graph, Reader(path.parent_path(), limits).read(model));
  graph.source_sha256 = std::move(digest);
  return graph;
}

}  // namespace

int64_t OnnxGraph::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 1 : found->second;
}

const std::string* OnnxGraph::find_metadata(std::string_view key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

Result<OnnxGraph> read_onnx(const std::filesystem::path& path, const OnnxLimits& limits) {
  auto graph = read_checked(path, limits);
  if (!graph.ok()) return std::move(graph).error().in(printable(path.string()));
  return graph;
}

}  // namespace modeld::compile
