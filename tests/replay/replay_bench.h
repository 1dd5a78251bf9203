// A route through the daemons' loops on digest devices, in memory.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/daemon/support/digest_device.h"
#include "tests/replay/route_builder.h"
#include "tests/support/temp_dir.h"
#include "tools/replay/replay_route.h"

namespace modeld::test {

// A message of a log, as far as tests look.
struct LoggedAnswer {
  std::string kind;
  uint32_t frame_id = 0;
  uint64_t time = 0;  // logMonoTime
  bool valid = false;
  std::vector<float> numbers;  // position.x, cameraOdometry.trans, left faceOrientation
  bool operator==(const LoggedAnswer&) const = default;
};

std::vector<LoggedAnswer> read_answers(std::span<const std::byte> log);

class ReplayBench : public testing::Test {
 protected:
  std::vector<replay::ReplayModel> models(bool driving, bool monitoring);
  replay::ReplayRequest request(const std::filesystem::path& route) const;

  // Fails the test if the replay does.
  replay::ReplayOutcome play(const replay::ReplayRequest& request, bool driving = true,
                             bool monitoring = true);
  replay::ReplayOutcome play(const std::filesystem::path& route, bool driving = true,
                             bool monitoring = true) {
    return play(request(route), driving, monitoring);
  }
  // Of the outcome's role; frames = published + dropped is checked on the way.
  static const replay::RoleReport& role(const replay::ReplayOutcome& outcome,
                                        const std::string& name);
  // Answers of one kind.
  static std::vector<LoggedAnswer> answers(const replay::ReplayOutcome& outcome,
                                           const std::string& kind);

  TempDir folder_;
  ManualClock device_clock_;
  DigestScript driving_script_;
  DigestScript monitoring_script_;
};

}  // namespace modeld::test
