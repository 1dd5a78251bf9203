// A process tries what its sandbox must forbid and reports what happened. It asserts nothing about
// how the ban is made: the process's own filters, the unit's, or the system's all count.
#pragma once

#include <string>
#include <vector>

#include "daemon/health/sandbox_facts.h"
#include "runtime/base/result.h"

namespace modeld {

struct AuditScope {
  // What must be refused besides what is always tried.
  std::vector<std::string> foreign_files = {"/dev/shm/msgq_sendcan", "/dev/shm/msgq_can"};
  // Folders in which no file may be made.
  std::vector<std::string> foreign_folders = {"/", "/etc", "/tmp", "/var/tmp", "/dev/shm"};
  bool internet = false;  // loopback TCP is part of the configuration
};

// Leaves nothing behind: files are made without a name, the program executed does not exist,
// sockets are closed. Takes well under a millisecond.
std::vector<AuditFinding> audit_privileges(const AuditScope& scope = {});

// One error naming everything that worked although it must not.
Status audit_verdict(const std::vector<AuditFinding>& findings);

}  // namespace modeld
