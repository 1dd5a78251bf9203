#include "tests/daemon/privileges/confined.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace modeld::test {
namespace {

constexpr int kTimeoutMs = 20'000;

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

// Until the other end closes; false when that takes too long.
bool read_all(int fd, std::string& text) {
  pollfd waiting{fd, POLLIN, 0};
  char bytes[4096];
  while (poll(&waiting, 1, kTimeoutMs) > 0) {
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n <= 0) return true;
    text.append(bytes, static_cast<size_t>(n));
  }
  return false;
}

}  // namespace

std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no child";
  if (child == 0) {
    close(ends[0]);
    write_all(ends[1], body());
    _exit(0);
  }
  close(ends[1]);
  std::string answer;
  const bool ended = read_all(ends[0], answer);
  close(ends[0]);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!ended) return "timed out";
  if (WIFSIGNALED(status)) return "crashed: signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "exited: " + std::to_string(WEXITSTATUS(status));
  return answer;
}

}  // namespace modeld::test
