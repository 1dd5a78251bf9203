// Which narrow-road frame is run with which wide-road frame. Source: facts 7.2. Pure: the caller
// receives the frames and reports their start-of-frame times.
//
// Ours beside it: a stream that goes back by more than a second has had its clock set. What is
// remembered from before would not be passed until the clock has come that far again.
#pragma once

#include <cstdint>
#include <optional>

namespace modeld::driving {

class FramePairing {
 public:
  enum class Step : uint8_t {
    kReceiveMain,   // wait for a main frame, report it with on_main()
    kReceiveExtra,  // wait for an extra frame, report it with on_extra()
    kPaired,        // the last reported frames belong together; call used() after the run
  };

  // Without an extra stream the main frame stands for both.
  explicit FramePairing(bool use_extra) : use_extra_(use_extra) {}

  Step step() const { return step_; }

  // The frame that came, or nothing if the wait ended without one. A main frame is kept over a
  // missing extra one, and replaced by the next main frame otherwise.
  void on_main(std::optional<uint64_t> sof_ns);
  void on_extra(std::optional<uint64_t> sof_ns);
  void used();

  // The pair's start times differ by more than 10 ms: run all the same, but worth a warning.
  bool far_apart() const;

 private:
  // Main is not 25 ms ahead of extra.
  bool main_not_ahead() const;
  void restart();
  // Extra frames that still waited in their queue when the main stream's clock was set back.
  bool of_before(uint64_t extra_sof) const;

  bool use_extra_;
  Step step_ = Step::kReceiveMain;
  uint64_t main_sof_ = 0;
  uint64_t extra_sof_ = 0;
  bool set_back_ = false;  // the main stream's clock, and no extra frame has come since
};

}  // namespace modeld::driving
