// Which files a configured daemon reaches, and the audit that fits them.
#pragma once

#include "config/daemon_config.h"
#include "daemon/privileges/file_rule.h"
#include "daemon/privileges/self_audit.h"
#include "daemon/privileges/system_call_filter.h"

namespace modeld {

// Where a software OpenCL device (PoCL) keeps the code it generates: $POCL_CACHE_DIR, else a folder
// of the state folder; empty where the configuration has no such device or there is no place. Its
// executor makes the folder before it confines itself.
std::filesystem::path software_device_folder(const DaemonConfig& config);

// Everything the daemon may touch from before the artifact is opened until it ends. `topic_dir` is
// the folder of its ipc sockets (empty: none). Topic files of a shared-memory transport are named
// one by one in `topic_files`; the folder they lie in is never given.
FileRules file_rules(const DaemonConfig& config, const std::filesystem::path& topic_dir,
                     const std::vector<std::filesystem::path>& topic_files = {});

SystemCallPolicy system_call_policy(const DaemonConfig& config);

// What must be refused to a process with these rules: of the folders always tried, those the rules
// do not give it.
AuditScope audit_scope(const DaemonConfig& config, const FileRules& rules);

}  // namespace modeld
