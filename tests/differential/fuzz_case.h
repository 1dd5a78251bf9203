// One random case: a program with the values it is fed, and how near two runs of it must come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/program_builder.h"

namespace modeld::test {

// `kind` absent: a small graph. The case depends on these two alone, so that a case keeps its
// meaning when generators of other ops come or change.
struct CaseId {
  std::optional<OpKind> kind;
  uint64_t seed = 0;
};

std::string to_string(const CaseId& id);                // "Conv/0x1f", "graph/0x1f"
std::optional<CaseId> parse_case_id(std::string_view);  // the same back

struct FuzzCase {
  CaseId id;
  ProgramBuilder program;
  std::vector<std::vector<std::byte>> inputs;  // in the program's order
  // Of a single op: all of its inputs in order (nothing for one left out), for error bounds.
  std::vector<std::optional<HostTensor>> operands;
  // Values or attributes with which other runtimes are free to differ (or crash): NaN and infinity
  // where ONNX is silent, division of integers by zero, indices out of range, overflowing casts.
  bool portable = true;

  std::string description() const;  // one line per op
};

}  // namespace modeld::test
