// What people and scripts do to a tool without meaning harm: outputs that cannot be written or must
// not be replaced, streams that are closed, signals, options that make no sense.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/base/clock.h"
#include "runtime/npy/npy.h"
#include "tests/modelctl/tool.h"
#include "tests/support/onnx_builder.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class HostileUseTest : public ToolTest {
 protected:
  ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }

  // Exit code of a shell's command in the test's folder, for redirections; 128 + signal as there.
  int shell(const std::string& command) const {
    const std::string line = "cd '" + folder_.path().string() + "' && " + command;
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string tool_ = MODELCTL_PATH;
};

TEST_F(HostileUseTest, AnOutputThatIsAPipeOrAFolderIsRefusedAndStays) {
  write_tiny("tiny.model");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink(path("pipe"), path("link"));
  for (const std::string target : {"pipe", "folder", "link"}) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"sample", "monitoring", "-o", target},
          {"compile", "missing.onnx", "-o", target}}) {
      const ToolResult result = tool(arguments);
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_THAT(result.err, HasSubstr(target + " cannot be written anew (expected a regular file "
                                                 "or nothing there, found "));
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(files(), 4);
}

TEST_F(HostileUseTest, APipeAsInputIsRefusedInsteadOfWaitedFor) {
  write_tiny("tiny.model");
  ASSERT_EQ(::mkfifo(path("p.onnx").c_str(), 0600), 0);
  const std::vector<std::vector<std::string>> commands = {
      {"compile", "p.onnx", "-o", "a.model"},
      {"config", "p.onnx"},
      {"run", "tiny.model", "--output-dir", "out", "--input", "calib=p.onnx"}};
  for (const auto& arguments : commands) {
    const ToolResult result = tool(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments[0] << ": " << result.err;
  }
}

TEST_F(HostileUseTest, AReportThatDoesNotArriveIsAnError) {
  write_tiny("tiny.model");
  EXPECT_EQ(shell("'" + tool_ + "' inspect tiny.model > /dev/full 2> err"), 2);
  std::string text;
  std::getline(std::ifstream(path("err")), text);
  EXPECT_THAT(text, HasSubstr("writing the report: No space left on device"));
}

TEST_F(HostileUseTest, ClosedStreamsDoNotEndUpInFiles) {
  EXPECT_EQ(shell("'" + tool_ + "' keygen k --json >&- 2>&- <&-"), 0);
  EXPECT_EQ(tool({"keygen", "other"}).exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(path("k.key")),
            std::filesystem::file_size(path("other.key")));
  EXPECT_EQ(std::filesystem::file_size(path("k.pub")),
            std::filesystem::file_size(path("other.pub")));
}

TEST_F(HostileUseTest, NotANumberIsInNoRange) {
  write_tiny("tiny.model");
  const std::vector<std::vector<std::string>> commands = {
      {"bench", "tiny.model", "--deadline-ms", "nan"},
      {"bench", "tiny.model", "--deadline-ms", "0"},
      {"camera", "--seconds", "nan"},
      {"dump", "modelV2", "--seconds", "nan"},
      {"record", ".", "--segment-seconds", "nan"},
      {"replay", ".", "--tolerance", "nan"},
      {"demo", "--seconds", "inf"}};
  for (const auto& arguments : commands) {
    const ToolResult result = tool(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr(" not in range ")) << arguments[0];
  }
}

TEST_F(HostileUseTest, NamesThatLeadNowhereOrElsewhereAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"keygen", ""}, "name of the keys"},
      {{"keygen", "./"}, "name of the keys"},
      {{"dump", "missing.zst"}, "found missing.zst, no such file"},
      {{"dump", "."}, "found ., not a regular file"},
      {{"record", "r", "--route", "../../evil"}, "expected a name without '/'"},
      {{"camera", "--size", "-2x4"}, "expected WIDTHxHEIGHT, found -2x4"},
      {{"camera", "--road", "tiny.model"}, "not a picture"},
      {{"sample", "driving", "-o", ""}, "name of the file to write"}};
  write_tiny("tiny.model");
  for (const auto& [arguments, reason] : commands) {
    const ToolResult result = tool(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr(reason));
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(HostileUseTest, AFrameForAnInputThatTakesNoneIsRefused) {
  write_tiny("tiny.model");
  const ToolResult result =
      tool({"run", "tiny.model", "--output-dir", "out", "--frame", "nothing=64x64"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--frame (expected an input that is a camera frame, found no "
                                    "input 'nothing')"));
}

// Before the networks are made, which takes a while.
TEST_F(HostileUseTest, ADemonstrationThatCannotRunSaysSoAtOnce) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"demo", "--backend", "abacus"}, "found \"abacus\""},
      {{"demo", "--backend", "opencl"}, "isolation"},
      {{"demo", "--threads", "9999"}, "9999"},
      {{"demo", "--pictures", "missing"}, "missing"}};
  for (const auto& [arguments, reason] : commands) {
    const ToolResult result = tool(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(reason));
    EXPECT_EQ(result.err.find("network"), std::string::npos) << result.err;
  }
}

