// Compares a message with the recorded fields of one, whatever they are.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "tests/support/npz.h"

namespace modeld::test {

// True if `have` is close enough to `want` for the field of that name.
using Close = std::function<bool(const std::string& field, double have, double want)>;

// Every array "out.<message>.<field>" of `npz`, row `row`, against the framed Event `bytes`.
// Returns how many fields were compared; differences are test failures.
size_t expect_message(const Npz& npz, const std::string& message, size_t row,
                      std::span<const std::byte> bytes, const Close& close);

}  // namespace modeld::test
