#include "runtime/program/infer.h"

#include <array>
#include <string>

#include "runtime/program/expand.h"
#include "runtime/program/infer_rules.h"
#include "runtime/program/op_schema.h"

namespace modeld {
namespace {

using infer::Call;
using infer::wrong;

constexpr std::array<std::string_view, 5> kAttributeKinds = {"an integer", "a float", "a string",
                                                             "integers", "floats"};

// AttributeKind counts in the order of AttributeValue's alternatives.
Status check_attributes(const Call& call, const OpSchema& schema) {
  for (const AttributeRule& rule : schema.attributes) {
    const AttributeValue* value = call.attributes.find(rule.name);
    const auto wanted = static_cast<size_t>(rule.kind);
    if (value == nullptr) {
      if (!rule.required) continue;
      return wrong(call, "attribute " + std::string(rule.name),
                   std::string(kAttributeKinds[wanted]), "nothing");
    }
    if (value->index() != wanted) {
      return wrong(call, "attribute " + std::string(rule.name),
                   std::string(kAttributeKinds[wanted]),
                   std::string(kAttributeKinds[value->index()]));
    }
  }
  for (const auto& [name, value] : call.attributes.map()) {
    bool known = false;
    for (const AttributeRule& rule : schema.attributes) known = known || rule.name == name;
    if (!known) return wrong(call, "attribute", "only those of OPS.md", name.substr(0, 64));
  }
  return {};
}

// Trailing inputs of these may be left out with kNoTensor before a later one is given.
bool may_be_absent(OpKind kind, const OpSchema& schema, size_t input) {
  return input >= schema.min_inputs && kind != OpKind::kMax && kind != OpKind::kMin &&
         kind != OpKind::kConcat && kind != OpKind::kPointwise;
}

Status check_type(const Call& call, const std::string& what, const TensorType& type) {
  for (const int64_t extent : type.shape) {
    if (extent >= 0 && extent <= infer::kMaxExtent) continue;
    return wrong(call, what, "extents in 0.." + std::to_string(infer::kMaxExtent), to_string(type));
  }
  // Room for eight bytes per element in an int64.
  const auto elements = checked_elements(type.shape);
  if (elements && *elements <= (int64_t{1} << 59)) return {};
  return wrong(call, what, "a number of elements that fits", to_string(type));
}

Status check_inputs(const Call& call, const OpSchema& schema) {
  const size_t count = call.inputs.size();
  if (count < schema.min_inputs || count > schema.max_inputs) {
    const std::string most = schema.max_inputs > count
                                 ? std::to_string(schema.min_inputs) + " or more"
                                 : std::to_string(schema.max_inputs) + " or fewer";
    return wrong(call, "inputs", most, std::to_string(count));
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string what = "input " + std::to_string(i);
    if (!call.has(i)) {
      if (may_be_absent(call.kind, schema, i)) continue;
      return wrong(call, what, "a tensor", "nothing");
    }
    MODELD_TRY(check_type(call, what, call.in(i)));
    if (call.in(i).dtype == DType::kNv12 && call.kind != OpKind::kWarp) {
      return wrong(call, what, "a tensor of numbers", to_string(call.in(i)));
    }
  }
  return {};
}

Result<infer::Types> infer_compound(const Call& call) {
  MODELD_ASSIGN(const Expansion expansion, expansion_of(call.kind, call.attributes, call.inputs));
  infer::Types types;
  for (const uint32_t result : expansion.results) types.push_back(expansion.types[result]);
  return types;
}

Result<infer::Types> dispatch(const Call& call) {
  using enum OpKind;
  if (call.kind == kWarp) return infer::infer_warp(call);
  if (call.kind <= kConvTranspose) return infer::infer_window(call);
  if (call.kind <= kMatMulInteger) return infer::infer_matrix(call);
  if (call.kind <= kRnn) return infer::infer_recurrent(call);
  if (call.kind <= kTanh) return infer::infer_unary(call);
  if (call.kind <= kWhere) return infer::infer_binary(call);
  if (call.kind <= kSoftmax) return infer::infer_normalisation(call);
  if (call.kind <= kArgMin) return infer::infer_reduction(call);
  if (call.kind <= kMaxPool) return infer::infer_window(call);
  if (call.kind == kResize) return infer::infer_resize(call);
  if (call.kind <= kQuantizeLinear) return infer::infer_quantisation(call);
  if (call.kind <= kTopK) return infer::infer_index(call);
  if (call.kind <= kTranspose) return infer::infer_data(call);
  return infer_compound(call);
}

}  // namespace

Result<std::vector<TensorType>> infer_types(OpKind kind, const Attributes& attributes,
                                            std::span<const TensorType* const> inputs) {
  if (static_cast<size_t>(kind) >= all_op_kinds().size()) {
    return Error(ErrorCode::kRefused, "unknown op")
        .expecting("a kind below " + std::to_string(all_op_kinds().size()),
                   std::to_string(static_cast<size_t>(kind)));
  }
  const Call call{kind, attributes, inputs};
  const OpSchema& schema = op_schema(kind);
  MODELD_TRY(check_inputs(call, schema));
  MODELD_TRY(check_attributes(call, schema));
  MODELD_ASSIGN(infer::Types types, dispatch(call));
  for (size_t i = 0; i < types.size(); ++i) {
    MODELD_TRY(check_type(call, "output " + std::to_string(i), types[i]));
  }
  return types;
}

}  // namespace modeld
