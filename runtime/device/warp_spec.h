// What a Warp op asks of the sampler: the one reading of its attributes that all backends share.
#pragma once

#include "runtime/program/attributes.h"
#include "warp/sampler.h"

namespace modeld {

// Of an op that infer_types() has accepted, for frames laid out so. Refused by check_warp() if the
// two do not go together.
WarpSpec warp_spec_of(const Attributes& attributes, const Nv12Layout& layout);

}  // namespace modeld
