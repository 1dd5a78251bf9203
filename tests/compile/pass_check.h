// Checks of a pass: the program before and after it, and the same results on random inputs.
#pragma once

#include <initializer_list>
#include <string>

#include "tests/compile/import_helpers.h"
#include "tools/compile/passes/pass.h"

namespace modeld::compile {

using PassFunction = Result<Changes> (*)(Draft&);

// Imports `builder`, whose program must read `before` ("Conv Relu"), applies the passes in order
// and expects `after`. The reference interpreter must answer the same before and after on several
// random inputs, to `tolerance` relative to the larger of 1 and the value.
void expect_pass(const test::OnnxBuilder& builder, std::initializer_list<PassFunction> passes,
                 const std::string& before, const std::string& after, double tolerance = 1e-5);

// A case the pass must leave alone.
void expect_untouched(const test::OnnxBuilder& builder, PassFunction pass,
                      const std::string& program);

// Contents that repeat: N(0,1), and the same made positive.
HostTensor seeded(const Shape& shape, uint32_t stream);
HostTensor positive(const Shape& shape, uint32_t stream);

// A graph from "x" to "y".
test::OnnxBuilder graph(const Shape& shape);

}  // namespace modeld::compile
