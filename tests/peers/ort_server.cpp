#include "tests/peers/ort_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/must.h"

namespace modeld::test {
namespace {

constexpr int kAnswerMs = 120'000;

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe to ONNX Runtime");
  return {ends[0], ends[1]};
}

}  // namespace

OrtServer::OrtServer(const OrtPeer& peer, const std::filesystem::path& model,
                     const NamedArrays& inputs, int threads) {
  std::vector<std::string> words = peer.command();
  words.insert(words.end(), {"--serve", model.string(), "--threads", std::to_string(threads)});
  size_t index = 0;
  for (const auto& [name, array] : inputs) {
    const auto file = inputs_ / (std::to_string(index++) + ".npy");
    must(write_npy(file, array));
    words.push_back(name + "=" + file.string());
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Pipe to = open_pipe();
  const Pipe from = open_pipe();
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(to.read, STDIN_FILENO);
    ::dup2(from.write, STDOUT_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(to.read);
  ::close(from.write);
  to_ = ::fdopen(to.write, "w");
  from_ = ::fdopen(from.read, "r");
  answer();
}

// End of input ends the process.
OrtServer::~OrtServer() {
  ::fclose(to_);
  ::fclose(from_);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

std::vector<double> OrtServer::run(int count) {
  std::fprintf(to_, "%d\n", count);
  std::fflush(to_);
  return answer();
}

std::vector<double> OrtServer::answer() {
  pollfd ready{::fileno(from_), POLLIN, 0};
  if (::poll(&ready, 1, kAnswerMs) <= 0) throw std::runtime_error("ONNX Runtime does not answer");
  std::string line;
  for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_)) {
    line += static_cast<char>(c);
  }
  const auto report = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) throw std::runtime_error("ONNX Runtime: " + line);
  return report["ms"].get<std::vector<double>>();
}

}  // namespace modeld::test
