#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/device/backends.h"
#include "runtime/device/host_buffer.h"

namespace modeld {
namespace {

TEST(Backends, OpensEachByName) {
  const std::vector<std::string> names = backend_names();
  ASSERT_FALSE(names.empty());
  EXPECT_NE(std::find(names.begin(), names.end(), "reference"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "cpu"), names.end());
  for (const std::string& name : names) {
    const auto device = open_backend(name);
    ASSERT_TRUE(device.ok()) << to_string(device.error());
    EXPECT_EQ((*device)->capabilities().backend, name);
  }
}

TEST(Backends, UnknownNameListsTheKnownOnes) {
  const auto device = open_backend("cuda");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(device.error().expected.find("reference"), std::string::npos);
  EXPECT_EQ(device.error().found, "cuda");
}

TEST(Capabilities, UnknownNeverReadsAsYes) {
  EXPECT_EQ(to_string(Probed::kUnknown), "unknown");
  EXPECT_EQ(to_string(Probed::kNo), "no");
  EXPECT_EQ(to_string(Probed::kYes), "yes");
  EXPECT_EQ(to_string(static_cast<Probed>(77)), "unknown");
  EXPECT_EQ(DeviceCapabilities{}.fp16, Probed::kUnknown);
}

// `this` is the owner of the buffers.
class HostBufferTest : public testing::Test {};

TEST_F(HostBufferTest, AllocatesAlignedZeroedMemory) {
  auto buffer = HostBuffer::allocate(this, 100, 4096, 1 << 20);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->size(), 100u);
  EXPECT_GE((*buffer)->alignment(), 4096u);
  EXPECT_FALSE((*buffer)->needs_flush());
  std::vector<std::byte> bytes(100, std::byte{1});
  ASSERT_TRUE((*buffer)->read(0, bytes).ok());
  EXPECT_EQ(bytes, std::vector<std::byte>(100));
}

TEST_F(HostBufferTest, RefusesWhatItCannotGive) {
  for (const uint64_t alignment : {uint64_t{0}, uint64_t{3}, ~uint64_t{0}}) {
    const auto odd = HostBuffer::allocate(this, 16, alignment, 1 << 20);
    ASSERT_FALSE(odd.ok());
    EXPECT_EQ(odd.error().code, ErrorCode::kInvalidArgument);
  }
  // Requested and available are named, also where rounding up would wrap.
  for (const uint64_t bytes : {uint64_t{1} << 21, ~uint64_t{0}}) {
    const auto large = HostBuffer::allocate(this, bytes, 64, 1 << 20);
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, ErrorCode::kExhausted);
    EXPECT_NE(large.error().expected.find("1048576"), std::string::npos);
    EXPECT_NE(large.error().found.find(std::to_string(bytes)), std::string::npos);
  }
  EXPECT_FALSE(HostBuffer::allocate(this, 16, uint64_t{1} << 40, 1 << 20).ok());
  EXPECT_FALSE(HostBuffer::import(this, {}).ok());
}

TEST_F(HostBufferTest, AccessStaysInside) {
  std::vector<std::byte> pages(16);
  auto buffer = HostBuffer::import(this, pages);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->ownership(), BufferOwnership::kImported);
  std::vector<std::byte> bytes(8, std::byte{5});
  EXPECT_TRUE((*buffer)->write(8, bytes).ok());
  EXPECT_EQ(pages[15], std::byte{5});
  for (const uint64_t offset : {uint64_t{9}, ~uint64_t{0} - 3}) {
    EXPECT_EQ((*buffer)->write(offset, bytes).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ((*buffer)->read(offset, bytes).error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace modeld
