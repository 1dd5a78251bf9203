// A program as the ONNX file it could have come from.
#pragma once

#include <optional>

#include "tests/support/onnx_builder.h"
#include "tests/support/program_builder.h"

namespace modeld::test {

// Nothing where an op has no spelling as one ONNX operator of opset 20 (fused activations,
// residuals).
std::optional<OnnxBuilder> onnx_of_program(const ProgramBuilder& program);

}  // namespace modeld::test
