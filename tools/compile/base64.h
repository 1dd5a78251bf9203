// Base64 (RFC 4648 section 4) as openpilot writes it: with line breaks.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::compile {

// White space between characters is skipped; anything else outside the alphabet, or wrong padding,
// is kCorrupt.
Result<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace modeld::compile
