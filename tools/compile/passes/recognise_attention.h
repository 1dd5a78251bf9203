// Attention spelled out, softmax(Q K scale + bias) V, becomes one op together with the Transposes
// that bring its operands and its result into shape and with scalings by one number anywhere in
// front of the softmax (Vaswani et al. 2017).
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> recognise_attention(Draft& draft);

}  // namespace modeld::compile
