// --transport, --ipc-dir and --names, the same for every command that joins the message bus.
#pragma once

#include <memory>
#include <string>

#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"

namespace modeld::modelctl {

class Subcommand;

struct TransportChoice {
  std::string kind = "zmq-ipc";
  std::string ipc_dir;  // empty: the daemons' default
  std::string names = "new";
};

void add_transport_options(Subcommand& command, TransportChoice& choice);

Result<std::unique_ptr<ipc::Transport>> open_transport(const TransportChoice& choice,
                                                       const Clock& clock);
ipc::NameSet name_set(const TransportChoice& choice);

}  // namespace modeld::modelctl
