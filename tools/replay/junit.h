// Results of a suite as build servers read them.
#pragma once

#include <string>

#include "tools/replay/suite_results.h"

namespace modeld::replay {

// JUnit XML: one suite, one test case per route; time in s.
std::string junit_xml(const SuiteResults& results);

}  // namespace modeld::replay
