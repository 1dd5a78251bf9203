// What the command line of test_differential asks for.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/differential/fuzz_case.h"

namespace modeld::test {

struct FuzzOptions {
  uint64_t seed = 1;
  uint64_t count = 1000;
  uint64_t opencl_count = 0;   // software devices take long to build kernels
  std::optional<OpKind> kind;  // cases of this op alone
  std::optional<CaseId> only;
};

FuzzOptions& fuzz_options();

}  // namespace modeld::test
