// What the reference interpreter says of a model: reference vectors, which slices vary, tolerances.
#pragma once

#include "runtime/artifact/model.h"
#include "runtime/base/result.h"

namespace modeld::compile {

// Fills `model.contract.references` (two seeds; one step without states, else three) and, per
// output slice,
//   varies: more than one value inside the slice under both seeds (slices of one element are
//     exempt), and different values between the seeds;
//   tolerances, per device class of the contract: absolute = u * max(1, m), relative 0, with m the
//     largest magnitude the reference saw in the slice and u = 1e-4, or 1e-2 where the program
//     stores values as f16 or bf16; integers and truth values are exact.
// kRefused, naming the output, if the reference answers a value that is not finite.
Status add_references(Model& model);

}  // namespace modeld::compile
