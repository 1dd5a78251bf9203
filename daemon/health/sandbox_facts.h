// What a process has given up, as health publishes it.
#pragma once

#include <string>
#include <vector>

#include "daemon/health/readiness.h"

namespace modeld {

// passed: it was tried and refused. failed: it worked. notApplicable: there is nothing of the kind
// on this machine, so nothing was tried. `text` says what the system answered.
struct AuditFinding {
  std::string name;
  Check result = Check::kUnknown;
  std::string text;
};

struct SandboxFacts {
  int landlock_abi = 0;                  // 0: files are not confined by this process
  Check files = Check::kUnknown;         // only the files it names
  Check system_calls = Check::kUnknown;  // both stages of the filter
  Check audit = Check::kUnknown;         // everything tried was refused
  std::vector<AuditFinding> findings;
  std::string text;  // what is missing and why; empty when nothing is

  bool complete() const {
    return files == Check::kPassed && system_calls == Check::kPassed && audit == Check::kPassed;
  }
};

}  // namespace modeld
