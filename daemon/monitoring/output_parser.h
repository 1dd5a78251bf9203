// Turns the driver-monitoring model's raw outputs into MonitoringOutputs. Source: facts 4.7.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/daemon_config.h"
#include "daemon/monitoring/driver_outputs.h"
#include "daemon/parsing/head_locator.h"

namespace modeld::monitoring {

// Immutable after creation; parse() may run on any thread.
class OutputParser {
 public:
  // kRefused naming the head that is missing, of an unknown size, named twice or out of range. The
  // two sleep_prob heads are optional (older models). A model with a head `face_descs` is one of
  // those that know a single driver (single_driver_heads.h): the one on `seat`; the other stays
  // zero, and the wheel is where the driver is. A right seat's numbers are those of the mirrored
  // picture the model was shown, as the original published them.
  static Result<OutputParser> create(std::span<const OutputContract> outputs,
                                     DriverSeat seat = DriverSeat::kLeft);

  // `raw` holds one span per output of the contract, each as long as its type says. Allocates
  // nothing. NaN is passed on: validity is judged elsewhere.
  void parse(std::span<const std::span<const float>> raw, MonitoringOutputs& out) const;

  // Names of slices nobody here reads.
  const std::vector<std::string>& ignored_heads() const { return ignored_; }

 private:
  OutputParser() = default;

  void parse_single(std::span<const std::span<const float>> raw, MonitoringOutputs& out) const;

  bool single_driver_ = false;
  DriverSeat seat_ = DriverSeat::kLeft;
  std::vector<parsing::HeadPlace> places_;
  std::vector<std::string> ignored_;
};

}  // namespace modeld::monitoring
