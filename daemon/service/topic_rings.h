// The shared-memory rings of a daemon, made while it may still make files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/daemon_config.h"
#include "ipc/transport/topics.h"
#include "runtime/base/result.h"

namespace modeld {

// Every topic the daemon will publish or listen to, camera notifications included.
std::vector<std::string> daemon_topics(const DaemonConfig& config);

// Their rings (transport.kind "msgq"), made where there are none; empty for other transports. The
// files are what the sandbox lets the daemon touch, one by one: a ring that is replaced afterwards
// is out of its reach.
Result<std::vector<std::filesystem::path>> make_topic_rings(const DaemonConfig& config,
                                                            const std::string& prefix);

}  // namespace modeld
