// Files outside the rules cannot be reached, those inside only as the rules say.
#include "daemon/privileges/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/base/unique_fd.h"
#include "tests/daemon/privileges/confined.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

using test::in_child;
using test::TempDir;

std::string opening(const std::filesystem::path& path, int flags) {
  const UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, 0600));
  return fd.valid() ? "ok" : std::strerror(errno);
}

const std::string kDenied = std::strerror(EACCES);

class LandlockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    for (const char* folder : {"mine", "theirs"}) {
      std::filesystem::create_directory(root_ / folder);
      std::ofstream(root_ / folder / "file") << "text";
    }
  }
  // What `body` answers once its process is confined to `rules`.
  std::string confined(const FileRules& rules, const std::function<std::string()>& body) {
    return in_child([&] {
      const Status status = restrict_files(rules, true);
      return status.ok() ? body() : to_string(status.error());
    });
  }
  TempDir root_temp_;
  const std::filesystem::path root_ = root_temp_.path();
};

TEST_F(LandlockTest, FilesOutsideTheRulesAreOutOfReach) {
  const auto answer = [&](const char* folder, int flags) {
    return confined({{root_ / "mine", FileAccess::kRead, true}},
                    [&] { return opening(root_ / folder / "file", flags); });
  };
  EXPECT_EQ(answer("mine", O_RDONLY), "ok");
  EXPECT_EQ(answer("theirs", O_RDONLY), kDenied);
  EXPECT_EQ(answer("mine", O_RDWR), kDenied) << "read is not write";
}

TEST_F(LandlockTest, OwnFoldersTakeFilesAndSockets) {
  const auto make_socket = [&](const std::filesystem::path& path) -> std::string {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const auto* raw = reinterpret_cast<const sockaddr*>(&address);
    return bind(fd.get(), raw, sizeof address) == 0 ? "ok" : std::strerror(errno);
  };
  const FileRules rules = {{root_ / "mine", FileAccess::kOwn, true}};
  EXPECT_EQ(confined(rules, [&] { return make_socket(root_ / "mine" / "socket"); }), "ok");
  EXPECT_EQ(confined(rules, [&] { return make_socket(root_ / "theirs" / "socket"); }), kDenied);
  EXPECT_EQ(confined(rules, [&] { return opening(root_ / "mine" / "new", O_CREAT | O_WRONLY); }),
            "ok");
  EXPECT_EQ(confined(rules,
                     [&]() -> std::string {
                       return unlink((root_ / "theirs" / "file").c_str()) == 0
                                  ? "ok"
                                  : std::strerror(errno);
                     }),
            kDenied);
}

TEST_F(LandlockTest, ExistingFilesByNameCanBeWrittenButNotTheirNeighbours) {
  const FileRules rules = {{root_ / "theirs" / "file", FileAccess::kReadWrite, true}};
  EXPECT_EQ(confined(rules, [&] { return opening(root_ / "theirs" / "file", O_RDWR); }), "ok");
  EXPECT_EQ(confined(rules, [&] { return opening(root_ / "theirs" / "new", O_CREAT | O_RDWR); }),
            kDenied);
}

TEST_F(LandlockTest, NothingIsExecutedUnlessARuleSaysSo) {
  const auto execute = [&](FileAccess access) {
    return confined({{"/", access, true}}, [&]() -> std::string {
      char* const none[] = {nullptr};
      char name[] = "sh";
      char flag[] = "-c";
      char command[] = "exit 7";
      char* const arguments[] = {name, flag, command, nullptr};
      execve("/bin/sh", arguments, none);
      return std::strerror(errno);
    });
  };
  EXPECT_EQ(execute(FileAccess::kRead), kDenied);
  EXPECT_EQ(execute(FileAccess::kExecute), "exited: 7");
}

TEST_F(LandlockTest, TcpIsForbiddenWhereTheKernelCan) {
  if (landlock_abi() < 4) GTEST_SKIP() << "Landlock of this kernel knows no network rules";
  EXPECT_EQ(confined({},
                     []() -> std::string {
                       const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
                       sockaddr_in address{};
                       address.sin_family = AF_INET;
                       address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                       const auto* raw = reinterpret_cast<const sockaddr*>(&address);
                       return bind(fd.get(), raw, sizeof address) == 0 ? "ok"
                                                                       : std::strerror(errno);
                     }),
            kDenied);
}

TEST_F(LandlockTest, MissingFilesMatterOnlyWhenRequired) {
  EXPECT_EQ(confined({{root_ / "absent", FileAccess::kRead, false}}, [] { return "ok"; }), "ok");
  const std::string refused =
      confined({{root_ / "absent", FileAccess::kRead, true}}, [] { return "ok"; });
  EXPECT_NE(refused.find("absent"), std::string::npos) << refused;
}

}  // namespace
}  // namespace modeld
