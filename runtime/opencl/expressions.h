// Ops that work element by element, as OpenCL C expressions.
#pragma once

#include <string>

#include "runtime/opencl/kernel_text.h"
#include "runtime/program/op.h"

namespace modeld::opencl {

// f(x) of a unary op other than Cast, in `compute`. `x` is the name of a variable; a vector of
// `width` if `compute` is float. `dtype` is the tensor's.
std::string unary_expression(OpKind kind, const Attributes& attributes, const std::string& x,
                             Compute compute, uint32_t width, DType dtype);

// The `activation` attribute of Conv, Gemm and the like; `x` itself without one.
std::string activation_expression(const Attributes& attributes, const std::string& x,
                                  Compute compute, uint32_t width);

// A binary op (Max and Min: two of their inputs). `flags` is the pointer to the fault counters,
// used by integer division, remainder and power only (needs_flags).
std::string binary_expression(OpKind kind, const Attributes& attributes, const std::string& a,
                              Compute a_compute, const std::string& b, Compute b_compute,
                              const std::string& flags);
bool needs_flags(OpKind kind, DType a);

// The op compares: its result is bool whatever the inputs.
bool is_comparison(OpKind kind);
// Ops with an expression here (Where and Cast aside, which the caller spells).
bool is_unary(OpKind kind);
bool is_binary(OpKind kind);
// True if the expression also holds for vectors of float.
bool has_vector_form(OpKind kind);

}  // namespace modeld::opencl
