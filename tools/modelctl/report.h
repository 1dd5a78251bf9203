// What commands print on stdout.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace modeld::modelctl {

// Keeps the order in which members are added: reports read top down.
using Json = nlohmann::ordered_json;

// Adds `--json` to a reporting command.
void add_json_flag(CLI::App& command, bool& json);

// The example under a command's options.
void set_example(CLI::App& command, const std::string& example);

// One document, indented. Text that is not UTF-8 is shown with replacement characters.
void print_json(const Json& document);

// "12.3 MB", "456 bytes": decimal units, for people.
std::string format_bytes(uint64_t bytes);
// Up to six significant digits.
std::string format_number(double value);

}  // namespace modeld::modelctl
