#include "daemon/supervise/executor_protocol.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "runtime/base/checked.h"

namespace modeld::supervise {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLine = 64;

// The probed facts of DeviceCapabilities, in one order for both directions.
template <typename Capabilities>
auto probed_of(Capabilities& c) {
  return std::array{&c.software_device,
                    &c.unified_memory,
                    &c.host_pointer_import,
                    &c.dma_buf_import,
                    &c.peer_access,
                    &c.copy_queue,
                    &c.fp16,
                    &c.bf16,
                    &c.int8,
                    &c.timestamps};
}
template <typename Capabilities>
auto texts_of(Capabilities& c) {
  return std::array{&c.backend, &c.name, &c.driver, &c.driver_version};
}
template <typename Kind>
auto memory_of(Kind& k) {
  return std::array{&k.host_visible, &k.coherent, &k.cached, &k.snooped};
}

}  // namespace

void put_text(std::span<char> field, std::string_view text) {
  const size_t length = std::min(text.size(), field.size() - 1);
  std::memcpy(field.data(), text.data(), length);
  field[length] = '\0';
}

std::string get_text(std::span<const char> field) {
  return {field.data(), strnlen(field.data(), field.size())};
}

FlatCapabilities flatten(const DeviceCapabilities& capabilities) {
  FlatCapabilities flat;
  const auto texts = texts_of(capabilities);
  for (size_t i = 0; i < texts.size(); ++i) put_text(flat.texts[i], *texts[i]);
  const auto probed = probed_of(capabilities);
  for (size_t i = 0; i < probed.size(); ++i) flat.probed[i] = *probed[i];
  flat.device_class = capabilities.device_class;
  flat.address_bits = capabilities.address_bits;
  flat.max_allocation_bytes = capabilities.max_allocation_bytes;
  flat.base_alignment_bytes = capabilities.base_alignment_bytes;
  std::copy_n(capabilities.page_bytes.begin(),
              std::min(capabilities.page_bytes.size(), FlatCapabilities::kList),
              flat.page_bytes.begin());
  flat.memories =
      static_cast<uint32_t>(std::min(capabilities.memory.size(), FlatCapabilities::kList));
  for (size_t i = 0; i < flat.memories; ++i) {
    put_text(flat.memory[i].name, capabilities.memory[i].name);
    const auto kind = memory_of(capabilities.memory[i]);
    for (size_t k = 0; k < kind.size(); ++k) flat.memory[i].probed[k] = *kind[k];
  }
  return flat;
}

DeviceCapabilities unflatten(const FlatCapabilities& flat) {
  DeviceCapabilities capabilities;
  const auto texts = texts_of(capabilities);
  for (size_t i = 0; i < texts.size(); ++i) *texts[i] = get_text(flat.texts[i]);
  const auto probed = probed_of(capabilities);
  for (size_t i = 0; i < probed.size(); ++i) *probed[i] = flat.probed[i];
  capabilities.device_class = flat.device_class;
  capabilities.address_bits = flat.address_bits;
  capabilities.max_allocation_bytes = flat.max_allocation_bytes;
  capabilities.base_alignment_bytes = flat.base_alignment_bytes;
  for (const uint64_t page : flat.page_bytes) {
    if (page != 0) capabilities.page_bytes.push_back(page);
  }
  for (size_t i = 0; i < std::min<size_t>(flat.memories, FlatCapabilities::kList); ++i) {
    MemoryKind kind;
    kind.name = get_text(flat.memory[i].name);
    const auto members = memory_of(kind);
    for (size_t k = 0; k < members.size(); ++k) *members[k] = flat.memory[i].probed[k];
    capabilities.memory.push_back(std::move(kind));
  }
  return capabilities;
}

void sleep_while(const std::atomic<uint32_t>& word, uint32_t value, Deadline deadline) {
  const timespec until{deadline.at / kSecond, deadline.at % kSecond};
  // Not the private kind: the other end is another process. The bitset kind takes an absolute time
  // on CLOCK_MONOTONIC.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

BlockLayout BlockLayout::plan(std::span<const uint64_t> inputs, std::span<const uint64_t> outputs,
                              std::span<const uint64_t> states) {
  BlockLayout layout;
  layout.bytes = kPage;  // the header's
  const auto place = [&](std::vector<Range>& into, uint64_t length, uint64_t alignment) {
    layout.bytes = align_up(layout.bytes, alignment);
    into.push_back({layout.bytes, length});
    layout.bytes += length;
  };
  for (const uint64_t length : inputs) place(layout.inputs, length, kPage);
  for (auto& set : layout.outputs) {
    for (const uint64_t length : outputs) place(set, length, kLine);
  }
  for (auto& set : layout.states) {
    for (const uint64_t length : states) place(set, length, kLine);
  }
  layout.bytes = align_up(layout.bytes, kPage);
  return layout;
}

}  // namespace modeld::supervise
