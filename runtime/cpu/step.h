// One prepared piece of work of a capture.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cpu/values.h"
#include "runtime/program/op.h"

namespace modeld::cpu {

// What all members of the team share during a replay.
struct ReplayState {
  std::atomic<uint32_t> index_out_of_range{0};
  std::atomic<uint32_t> integer_division_by_zero{0};
  std::atomic<int> library_status{0};  // first failure of a oneDNN call, 0 for none
};

struct RunContext {
  std::byte* const* addresses;  // by ValueId
  ReplayState& state;
  unsigned part;  // this member's share of a parallel step: part of parts
  unsigned parts;

  template <typename T>
  T* at(ValueId value) const {
    return reinterpret_cast<T*>(addresses[value]);
  }
};

// Half-open range of `count` things that `part` of `parts` does, in multiples of `grain`.
struct Share {
  int64_t begin;
  int64_t end;
};
inline Share share_of(int64_t count, unsigned part, unsigned parts, int64_t grain = 1) {
  const int64_t grains = (count + grain - 1) / grain;
  const auto border = [&](unsigned at) {
    const int64_t grain_index = grains * static_cast<int64_t>(at) / static_cast<int64_t>(parts);
    return grain_index * grain < count ? grain_index * grain : count;
  };
  return {border(part), border(part + 1)};
}

// run() neither allocates nor blocks; parallel steps are called once by every member at the same
// time and write disjoint parts. Results do not depend on the number of parts unless the step's
// description says so, and never on timing.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const RunContext& context) = 0;
};

struct StepRecord {
  std::unique_ptr<Step> step;
  std::string op;   // the program op's name or kind
  std::string how;  // the implementation, for people
  Phase phase = Phase::kModel;
  bool parallel = false;
  std::vector<ValueId> reads;
  std::vector<ValueId> writes;
  // Values among `reads` that writes[0] may share memory with: the step reads element i before it
  // writes element i, and nothing else.
  std::vector<ValueId> in_place;
};

// A step that is a callable taking `const RunContext&`; what it captures is its plan.
template <typename Run>
std::unique_ptr<Step> step_of(Run run) {
  class Callable final : public Step {
   public:
    explicit Callable(Run callable) : run_(std::move(callable)) {}
    void run(const RunContext& context) override { run_(context); }

   private:
    Run run_;
  };
  return std::make_unique<Callable>(std::move(run));
}

}  // namespace modeld::cpu
