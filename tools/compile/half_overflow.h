// Whether numbers leave float16 on their way through a model.
#pragma once

#include "runtime/artifact/model.h"
#include "runtime/base/result.h"

namespace modeld::compile {

// Runs the program on the reference interpreter with the first reference input, and with images of
// zeros and of 255s alone, and looks at every intermediate. kRefused, naming op, tensor, element
// and the value in double, if an op makes an infinity or NaN in float16 of finite operands where
// double has a number.
Status check_half_overflow(const Model& model);

}  // namespace modeld::compile
