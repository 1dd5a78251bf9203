// Where the time of a frame goes, waiting and working kept apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/health/latency_histogram.h"
#include "runtime/base/clock.h"

namespace modeld {

// In the order of a frame's way.
enum class FramePhase : uint8_t {
  kCameraToReceive,  // waiting: end of exposure -> notification taken (CLOCK_BOOTTIME age)
  kPairing,          // waiting: main frame taken -> the pair is complete
  kUpload,           // working: rows copied, inputs packed
  kQueue,            // waiting: handed to the device -> first step started
  kWarp,             // working
  kModel,            // working: history and network
  kDownload,         // working: results brought to the host
  kParse,            // working: parse and validate
  kPublish,          // working: fill and send
  kTotal,            // main frame taken -> last message sent; what deadlines are about
  // Waiting, and inside the others: threads of the frame that could have run and were not let (the
  // loop's, and the longest of the device's where its work runs on host threads).
  kCpuWait,
};
constexpr size_t kFramePhaseCount = 11;
std::string_view to_string(FramePhase phase);  // as published: "cameraToReceive", ...
bool is_waiting(FramePhase phase);

// Durations of one frame, ns; phases that did not happen stay 0 and are not recorded.
struct FrameTimes {
  uint32_t frame_id = 0;
  std::array<Nanoseconds, kFramePhaseCount> duration{};

  Nanoseconds& operator[](FramePhase phase) { return duration[static_cast<size_t>(phase)]; }
  Nanoseconds operator[](FramePhase phase) const { return duration[static_cast<size_t>(phase)]; }
};

// One histogram per phase and the count of deadline misses. Fixed memory; not thread-safe.
class PhaseStatistics {
 public:
  explicit PhaseStatistics(Nanoseconds frame_budget) : frame_budget_(frame_budget) {}

  // True if the frame missed its deadline (total above the budget).
  bool record(const FrameTimes& times);

  const LatencyHistogram& histogram(FramePhase phase) const {
    return histograms_[static_cast<size_t>(phase)];
  }
  uint64_t deadline_misses() const { return deadline_misses_; }
  Nanoseconds frame_budget() const { return frame_budget_; }

 private:
  Nanoseconds frame_budget_;
  uint64_t deadline_misses_ = 0;
  std::array<LatencyHistogram, kFramePhaseCount> histograms_;
};

}  // namespace modeld
