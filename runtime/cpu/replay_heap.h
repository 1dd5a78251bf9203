// A small fixed heap for library calls inside a replay.
//
// oneDNN builds a hash map of the arguments on every primitive execution: about ten requests of
// some hundred bytes, freed when the call returns. A replay must not reach the system allocator
// (nothing unbounded, no lock shared with other threads), so this room replaces operator new and
// delete: while a ReplayHeap::Scope is alive on a thread, requests of that thread come from its
// heap. Everywhere else, and when a heap is full, operator new is malloc as usual.
//
// The replacements are weak: a test binary that counts allocations may define its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace modeld::cpu {

// One of a fixed number of heaps in static memory. Blocks are carved off the front; when the last
// live block is freed the heap is empty again, which a library call nearly always comes to. What is
// left when a scope ends (its code for bytes keeps something from its first call) keeps its place.
// Allocation is for one thread at a time; any thread may free.
class ReplayHeap {
 public:
  static constexpr size_t kBytes = 64 * 1024;
  static constexpr size_t kHeaps = 64;

  // Takes a free heap; with none left, scopes on it change nothing.
  ReplayHeap();
  ~ReplayHeap();
  ReplayHeap(const ReplayHeap&) = delete;
  ReplayHeap& operator=(const ReplayHeap&) = delete;

  // Makes `heap` serve this thread until the end of the scope. Scopes do not nest.
  class Scope {
   public:
    explicit Scope(const ReplayHeap& heap);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

 private:
  size_t slot_;
};

}  // namespace modeld::cpu
