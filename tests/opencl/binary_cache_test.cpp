// Built kernels kept in files: taken where they verify, replaced where they do not, done without
// where they cannot be written.
#include "runtime/opencl/binary_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "runtime/opencl/opencl_device.h"
#include "tests/support/cl_layer.h"
#include "tests/support/must.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"

namespace modeld::opencl {
namespace {

using test::ClLayer;
using test::must;
using test::ProgramBuilder;
using Bytes = std::vector<unsigned char>;

DeviceInfo device(const std::string& driver) {
  DeviceInfo info;
  info.platform_name = "P";
  info.name = "D";
  info.driver_version = driver;
  return info;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  return files;
}

void damage(const std::filesystem::path& file, std::streamoff at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at);
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(at);
  stream.put(byte);
}

TEST(BinaryCache, GivesBackWhatWasStoredUnderTheSameKeyAlone) {
  const test::TempDir folder;
  BinaryCache cache(device("1"), folder / "kernels");
  ASSERT_TRUE(cache.enabled());
  EXPECT_EQ(cache.load("-a", "source"), Bytes());
  cache.store("-a", "source", {1, 2, 3});
  EXPECT_EQ(cache.load("-a", "source"), Bytes({1, 2, 3}));
  EXPECT_EQ(cache.load("-b", "source"), Bytes());
  EXPECT_EQ(cache.load("-a", "sourc"), Bytes());
  EXPECT_EQ(cache.load("-as", "ource"), Bytes());
  EXPECT_EQ(BinaryCache(device("2"), folder / "kernels").load("-a", "source"), Bytes());
  EXPECT_EQ(BinaryCache(device("1"), folder / "kernels").load("-a", "source"), Bytes({1, 2, 3}));
}

TEST(BinaryCache, TakesNoFileThatIsDamagedOrOpenToOthers) {
  const test::TempDir folder;
  BinaryCache cache(device("1"), folder / "kernels");
  const auto stored = [&] {
    cache.store("-a", "source", {1, 2, 3});
    return files_in(folder / "kernels").at(0);
  };
  // In the magic, the key, the hash, the binary; then one byte too few and one too many.
  for (const int at : {0, 8, 40, 72, 74}) {
    damage(stored(), at);
    EXPECT_EQ(cache.load("-a", "source"), Bytes()) << at;
  }
  for (const uintmax_t size : {0, 50, 72, 74, 76}) {
    std::filesystem::resize_file(stored(), size);
    EXPECT_EQ(cache.load("-a", "source"), Bytes()) << size;
  }
  ::chmod(stored().c_str(), 0660);
  EXPECT_EQ(cache.load("-a", "source"), Bytes());
  const auto path = stored();
  std::filesystem::rename(path, folder / "elsewhere");
  std::filesystem::create_symlink(folder / "elsewhere", path);
  EXPECT_EQ(cache.load("-a", "source"), Bytes());
  stored();
  EXPECT_EQ(cache.load("-a", "source"), Bytes({1, 2, 3}));
}

TEST(BinaryCache, KeepsTheNewestFiles) {
  const test::TempDir folder;
  BinaryCache cache(device("1"), folder / "kernels");
  for (int i = 0; i < 40; ++i) cache.store("-a", std::to_string(i), {1});
  EXPECT_EQ(files_in(folder / "kernels").size(), 32u);
  EXPECT_EQ(cache.load("-a", "39"), Bytes({1}));
}

TEST(BinaryCache, DoesWithoutAFolderItCannotWrite) {
  const test::TempDir folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_FALSE(BinaryCache(device("1"), folder / "file" / "kernels").enabled());
  BinaryCache cache(device("1"), folder / "kernels");
  std::filesystem::remove(folder / "kernels");
  cache.store("-a", "source", {1});
  EXPECT_FALSE(cache.enabled());
  cache.store("-a", "source", {1});
  EXPECT_EQ(cache.load("-a", "source"), Bytes());
}

// A product and what follows it: programs with and without flushed subnormals.
class KeptKernels : public testing::Test {
 protected:
  KeptKernels() { ClLayer::reset(); }

  // What a fresh device answers.
  std::vector<float> answer() {
    ProgramBuilder builder;
    const TensorId a = builder.input("a", {DType::kFloat32, {2, 3}});
    const TensorId b = builder.input("b", {DType::kFloat32, {3, 2}});
    const TensorId product = builder.op(OpKind::kMatMul, {a, b});
    builder.output(builder.op(OpKind::kAbs, {product}), "y");
    OpenOptions options;
    options.wish.software = true;
    options.calls = &ClLayer::calls();
    options.kernel_folder = folder_ / "kernels";
    const auto device = must(open_device(options));
    MemoryWeights weights = builder.weights();
    const auto capture = must(device->record(builder.program(), weights, {}));
    for (size_t i = 0; i < 2; ++i) {
      const auto staging = capture->staging(i);
      for (int k = 0; k < 6; ++k) {
        const float value = static_cast<float>(k) - 2;
        std::memcpy(staging.data() + k * 4, &value, 4);
      }
    }
    must(must(capture->replay())->wait(Deadline::after(Clock::real(), 60 * kSecond)));
    std::vector<float> values(4);
    std::memcpy(values.data(), capture->output(0).data(), 16);
    return values;
  }

  const test::TempDir folder_;
  // |[-2 -1 0; 1 2 3] x [-2 -1; 0 1; 2 3]|
  const std::vector<float> expected_ = {4, 1, 4, 10};
};

TEST_F(KeptKernels, SecondStartCompilesNothing) {
  EXPECT_EQ(answer(), expected_);
  EXPECT_GT(ClLayer::count("CreateProgramWithSource"), 0u);
  EXPECT_EQ(ClLayer::count("CreateProgramWithBinary"), 0u);
  ClLayer::reset();
  EXPECT_EQ(answer(), expected_);
  EXPECT_EQ(ClLayer::count("CreateProgramWithSource"), 0u);
  EXPECT_GT(ClLayer::count("CreateProgramWithBinary"), 0u);
}

TEST_F(KeptKernels, DamagedFilesAreBuiltAgainAndReplaced) {
  answer();
  for (const auto& file : files_in(folder_ / "kernels")) damage(file, 100);
  ClLayer::reset();
  EXPECT_EQ(answer(), expected_);
  EXPECT_GT(ClLayer::count("CreateProgramWithSource"), 0u);
  ClLayer::reset();
  answer();
  EXPECT_EQ(ClLayer::count("CreateProgramWithSource"), 0u);
}

TEST_F(KeptKernels, WhatTheDriverRefusesIsBuiltFromSource) {
  answer();
  ClLayer::reset();
  ClLayer::fail_function("CreateProgramWithBinary", 0, CL_INVALID_BINARY);
  EXPECT_EQ(answer(), expected_);
  EXPECT_GT(ClLayer::count("CreateProgramWithSource"), 0u);
  EXPECT_EQ(ClLayer::live_objects(), 0);
}

}  // namespace
}  // namespace modeld::opencl
