// QuantizeLinear and DequantizeLinear: scale and zero point broadcast to the data.
#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

bool is_quantised(DType type) {
  return type == DType::kInt8 || type == DType::kUInt8 || type == DType::kInt16 ||
         type == DType::kUInt16;
}

Result<DType> target(const Call& call) {
  const std::string name = call.attributes.get_string("to");
  const auto dtype = parse_dtype(name);
  const bool quantises = call.kind == OpKind::kQuantizeLinear;
  if (dtype && (quantises ? is_quantised(*dtype) : is_float(*dtype))) return *dtype;
  return wrong(call, "attribute to", quantises ? "i8, u8, i16 or u16" : "a float type",
               name.substr(0, 64));
}

}  // namespace

Result<Types> infer_quantisation(const Call& call) {
  const bool quantises = call.kind == OpKind::kQuantizeLinear;
  MODELD_ASSIGN(const DType to, target(call));
  const DType from = call.in(0).dtype;
  const DType quantised = quantises ? to : from;
  const bool known = quantises ? is_float(from) || from == DType::kInt32
                               : is_quantised(from) || from == DType::kInt32;
  if (!known) {
    return wrong(call, "input 0", quantises ? "a float type or i32" : "i8, u8, i16, u16 or i32",
                 to_string(call.in(0)));
  }
  MODELD_TRY(need_float(call, 1));
  if (call.has(2) && call.in(2).dtype != quantised) {
    return wrong(call, "input 2", "zero points of type " + std::string(to_string(quantised)),
                 to_string(call.in(2)));
  }
  for (size_t i = 1; i < 3; ++i) {
    if (!call.has(i) || broadcasts_to(call.shape(i), call.shape(0))) continue;
    return wrong(call, "input " + std::to_string(i),
                 "a shape that broadcasts to " + to_string(call.in(0)), to_string(call.in(i)));
  }
  return Types{{to, call.shape(0)}};
}

}  // namespace modeld::infer
