#include "tools/modelctl/transport_options.h"

#include <utility>

#include "ipc/transport/zmq_transport.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {

void add_transport_options(Subcommand& command, TransportChoice& choice) {
  command
      .add_option("--transport", choice.kind, "zmq-ipc or zmq-tcp, as the daemons' configuration")
      .one_of({"zmq-ipc", "zmq-tcp"})
      .with_default();
  command.add_option("--ipc-dir", choice.ipc_dir,
                     "Folder of the message sockets (default: the daemons')");
  command.add_option("--names", choice.names, "Generation of topic names")
      .one_of({"new", "old"})
      .with_default();
}

Result<std::unique_ptr<ipc::Transport>> open_transport(const TransportChoice& choice,
                                                       const Clock& clock) {
  ipc::ZmqOptions options;
  options.kind =
      choice.kind == "zmq-tcp" ? ipc::ZmqOptions::Kind::kTcp : ipc::ZmqOptions::Kind::kIpc;
  options.ipc_dir =
      choice.ipc_dir.empty() ? ipc::default_ipc_dir() : std::filesystem::path(choice.ipc_dir);
  MODELD_ASSIGN(auto transport, ipc::ZmqTransport::create(clock, std::move(options)));
  return std::unique_ptr<ipc::Transport>(std::move(transport));
}

ipc::NameSet name_set(const TransportChoice& choice) {
  return choice.names == "old" ? ipc::NameSet::kOld : ipc::NameSet::kNew;
}

}  // namespace modeld::modelctl
