// What commands print on stdout.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/base/result.h"

namespace modeld::modelctl {

struct LatencySummary;

// Keeps the order in which members are added: reports read top down.
using Json = nlohmann::ordered_json;

// One document, indented. Text that is not UTF-8 is shown with replacement characters.
void print_json(const Json& document);

// Call first: a stream that the caller closed leads nowhere, instead of into the first file opened.
void occupy_standard_streams();
// Call last: whether everything printed on stdout has arrived (a full disk is kIo).
Status finish_report();

// "12.3 MB", "456 bytes": decimal units, for people.
std::string format_bytes(uint64_t bytes);
// Up to six significant digits.
std::string format_number(double value);

// Every member by its name, in milliseconds.
Json latency_json(const LatencySummary& latency);

}  // namespace modeld::modelctl
