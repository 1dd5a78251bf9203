// Names from files, fit to be printed.
#pragma once

#include <string>
#include <string_view>

namespace modeld::compile {

// `name` with everything but printable ASCII replaced by '?', cut after 120 characters: a hostile
// name must not reach a terminal or fill a log.
std::string printable(std::string_view name);

}  // namespace modeld::compile
