// Whether this process leaves descriptors open.
#pragma once

#include <chrono>
#include <thread>

#include "tests/support/process_use.h"

namespace modeld::ipc::test {

inline size_t open_descriptors() {
  return modeld::test::process_use(getpid()).descriptors;
}

// Whether no more than `expected` are open, within two seconds: a server in this process may close
// its end of a connection a moment after the client.
inline bool descriptors_settle(size_t expected) {
  for (int i = 0; i < 2000; ++i) {
    if (open_descriptors() <= expected) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace modeld::ipc::test
