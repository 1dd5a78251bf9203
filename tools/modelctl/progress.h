// Progress of long work, on stderr.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace modeld::modelctl {

// On a terminal one line that is rewritten; elsewhere a line every 10 s, so that short work stays
// silent and logs stay short.
class Progress {
 public:
  Progress();
  ~Progress();  // leaves the terminal's line empty
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `fraction` 0..1.
  void show(std::string_view what, double fraction);

 private:
  bool terminal_;
  size_t shown_ = 0;  // characters on the terminal's line
  std::chrono::steady_clock::time_point last_;
};

}  // namespace modeld::modelctl