// Names of a network's outputs come from strangers.
TEST_F(HostileUseTest, NoOutputLeavesTheFolderWhateverItIsCalled) {
  const std::vector<std::string> names = {"../../evil", "/evil", "..", ".", "a/b", "a_b", "x\ny"};
  OnnxBuilder builder;
  builder.input("in", DType::kFloat32, {1, 2});
  for (const std::string& name : names) {
    builder.node("Relu", {"in"}, {name});
    builder.output(name);
  }
  std::ofstream(path("m.onnx"), std::ios::binary) << builder.bytes();
  const NpyArray array{NpyType::kF4, {1, 2}, std::vector<std::byte>(8)};
  ASSERT_TRUE(write_npy(path("in.npy"), array).ok());
  const ToolResult result =
      tool({"run", "m.onnx", "--input", "in=in.npy", "--output-dir", "out", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto outputs = result.json()["outputs"];
  ASSERT_EQ(outputs.size(), names.size());
  std::set<std::string> written;
  for (const auto& output : outputs) {
    const std::filesystem::path file = output["file"].get<std::string>();
    EXPECT_EQ(file.parent_path(), "out") << file;
    EXPECT_TRUE(std::filesystem::is_regular_file(path(file.string()))) << file;
    EXPECT_TRUE(written.insert(file.string()).second) << file << " twice";
  }
  EXPECT_EQ(files(), 3);
}

// Whether the process has a handler for `signal` by now.
bool catches(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string key;
  std::string value;
  while (status >> key) {
    if (key != "SigCgt:") continue;
    status >> value;
    return (std::stoull(value, nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

TEST_F(HostileUseTest, CtrlCHasAnExitCodeOfItsOwn) {
  write_tiny("tiny.model");
  for (const std::string command : {"bench", "selftest"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int nowhere = ::open("/dev/null", O_WRONLY);
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
      ::alarm(60);
      const char* count = command == "bench" ? "--runs" : "--repeats";
      ::execl(tool_.c_str(), tool_.c_str(), command.c_str(), path("tiny.model").c_str(), count,
              "1000000", nullptr);
      ::_exit(127);
    }
    const Deadline deadline = Deadline::after(Clock::real(), 60 * kSecond);
    while (!catches(child, SIGINT) && !deadline.passed(Clock::real())) ::usleep(1000);
    ::kill(child, SIGINT);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << command << ": " << status;
  }
}

// A service manager ends a camera with SIGTERM; its socket must not stay behind.
TEST_F(HostileUseTest, SigtermEndsACameraInOrder) {
  const std::string socket = path("visionipc_camerad");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::alarm(60);
    ::execl(tool_.c_str(), tool_.c_str(), "camera", "--size", "64x64", "--socket-dir",
            folder_.path().c_str(), "--ipc-dir", folder_.path().c_str(), nullptr);
    ::_exit(127);
  }
  const Deadline deadline = Deadline::after(Clock::real(), 60 * kSecond);
  // Its health of being there: the socket.
  while (!std::filesystem::exists(socket) && !deadline.passed(Clock::real())) {
    ::usleep(1000);
  }
  ASSERT_TRUE(std::filesystem::exists(socket));
  ::kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE(std::filesystem::exists(socket));
}

}  // namespace
}  // namespace modeld::test
