// File rules enforced by the kernel's Landlock. Source: the kernel's userspace-api/landlock
// documentation; access bits by ABI version.
#pragma once

#include "daemon/privileges/file_rule.h"
#include "runtime/base/result.h"

namespace modeld {

// The version of Landlock the running kernel offers; 0: none, or switched off.
int landlock_abi();

// From here on the calling thread, and every thread and process it starts, can reach files only as
// `rules` say; open descriptors stay usable. For ever. `forbid_tcp`: no TCP bind or connect either
// (ABI 4). Sets no_new_privs. Meant for a process of one thread: others are not confined.
// kUnsupported: the kernel has no Landlock. kNotFound: nothing at the path of a required rule.
Status restrict_files(const FileRules& rules, bool forbid_tcp);

}  // namespace modeld
