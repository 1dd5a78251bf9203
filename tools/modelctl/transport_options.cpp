#include "tools/modelctl/transport_options.h"

#include <utility>

#include "ipc/frames/vision_protocol.h"
#include "ipc/transport/open_transport.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {

void add_transport_options(Subcommand& command, TransportChoice& choice) {
  command
      .add_option("--transport", choice.kind,
                  "zmq-ipc, zmq-tcp or msgq, as the daemons' configuration")
      .one_of({"zmq-ipc", "zmq-tcp", "msgq"})
      .with_default();
  command.add_option("--ipc-dir", choice.ipc_dir,
                     "Folder of the message sockets (default: the daemons')");
  command.add_option("--names", choice.names, "Generation of topic names")
      .one_of({"new", "old"})
      .with_default();
}

Result<std::unique_ptr<ipc::Transport>> open_transport(const TransportChoice& choice,
                                                       const Clock& clock) {
  ipc::TransportOptions options;
  if (choice.kind == "zmq-tcp") options.kind = ipc::TransportKind::kZmqTcp;
  if (choice.kind == "msgq") options.kind = ipc::TransportKind::kMsgq;
  options.ipc_dir = choice.ipc_dir;
  options.prefix = ipc::openpilot_prefix();
  return ipc::open_transport(clock, std::move(options));
}

ipc::NameSet name_set(const TransportChoice& choice) {
  return choice.names == "old" ? ipc::NameSet::kOld : ipc::NameSet::kNew;
}

}  // namespace modeld::modelctl
