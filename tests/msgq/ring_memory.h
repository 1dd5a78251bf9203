// A ring in plain memory, shared by the threads of a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ipc/msgq/ring_view.h"

namespace modeld::ipc::test {

class RingMemory {
 public:
  explicit RingMemory(uint64_t data_bytes) : words_((kRingHeaderBytes + data_bytes) / 8) {}

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)); }
  std::span<const uint64_t> words() const { return words_; }
  RingView view() {
    auto made = RingView::over(bytes());
    EXPECT_TRUE(made.ok());
    return *made;
  }

 private:
  std::vector<uint64_t> words_;
};

// A message that can tell whether it is whole: its number, then words that follow from it.
inline std::vector<std::byte> numbered_message(uint64_t number, size_t bytes) {
  std::vector<uint64_t> words((std::max<size_t>(bytes, 16) + 7) / 8);
  words[0] = number;
  for (size_t i = 1; i < words.size(); ++i) words[i] = number * 0x9e3779b97f4a7c15 + i;
  std::vector<std::byte> message(words.size() * 8);
  std::memcpy(message.data(), words.data(), message.size());
  return message;
}

// The number of a whole one; fails the test for a torn one.
inline uint64_t check_numbered(std::span<const std::byte> message) {
  std::vector<uint64_t> words(message.size() / 8);
  std::memcpy(words.data(), message.data(), words.size() * 8);
  if (words.size() < 2 || message.size() % 8 != 0) {
    ADD_FAILURE() << "message of " << message.size() << " bytes";
    return 0;
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] != words[0] * 0x9e3779b97f4a7c15 + i) {
      ADD_FAILURE() << "torn message " << words[0] << " at word " << i << " of " << words.size();
      return words[0];
    }
  }
  return words[0];
}

}  // namespace modeld::ipc::test
