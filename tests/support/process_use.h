// What a process takes, for tests that run long enough to see it grow.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace modeld::test {

struct ProcessUse {
  double rss_mb = 0;  // memory in use, 10^6 bytes
  size_t descriptors = 0;
};

// As far as it can be read: zeros for a process that is gone.
inline ProcessUse process_use(pid_t pid) {
  ProcessUse use;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream statm(folder + "/statm");
  long pages = 0;
  statm >> pages >> pages;
  use.rss_mb = static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
  std::error_code gone;
  for (std::filesystem::directory_iterator it(folder + "/fd", gone), end; !gone && it != end;
       it.increment(gone)) {
    ++use.descriptors;
  }
  return use;
}

// A number from the environment, for runs by hand that are longer than those of every day.
inline uint64_t environment_number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace modeld::test
