// What a Pointwise op computes, and how its attributes say so (OPS.md, "Pointwise").
#pragma once

#include <span>

#include "runtime/program/expand.h"

namespace modeld {

// Ops of one result per element that a body may hold.
bool may_be_in_body(OpKind kind);

// Attributes that decode_body() reads back as the same ops and results. Every op must be one that
// can_be_encoded() accepts.
Attributes encode_body(std::span<const InnerOp> ops, std::span<const uint32_t> results);
bool can_be_encoded(OpKind kind, const Attributes& attributes);

// Ops and results (`types` stays empty), checked for everything but types. `inputs`: how many the
// Pointwise op has.
Result<Expansion> decode_body(const Attributes& attributes, size_t inputs);

}  // namespace modeld
