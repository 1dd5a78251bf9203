#include "daemon/driving/frame_pairing.h"

namespace modeld::driving {
namespace {

constexpr uint64_t kAhead = 25'000'000;     // ns: half a frame
constexpr uint64_t kFarApart = 10'000'000;  // ns

}  // namespace

bool FramePairing::main_not_ahead() const {
  return main_sof_ < extra_sof_ || main_sof_ - extra_sof_ < kAhead;
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
  if (sof_ns) main_sof_ = *sof_ns;
  restart();
}

void FramePairing::on_extra(std::optional<uint64_t> sof_ns) {
  if (!sof_ns) {
    restart();
    return;
  }
  extra_sof_ = *sof_ns;
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
