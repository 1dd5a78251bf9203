// The transport a process was told to use.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

enum class TransportKind : uint8_t { kZmqIpc, kZmqTcp, kMsgq };

struct TransportOptions {
  TransportKind kind = TransportKind::kZmqIpc;
  std::filesystem::path ipc_dir;  // kZmqIpc; empty: default_ipc_dir()
  std::string prefix;             // kMsgq; see openpilot_prefix()
  Role role = Role::kDesk;
};

Result<std::unique_ptr<Transport>> open_transport(const Clock& clock, TransportOptions options);

}  // namespace modeld::ipc
