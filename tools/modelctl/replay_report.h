// What a replay and a comparison look like on stdout.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/modelctl/report.h"
#include "tools/replay/log_compare.h"
#include "tools/replay/replayer.h"

namespace modeld::modelctl {

// {"frames","published","invalid","dropped":{reason:n},"mismatches":[..],"latency_ms":{..}} of all
// roles together, and what is known beside that. `comparison` may be null.
Json replay_json(const replay::ReplayReport& report, const replay::Comparison* comparison);
void print_replay(const replay::ReplayReport& report);

Json mismatches_json(const replay::Comparison& comparison);
// The fields that differ, and how many do not.
void print_comparison(const replay::Comparison& comparison);
// One line for an error or a test report; empty if nothing differs.
std::string describe_mismatches(const replay::Comparison& comparison);

}  // namespace modeld::modelctl
