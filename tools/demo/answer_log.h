// What two running daemons answer, as any other process of the system would hear it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ipc/schema/message_reader.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// The last health message of a daemon, copied.
struct HeardHealth {
  struct Phase {
    std::string name;
    uint64_t count = 0;
    double p50_ms = 0, p99_ms = 0, p999_ms = 0, max_ms = 0;
  };
  bool heard = false;
  std::string state;
  std::string reason;
  std::string text;
  std::string step;
  uint64_t received = 0;
  uint64_t published = 0;
  uint64_t valid = 0;
  uint64_t deadline_misses = 0;
  double deadline_ms = 0;
  std::vector<std::pair<std::string, uint64_t>> drops;     // counts above 0
  std::vector<std::pair<std::string, uint64_t>> invalids;  // counts above 0
  std::vector<Phase> phases;
  bool streams_connected = false;  // there are streams, and all of them are
  std::string fallback;            // none, warm, cold, active
  std::string fallback_artifact;
  double fallback_warm_hz = 0;
  double fallback_cpu_share = 0;
  std::string artifact_digest;
  uint64_t executor_restarts = 0;
};

struct Answer {
  Nanoseconds heard = 0;  // CLOCK_MONOTONIC
  bool valid = false;
};

// One daemon's answers by frame id.
struct HeardDaemon {
  std::string name;
  std::map<uint32_t, Answer> answers;  // modelV2 or driverStateV2
  uint64_t companions = 0;             // drivingModelData and cameraOdometry
  uint64_t companions_per_answer = 0;  // how many belong to each answer
  uint64_t undecodable = 0;
  uint64_t not_finite = 0;
  std::string first_not_finite;  // topic and frame
  HeardHealth health;
};

// Used by one thread.
class AnswerLog {
 public:
  static Result<std::unique_ptr<AnswerLog>> create(const Clock& clock, ipc::Transport& transport);

  // Takes what comes until `deadline`.
  Status listen(Deadline deadline);

  const HeardDaemon& driving() const { return driving_; }
  const HeardDaemon& monitoring() const { return monitoring_; }
  // The last valid modelV2, framed; empty if there was none.
  const std::vector<std::byte>& last_model() const { return last_model_; }

 private:
  static constexpr size_t kTopics = 6;
  AnswerLog(const Clock& clock, ipc::Transport& transport);
  void take(size_t topic, std::span<const std::byte> message);
  void take_event(HeardDaemon& daemon, size_t topic, std::span<const std::byte> message);
  void take_health(HeardDaemon& daemon, std::span<const std::byte> message);

  const Clock& clock_;
  ipc::Transport& transport_;
  std::array<std::unique_ptr<ipc::Subscriber>, kTopics> subscribers_;
  ipc::MessageReader reader_;
  HeardDaemon driving_;
  HeardDaemon monitoring_;
  std::vector<std::byte> last_model_;
};

}  // namespace modeld
