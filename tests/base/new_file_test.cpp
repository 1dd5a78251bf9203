#include "runtime/base/new_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "runtime/base/file.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

class NewFileTest : public ::testing::Test {
 protected:
  Status write(const std::filesystem::path& path, const std::string& text) const {
    return write_file_atomically(path, std::as_bytes(std::span(text)));
  }
  std::string read(const std::filesystem::path& path) const {
    return read_text_file(path, 100).value();
  }
  ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  const test::TempDir made_;
  const std::filesystem::path folder_ = made_.path();
};

TEST_F(NewFileTest, WhatIsNotKeptIsGone) {
  {
    const auto file = NewFile::create(folder_ / "a");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(files(), 1);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(NewFileTest, DevicesFoldersAndPipesAreNotReplaced) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "folder");
  std::filesystem::create_symlink("/dev/null", folder_ / "link");
  const std::pair<std::filesystem::path, std::string> targets[] = {
      {pipe, "a pipe"}, {folder_ / "folder", "a folder"}, {folder_ / "link", "a device"}};
  for (const auto& [path, kind] : targets) {
    EXPECT_EQ(check_new_file(path).error().found, kind) << path;
    if (kind == "a device") continue;  // were it not refused, the machine would lose it
    const Status written = write(path, "x");
    ASSERT_FALSE(written.ok()) << path;
    EXPECT_EQ(written.error().code, ErrorCode::kInvalidArgument) << path;
    EXPECT_EQ(written.error().found, kind) << path;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(files(), 3);
}

TEST_F(NewFileTest, BehindALinkTheFileIsReplaced) {
  ASSERT_TRUE(write(folder_ / "file", "old").ok());
  std::filesystem::create_symlink("file", folder_ / "link");
  ASSERT_TRUE(write(folder_ / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(folder_ / "file"), "new");
}

TEST_F(NewFileTest, PlacesWhereNothingCanBeMadeAreErrors) {
  for (const auto& path : {folder_ / "no" / "a", std::filesystem::path()}) {
    EXPECT_FALSE(check_new_file(path).ok()) << path;
    EXPECT_FALSE(NewFile::create(path).ok()) << path;
  }
  EXPECT_TRUE(check_new_file(folder_ / "a").ok());
  EXPECT_EQ(files(), 0);
}

// What a process leaves behind that ends in a signal handler.
TEST_F(NewFileTest, ASignalHandlerCanTakeAwayWhatIsUnfinished) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_unfinished_files();
      ::_exit(7);
    });
    auto kept = NewFile::create(folder_ / "kept");
    const auto lost = NewFile::create(folder_ / "lost");
    auto moved = NewFile::create(folder_ / "moved");
    const NewFile now_here = std::move(moved).value();
    if (!kept.ok() || !lost.ok() || !kept->keep(0644).ok()) ::_exit(1);
    ::raise(SIGTERM);
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "kept"));
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, PlacesInTheListAreUsedAgain) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(write(folder_ / "a", std::to_string(i)).ok());
  ASSERT_EXIT(
      {
        const auto file = NewFile::create(folder_ / "b");
        remove_unfinished_files();
        ::_exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace modeld
