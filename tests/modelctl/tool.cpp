#include "tests/modelctl/tool.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "runtime/artifact/artifact_writer.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {
namespace {

constexpr unsigned kAlarmSeconds = 60;

std::string read_all(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

[[noreturn]] void become_tool(const std::vector<std::string>& arguments,
                              const std::filesystem::path& folder, const std::filesystem::path& out,
                              const std::filesystem::path& err) {
  std::vector<char*> argv = {const_cast<char*>(MODELCTL_PATH)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::dup2(out_fd, STDOUT_FILENO) < 0 || ::dup2(err_fd, STDERR_FILENO) < 0 ||
      ::chdir(folder.c_str()) != 0) {
    ::_exit(126);
  }
  ::alarm(kAlarmSeconds);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

nlohmann::json ToolResult::json() const {
  auto document = nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(document.is_discarded()) << "not JSON: " << out << "\n" << err;
  return document.is_discarded() ? nlohmann::json() : document;
}

ToolResult run_tool(const std::vector<std::string>& arguments,
                    const std::filesystem::path& folder) {
  const TempDir streams;
  const pid_t child = ::fork();
  if (child == 0) become_tool(arguments, folder, streams / "out", streams / "err");
  int status = 0;
  ToolResult result;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_all(streams / "out");
  result.err = read_all(streams / "err");
  return result;
}

void ToolTest::write_tiny(const std::string& name) const {
  const Status written = write_artifact(folder_ / name, tiny_model());
  if (!written.ok()) throw std::runtime_error(to_string(written.error()));
}

}  // namespace modeld::test
