#include "daemon/driving/frame_pairing.h"

namespace modeld::driving {
namespace {

constexpr uint64_t kAhead = 25'000'000;        // ns: half a frame
constexpr uint64_t kFarApart = 10'000'000;     // ns
constexpr uint64_t kClockSet = 1'000'000'000;  // ns

bool is_behind(uint64_t time, uint64_t other) {
  return time < other && other - time > kClockSet;
}

}  // namespace

bool FramePairing::main_not_ahead() const {
  return main_sof_ < extra_sof_ || main_sof_ - extra_sof_ < kAhead;
}

bool FramePairing::of_before(uint64_t extra_sof) const {
  return set_back_ && is_behind(main_sof_, extra_sof);
}

void FramePairing::restart() {
  if (main_not_ahead()) {
    step_ = Step::kReceiveMain;
  } else if (use_extra_) {
    step_ = Step::kReceiveExtra;
  } else {
    extra_sof_ = main_sof_;
    step_ = Step::kPaired;
  }
}

void FramePairing::on_main(std::optional<uint64_t> sof_ns) {
  if (sof_ns) {
    if (is_behind(*sof_ns, main_sof_)) {
      set_back_ = true;
      extra_sof_ = 0;
    }
    main_sof_ = *sof_ns;
  }
  restart();
}

void FramePairing::on_extra(std::optional<uint64_t> sof_ns) {
  if (!sof_ns) {
    restart();
    return;
  }
  if (of_before(*sof_ns)) {
    step_ = Step::kReceiveExtra;
    return;
  }
  set_back_ = false;
  // The main frame in hand is from before, then; the next one is not.
  const bool was_set_back = is_behind(*sof_ns, extra_sof_);
  extra_sof_ = *sof_ns;
  if (was_set_back && is_behind(extra_sof_, main_sof_)) {
    step_ = Step::kReceiveMain;
    return;
  }
  step_ = main_not_ahead() ? Step::kPaired : Step::kReceiveExtra;
}

void FramePairing::used() {
  restart();
}

bool FramePairing::far_apart() const {
  const uint64_t apart = main_sof_ > extra_sof_ ? main_sof_ - extra_sof_ : extra_sof_ - main_sof_;
  return apart > kFarApart;
}

}  // namespace modeld::driving
