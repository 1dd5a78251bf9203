// oneDNN primitives prepared for replays: arguments bound to values, no allocation left to do.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/cpu/step.h"

namespace modeld::cpu {

// One primitive as one member of a team executes it. Created when recording; execute() is for one
// thread at a time, and the primitive uses no other thread (oneDNN's OpenMP team would spin
// between frames, so every thread here sets its own OpenMP width to 1).
class OneDnnCall {
 public:
  struct Impl;  // onednn.h

  explicit OneDnnCall(std::unique_ptr<Impl> impl);
  ~OneDnnCall();
  OneDnnCall(OneDnnCall&& other) noexcept;
  OneDnnCall(const OneDnnCall&) = delete;
  OneDnnCall& operator=(const OneDnnCall&) = delete;

  // A failure is left in context.state.library_status.
  void execute(const RunContext& context);

 private:
  std::unique_ptr<Impl> impl_;
};

// "2.6.3"
std::string onednn_version();
// Call once on every thread that executes or creates primitives.
Status prepare_onednn_thread();

// The same for a thread that is not ours, undone at the end of the scope.
class OneThreadScope {
 public:
  OneThreadScope();
  ~OneThreadScope();
  OneThreadScope(const OneThreadScope&) = delete;
  OneThreadScope& operator=(const OneThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace modeld::cpu
