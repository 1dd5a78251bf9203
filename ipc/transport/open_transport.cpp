#include "ipc/transport/open_transport.h"

#include <utility>

#include "ipc/msgq/msgq_transport.h"
#include "ipc/transport/zmq_transport.h"

namespace modeld::ipc {

Result<std::unique_ptr<Transport>> open_transport(const Clock& clock, TransportOptions options) {
  if (options.kind == TransportKind::kMsgq) {
    MsgqOptions msgq;
    msgq.prefix = std::move(options.prefix);
    msgq.role = options.role;
    MODELD_ASSIGN(auto transport, MsgqTransport::create(clock, std::move(msgq)));
    return std::unique_ptr<Transport>(std::move(transport));
  }
  ZmqOptions zmq;
  zmq.kind =
      options.kind == TransportKind::kZmqTcp ? ZmqOptions::Kind::kTcp : ZmqOptions::Kind::kIpc;
  zmq.ipc_dir = options.ipc_dir.empty() ? default_ipc_dir() : std::move(options.ipc_dir);
  zmq.role = options.role;
  MODELD_ASSIGN(auto transport, ZmqTransport::create(clock, std::move(zmq)));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace modeld::ipc
