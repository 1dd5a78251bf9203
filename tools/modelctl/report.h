// What commands print on stdout.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace modeld::modelctl {

// Keeps the order in which members are added: reports read top down.
using Json = nlohmann::ordered_json;

// One document, indented. Text that is not UTF-8 is shown with replacement characters.
void print_json(const Json& document);

// "12.3 MB", "456 bytes": decimal units, for people.
std::string format_bytes(uint64_t bytes);
// Up to six significant digits.
std::string format_number(double value);

}  // namespace modeld::modelctl
