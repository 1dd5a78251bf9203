// One ONNX node on its way into a draft: what the importers of the op families work with.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "tools/compile/draft.h"
#include "tools/compile/onnx_graph.h"

namespace modeld::compile {

// Lives for one node. Attribute getters answer their default where the attribute is absent; one of
// another kind, or an attribute nobody asked for, is reported by finish().
class NodeImport {
 public:
  NodeImport(Draft& draft, const OnnxNode& node, int64_t opset, std::vector<TensorId> inputs);

  Draft& draft() { return draft_; }
  const OnnxNode& node() const { return node_; }
  int64_t opset() const { return opset_; }

  size_t input_count() const { return inputs_.size(); }
  bool has_input(size_t index) const;
  // The given inputs, or an error if fewer than `least` or more than `most` are there or one of
  // the first `least` is left out.
  Status expect_inputs(size_t least, size_t most) const;
  TensorId input(size_t index) const { return has_input(index) ? inputs_[index] : kNoTensor; }
  const std::vector<TensorId>& inputs() const { return inputs_; }
  const Shape& shape(size_t index) const { return draft_.shape(inputs_[index]); }
  int64_t rank(size_t index) const { return static_cast<int64_t>(shape(index).size()); }
  DType dtype(size_t index) const { return draft_.dtype(inputs_[index]); }
  // Null if the input is left out or not constant.
  const HostTensor* constant_input(size_t index) const { return draft_.constant(input(index)); }
  // True if somebody may read that output.
  bool wants_output(size_t index) const;
  size_t output_count() const { return node_.outputs.size(); }

  bool has_attribute(std::string_view name) const;
  int64_t attr_int(std::string_view name, int64_t otherwise);
  double attr_float(std::string_view name, double otherwise);
  std::string attr_string(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> attr_ints(std::string_view name);
  std::vector<float> attr_floats(std::string_view name);
  std::vector<std::string> attr_strings(std::string_view name);
  ConstantPtr attr_tensor(std::string_view name);
  // Known to have no influence on inference.
  void ignore_attr(std::string_view name) { asked_.emplace(name); }

  // Static parameters that ONNX passes as inputs: an error that says so where the input is not
  // constant. `what` is its name in the ONNX specification.
  Result<std::vector<int64_t>> constant_ints(size_t index, std::string_view what) const;
  Result<std::vector<double>> constant_doubles(size_t index, std::string_view what) const;
  Result<double> constant_scalar(size_t index, std::string_view what) const;

  // `axis` counted from the end if negative.
  Result<int64_t> resolve_axis(int64_t axis, int64_t rank) const;
  // Sorted, without repeats.
  Result<std::vector<int64_t>> resolve_axes(std::vector<int64_t> axes, int64_t rank) const;

  // Ops carry the node's name.
  Result<TensorId> emit(OpKind kind, std::vector<TensorId> op_inputs, Attributes attributes = {});
  // The same, as output 0 of the node.
  Status emit_output(OpKind kind, std::vector<TensorId> op_inputs, Attributes attributes = {});
  Result<std::vector<TensorId>> emit_many(OpKind kind, std::vector<TensorId> op_inputs,
                                          Attributes attributes);
  Result<TensorId> reshape(TensorId id, const Shape& shape);
  Result<TensorId> transpose(TensorId id, std::vector<int64_t> perm);
  // Reduce* over `axes` (resolved, ascending), keeping them as 1.
  Result<TensorId> reduce(OpKind kind, TensorId id, std::vector<int64_t> axes);
  Result<TensorId> cast(TensorId id, DType dtype) { return draft_.cast_to(id, dtype, node_.name); }
  Result<TensorId> constant(HostTensor value);
  // i64 of `shape` with value(flat index), if the budget for constants allows.
  Result<TensorId> numbers(const Shape& shape, const std::function<int64_t(int64_t)>& value);
  // A constant with one element that broadcasts, of the element type of `like`.
  Result<TensorId> scalar_like(TensorId like, double value);

  void set_output(size_t index, TensorId id);
  const std::vector<TensorId>& outputs() const { return outputs_; }

  // To be asked last: attributes of the wrong kind or unknown ones, outputs nobody set.
  Status finish() const;

  Error unsupported(std::string why) const { return {ErrorCode::kUnsupported, std::move(why)}; }
  Error refused(std::string why) const { return {ErrorCode::kRefused, std::move(why)}; }

 private:
  const OnnxAttribute* find(std::string_view name);
  template <typename T>
  T get(std::string_view name, T otherwise);

  Draft& draft_;
  const OnnxNode& node_;
  int64_t opset_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
  TensorId first_new_;
  std::set<std::string, std::less<>> asked_;
  std::optional<Error> attribute_error_;
};

}  // namespace modeld::compile
