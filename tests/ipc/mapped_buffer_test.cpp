// A camera's buffer as memory: shared memory, and a dma-buf whose exporter is told of every read.
// (Real dma-bufs: tests/vm.)
#include "ipc/frames/mapped_buffer.h"

#include <gtest/gtest.h>
#include <linux/dma-buf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "ipc/frames/read_bracket.h"

namespace modeld::ipc {
namespace {

constexpr uint64_t kBegin = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ;
constexpr uint64_t kEnd = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
const BufferRecord kRecord{768, 776, {32, 16, 32, 512, 768}, 99, 0, 2};

// What the exporter was told, and what it answers.
std::vector<uint64_t> told;
int answer = 0;
int note(int, uint64_t flags) {
  told.push_back(flags);
  return answer;
}

UniqueFd memory(uint64_t bytes) {
  UniqueFd fd(memfd_create("mapped_buffer_test", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

std::shared_ptr<const FrameBuffer> map(SyncCall sync) {
  told.clear();
  UniqueFd fd = memory(4096);
  const uint64_t id = 42;
  EXPECT_EQ(pwrite(fd.get(), &id, sizeof id, 768), static_cast<ssize_t>(sizeof id));
  auto buffer = MappedBuffer::map(kRecord, std::move(fd), sync);
  EXPECT_TRUE(buffer.ok());
  return *buffer;
}

TEST(MappedBuffer, SharedMemoryNeedsNoSync) {
  const auto buffer = map(sync_dma_buf);
  EXPECT_FALSE(dynamic_cast<const MappedBuffer&>(*buffer).is_dma_buf());
  EXPECT_TRUE(buffer->begin_read().ok());
  EXPECT_EQ(buffer->trailing_frame_id(), 42u);
}

TEST(MappedBuffer, ExporterIsToldOfEveryRead) {
  answer = 0;
  const auto buffer = map(note);
  EXPECT_TRUE(dynamic_cast<const MappedBuffer&>(*buffer).is_dma_buf());
  told.clear();
  {
    ReadBracket reads;
    ASSERT_TRUE(reads.begin(*buffer).ok());
    EXPECT_EQ(told, std::vector<uint64_t>({kBegin}));
  }
  EXPECT_EQ(told, std::vector<uint64_t>({kBegin, kEnd}));
  told.clear();
  // The id is looked at again after the pixels: a look of its own.
  EXPECT_EQ(buffer->trailing_frame_id(), 42u);
  EXPECT_EQ(told, std::vector<uint64_t>({kBegin, kEnd}));
}

TEST(MappedBuffer, WhatCannotBeSyncedCannotBeRead) {
  answer = 0;
  const auto buffer = map(note);
  answer = EIO;
  ReadBracket reads;
  const Status begun = reads.begin(*buffer);
  ASSERT_FALSE(begun.ok());
  EXPECT_NE(to_string(begun.error()).find("DMA_BUF_IOCTL_SYNC"), std::string::npos);
  EXPECT_EQ(buffer->trailing_frame_id(), ~uint64_t{0});
  told.clear();
  reads.end();
  EXPECT_TRUE(told.empty());  // nothing was begun
  answer = 0;
}

TEST(MappedBuffer, FileShorterThanItsMappingIsRefused) {
  const auto refused = MappedBuffer::map(kRecord, memory(775));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(to_string(refused.error()).find("776 bytes"), std::string::npos);
}

}  // namespace
}  // namespace modeld::ipc
