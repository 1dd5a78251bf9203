// Networks that were quantised by pairs of QuantizeLinear and DequantizeLinear: what lies between
// the pairs is done on the integers.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

// Conv, MatMul and Gemm of dequantised bytes with weights that were bytes become ConvInteger and
// MatMulInteger, whose sums are scaled once: (x - zx) sx * (w - zw) sw summed is the sum of
// (x - zx)(w - zw), exact, times sx sw.
Result<Changes> fold_quantised_products(Draft& draft);

// Data is moved as integers: a DequantizeLinear by one scale goes behind a move, and a Concat that
// is quantised at once concatenates parts that each are. A pair that gives back what it got goes.
Result<Changes> sink_dequantise(Draft& draft);

}  // namespace modeld::compile
