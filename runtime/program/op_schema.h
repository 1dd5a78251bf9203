// How many inputs and outputs an op has and which attributes it may carry (OPS.md as a table).
#pragma once

#include <span>
#include <string_view>

#include "runtime/program/op.h"

namespace modeld {

enum class AttributeKind : uint8_t { kInt, kFloat, kString, kInts, kFloats };

struct AttributeRule {
  std::string_view name;
  AttributeKind kind;
  bool required;
};

struct OpSchema {
  OpKind kind;
  size_t min_inputs;
  size_t max_inputs;
  size_t min_outputs;
  size_t max_outputs;
  std::span<const AttributeRule> attributes;
};

// Never fails: every kind has a row.
const OpSchema& op_schema(OpKind kind);

}  // namespace modeld
