#include "ipc/msgq/ring_view.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace modeld::ipc {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

// The writer marks a reader lost before it stores over its message, and a reader looks at that mark
// after it has loaded the message. Release and acquire on every word keep both orders without
// fences, which thread sanitizers do not understand; on x86 they cost nothing.
uint64_t load(uint64_t* at) {
  return std::atomic_ref<uint64_t>(*at).load(std::memory_order_acquire);
}

void store(uint64_t* at, uint64_t value) {
  std::atomic_ref<uint64_t>(*at).store(value, std::memory_order_release);
}

}  // namespace

Result<RingView> RingView::over(std::span<std::byte> memory) {
  const bool aligned = reinterpret_cast<uintptr_t>(memory.data()) % kWord == 0;
  if (!aligned || memory.size() < kRingHeaderBytes + 2 * kWord || memory.size() % kWord != 0 ||
      memory.size() > std::numeric_limits<uint32_t>::max()) {
    return Error(ErrorCode::kInvalidArgument, "memory that cannot be a ring")
        .expecting("384 bytes of header and whole words of data, less than 4 GiB",
                   std::to_string(memory.size()) + " bytes");
  }
  return RingView(reinterpret_cast<uint64_t*>(memory.data()), memory.size() - kRingHeaderBytes);
}

size_t RingView::readers() const {
  return std::min<uint64_t>(num_readers().load(), kRingReaders);
}

int64_t RingView::load_size(uint32_t offset) const {
  return static_cast<int64_t>(load(data(offset)));
}

void RingView::store_size(uint32_t offset, int64_t size) const {
  store(data(offset), static_cast<uint64_t>(size));
}

void RingView::load_payload(uint32_t offset, size_t size, uint64_t* words) const {
  uint64_t* from = data(offset) + 1;
  const size_t count = (size + kWord - 1) / kWord;
  for (size_t i = 0; i < count; ++i) words[i] = load(from + i);
}

void RingView::store_payload(uint32_t offset, std::span<const std::byte> payload) const {
  uint64_t* to = data(offset) + 1;
  const size_t whole = payload.size() / kWord;
  for (size_t i = 0; i < whole; ++i) {
    uint64_t value;
    std::memcpy(&value, payload.data() + i * kWord, kWord);
    store(to + i, value);
  }
  const auto rest = payload.subspan(whole * kWord);
  if (rest.empty()) return;
  // Bytes behind the message keep what they held; nobody but the one writer stores here.
  uint64_t value = load(to + whole);
  std::memcpy(&value, rest.data(), rest.size());
  store(to + whole, value);
}

}  // namespace modeld::ipc
