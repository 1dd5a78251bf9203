// A directory of its own for one test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

namespace modeld::ipc::test {

class TempDir {
 public:
  TempDir() {
    std::string name = "/tmp/modeld-ipc-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "mkdtemp";
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Descriptors this process has open.
inline size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
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
