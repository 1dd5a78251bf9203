// Messages of the bus for people and for other programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/base/result.h"

namespace modeld::modelctl {

enum class MessageFormat { kText, kJson };

// One framed message, decoded: an Event, or a Health where `health` says so. JSON is one line;
// 64-bit integers are strings and numbers that are not finite are "NaN" and "Infinity" there.
// kCorrupt for bytes that do not decode.
Result<std::string> decode_message(std::span<const std::byte> message, bool health,
                                   MessageFormat format);

// The essentials of a framed modelV2 in a few lines.
Result<std::string> summarise_model(std::span<const std::byte> message);

}  // namespace modeld::modelctl
