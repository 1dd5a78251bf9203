#include "tools/modelctl/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace modeld::modelctl {

Progress::Progress()
    : terminal_(::isatty(STDERR_FILENO) == 1), last_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_ > 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(shown_), "");
}

void Progress::show(std::string_view what, double fraction) {
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < pause) return;
  last_ = now;
  constexpr size_t kWidest = 70;
  const std::string line = std::string(what.substr(0, kWidest)) + " " +
                           std::to_string(static_cast<int>(fraction * 100)) + " %";
  if (!terminal_) {
    std::fprintf(stderr, "modelctl: %s\n", line.c_str());
    return;
  }
  std::fprintf(stderr, "\r%-*s", static_cast<int>(std::max(shown_, line.size())), line.c_str());
  std::fflush(stderr);
  shown_ = line.size();
}

}  // namespace modeld::modelctl
