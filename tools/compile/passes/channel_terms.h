// Constant terms per output channel and how they go into the weights of a matrix op.
#pragma once

#include <optional>
#include <vector>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {

// y = x * factor + term, one of each per channel.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> term;
};

// One value per channel if `constant`, broadcast to `output`, differs along `axis` only.
std::optional<std::vector<double>> channel_values(const HostTensor& constant, const Shape& output,
                                                  size_t axis);

// The matrix op `op` followed by `affine`, as one op with other weights and bias (computed in
// double, rounded once). Nothing where weights or bias are not constant, or where rounding to
// their element type would overflow or cost a channel precision.
Result<std::optional<Op>> apply_affine(Draft& draft, const Op& op, const ChannelAffine& affine);

}  // namespace modeld::compile
