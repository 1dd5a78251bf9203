#include "runtime/cpu/replay_heap.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/base/checked.h"

namespace modeld::cpu {
namespace {

struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<uint32_t> live{0};
  // Touched by the allocating thread only.
  size_t used = 0;    // bytes
  size_t floor = 0;   // of blocks that outlived their scope
  uint32_t kept = 0;  // how many those are
};

// In front of each block.
struct alignas(std::max_align_t) Header {
  size_t bytes;  // with this header
  std::atomic<bool> live;
};

constexpr size_t kNoSlot = ReplayHeap::kHeaps;

constinit std::array<Slot, ReplayHeap::kHeaps> g_slots;
// Untouched pages cost nothing.
alignas(64) constinit std::byte g_memory[ReplayHeap::kHeaps][ReplayHeap::kBytes];
constinit thread_local size_t t_slot = kNoSlot;

void* allocate_in(size_t index, size_t bytes) {
  Slot& slot = g_slots[index];
  if (slot.live.load(std::memory_order_acquire) == slot.kept) slot.used = slot.floor;
  if (bytes > ReplayHeap::kBytes) return nullptr;
  const size_t wanted =
      sizeof(Header) + align_up(bytes == 0 ? 1 : bytes, alignof(std::max_align_t));
  if (wanted > ReplayHeap::kBytes - slot.used) return nullptr;
  auto* header = new (g_memory[index] + slot.used) Header{wanted, true};
  slot.used += wanted;
  slot.live.fetch_add(1, std::memory_order_relaxed);
  return header + 1;
}

// Behind the last block that lives.
size_t end_of_living(size_t index) {
  const size_t used = g_slots[index].used;
  size_t end = 0;
  for (size_t at = 0; at < used;) {
    const auto* header = reinterpret_cast<const Header*>(g_memory[index] + at);
    at += header->bytes;
    if (header->live.load(std::memory_order_acquire)) end = at;
  }
  return end;
}

void* allocate_or_null(size_t bytes) {
  if (t_slot != kNoSlot) {
    if (void* memory = allocate_in(t_slot, bytes)) return memory;
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocate_or_throw(size_t bytes) {
  if (void* memory = allocate_or_null(bytes)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) {
  const auto offset = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(g_memory);
  if (offset >= sizeof(g_memory)) return std::free(memory);
  (static_cast<Header*>(memory) - 1)->live.store(false, std::memory_order_release);
  g_slots[offset / ReplayHeap::kBytes].live.fetch_sub(1, std::memory_order_release);
}

}  // namespace

ReplayHeap::ReplayHeap() : slot_(0) {
  while (slot_ < kHeaps && g_slots[slot_].taken.exchange(true)) ++slot_;
}

ReplayHeap::~ReplayHeap() {
  if (slot_ < kHeaps) g_slots[slot_].taken = false;
}

ReplayHeap::Scope::Scope(const ReplayHeap& heap) {
  t_slot = heap.slot_;
}

// What the library made for itself once and keeps stays below the floor; the room above it is
// empty again.
ReplayHeap::Scope::~Scope() {
  if (t_slot != kNoSlot) {
    Slot& slot = g_slots[t_slot];
    const uint32_t live = slot.live.load(std::memory_order_acquire);
    if (live != slot.kept) slot.floor = end_of_living(t_slot);
    slot.kept = live;
  }
  t_slot = kNoSlot;
}

}  // namespace modeld::cpu

// Only the plain forms: the aligned ones keep their defaults, which pair with each other.
__attribute__((weak)) void* operator new(size_t bytes) {
  return modeld::cpu::allocate_or_throw(bytes);
}
__attribute__((weak)) void* operator new[](size_t bytes) {
  return modeld::cpu::allocate_or_throw(bytes);
}
__attribute__((weak)) void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return modeld::cpu::allocate_or_null(bytes);
}
__attribute__((weak)) void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return modeld::cpu::allocate_or_null(bytes);
}
__attribute__((weak)) void operator delete(void* memory) noexcept {
  modeld::cpu::release(memory);
}
__attribute__((weak)) void operator delete[](void* memory) noexcept {
  modeld::cpu::release(memory);
}
__attribute__((weak)) void operator delete(void* memory, size_t) noexcept {
  modeld::cpu::release(memory);
}
__attribute__((weak)) void operator delete[](void* memory, size_t) noexcept {
  modeld::cpu::release(memory);
}
