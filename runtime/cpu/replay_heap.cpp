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
  size_t used = 0;  // bytes; touched by the allocating thread only
};

constexpr size_t kNoSlot = ReplayHeap::kHeaps;

constinit std::array<Slot, ReplayHeap::kHeaps> g_slots;
// Untouched pages cost nothing.
alignas(64) constinit std::byte g_memory[ReplayHeap::kHeaps][ReplayHeap::kBytes];
constinit thread_local size_t t_slot = kNoSlot;

void* allocate_in(size_t index, size_t bytes) {
  Slot& slot = g_slots[index];
  if (slot.live.load(std::memory_order_acquire) == 0) slot.used = 0;
  if (bytes > ReplayHeap::kBytes) return nullptr;
  const size_t wanted = align_up(bytes == 0 ? 1 : bytes, alignof(std::max_align_t));
  if (wanted > ReplayHeap::kBytes - slot.used) return nullptr;
  void* memory = g_memory[index] + slot.used;
  slot.used += wanted;
  slot.live.fetch_add(1, std::memory_order_relaxed);
  return memory;
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

ReplayHeap::Scope::~Scope() {
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
