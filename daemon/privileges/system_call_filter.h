// The system calls a daemon gives up, by libseccomp. Two stages: drivers and code generators need
// more while they load than they do once every kernel has run (design, section 11).
#pragma once

#include "runtime/base/result.h"

namespace modeld {

struct SystemCallPolicy {
  // TCP over loopback (transport zmq-tcp); otherwise only sockets of the unix family can be made.
  bool internet = false;
};

// Stage 1, before the artifact is opened. Sockets of no family but unix (and internet by policy):
// others answer EAFNOSUPPORT, AF_NETLINK answers EOPNOTSUPP (libzmq aborts on any other error).
// No tracing, mounting, kernel modules, namespaces, io_uring, clock setting, device nodes: EPERM.
// Filters hold for all threads of the process and all it starts, for ever. Sets no_new_privs.
Status filter_start_up_calls(const SystemCallPolicy& policy);

// Stage 2, before READY: no program is executed and no process is started any more; threads are.
Status filter_running_calls();

}  // namespace modeld
