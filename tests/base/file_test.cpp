#include "runtime/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

class FileTest : public ::testing::Test {
 protected:
  const test::TempDir made_;
  const std::filesystem::path folder_ = made_.path();
};

TEST_F(FileTest, WritesWithModeAndReadsBack) {
  const std::string text = "hello";
  const auto path = folder_ / "a.txt";
  ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(text)), 0600).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  auto back = read_text_file(path, 5);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, text);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, RefusesTooLargeNamingBothSizes) {
  const std::string text = "hello";
  const auto path = folder_ / "a.txt";
  ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(text))).ok());
  const auto refused = read_file(path, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().expected, "at most 4 bytes");
  EXPECT_EQ(refused.error().found, "5 bytes");
}

TEST_F(FileTest, MissingAndNotRegularAreErrors) {
  EXPECT_EQ(read_file(folder_ / "none", 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file(folder_, 1).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(FileTest, ReadingAPipeDoesNotWaitForAWriter) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file(pipe, 1).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace modeld
