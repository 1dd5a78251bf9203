// Takes the messages of the rest of the system, once per frame.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/inputs/input_tracker.h"
#include "daemon/inputs/vehicle_inputs.h"
#include "ipc/schema/message_reader.h"
#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"
#include "runtime/base/result.h"

namespace modeld {

// One service: what it is called on this system's wire and how it fares.
struct TopicInput {
  const ipc::Service* service = nullptr;
  std::string_view topic;
  std::unique_ptr<ipc::Subscriber> subscriber;
  InputTracker tracker;
};

// Messages are told apart by the kind inside them, not by the topic they came on, so that both
// generations of driverMonitoringState are understood. A message that does not decode, or of a kind
// nobody asked for, is counted and skipped. Not thread-safe; steady state allocates nothing of its
// own.
class TopicInputs {
 public:
  // Subscribes to `services` (newest names) under the names of `names`.
  static Result<TopicInputs> open(ipc::Transport& transport, ipc::NameSet names,
                                  std::span<const std::string_view> services);

  // Takes whatever waits into `values`; never blocks. `now`: CLOCK_MONOTONIC.
  Status poll(Nanoseconds now, VehicleInputs& values);

  std::span<const TopicInput> topics() const { return topics_; }
  // How often poll() was called, over the last calls; 0 before the second.
  double poll_hz() const { return polls_.rate_hz(); }

  // The first topic that was heard once and has been silent since for longer than its tracker's
  // longest_silence(); null if there is none. (What was never heard reads as zeros, as in
  // openpilot.)
  const TopicInput* find_stale(Nanoseconds now) const;

 private:
  TopicInputs();
  void take(TopicInput& from, std::span<const std::byte> message, Nanoseconds now,
            VehicleInputs& values);
  TopicInput* find(std::string_view service);

  std::vector<TopicInput> topics_;
  MovingAverage polls_;
  Nanoseconds last_poll_ = 0;
  std::unique_ptr<ipc::MessageReader> reader_;
};

// What each daemon listens to (interoperability facts 2.4).
std::span<const std::string_view> driving_services();
std::span<const std::string_view> monitoring_services();

// The enumerant's name for the camera table: "tici", "ox03c10"; "unlisted" for a number that is
// newer than the schema: "unknown", the name of 0, would find a camera.
std::string_view device_type_name(uint16_t device_type);
std::string_view sensor_name(uint16_t sensor);

}  // namespace modeld
