#include "tests/replay/replay_bench.h"

#include <numeric>

#include "ipc/schema/event_log.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"
#include "tests/daemon/support/model_contracts.h"

namespace modeld::test {
namespace {

std::vector<float> copy(capnp::List<float>::Reader list) {
  std::vector<float> values;
  for (const float value : list) values.push_back(value);
  return values;
}

LoggedAnswer read_answer(wire::Event::Reader event) {
  LoggedAnswer answer;
  answer.kind = ipc::event_kind(static_cast<uint16_t>(event.which()));
  answer.time = event.getLogMonoTime();
  answer.valid = event.getValid();
  if (event.isModelV2()) {
    answer.frame_id = event.getModelV2().getFrameId();
    answer.numbers = copy(event.getModelV2().getPosition().getX());
  } else if (event.isDrivingModelData()) {
    answer.frame_id = event.getDrivingModelData().getFrameId();
  } else if (event.isCameraOdometry()) {
    answer.frame_id = event.getCameraOdometry().getFrameId();
    answer.numbers = copy(event.getCameraOdometry().getTrans());
  } else if (event.isDriverStateV2()) {
    answer.frame_id = event.getDriverStateV2().getFrameId();
    answer.numbers = copy(event.getDriverStateV2().getLeftDriverData().getFaceOrientation());
  }
  return answer;
}

replay::ReplayModel model_on(Contract contract, DigestScript& script, ManualClock& clock) {
  replay::ReplayModel model;
  model.device = std::make_unique<DigestDevice>(contract, script, clock);
  model.model = model_of(std::move(contract));
  model.artifact = "scripted";
  return model;
}

}  // namespace

std::vector<LoggedAnswer> read_answers(std::span<const std::byte> log) {
  std::vector<LoggedAnswer> answers;
  ipc::EventLog events(log);
  ipc::MessageReader reader;
  while (const auto message = events.next()) {
    EXPECT_TRUE(ipc::read_event(reader, *message, [&](wire::Event::Reader event) {
                  answers.push_back(read_answer(event));
                }).ok());
  }
  EXPECT_FALSE(events.losses().damaged());
  EXPECT_EQ(events.losses().truncated_bytes, 0u);
  return answers;
}

std::vector<replay::ReplayModel> ReplayBench::models(bool driving, bool monitoring) {
  std::vector<replay::ReplayModel> models;
  if (driving) models.push_back(model_on(driving_contract(), driving_script_, device_clock_));
  if (monitoring) {
    models.push_back(model_on(monitoring_contract(), monitoring_script_, device_clock_));
  }
  return models;
}

replay::ReplayRequest ReplayBench::request(const std::filesystem::path& route) const {
  replay::ReplayRequest request;
  request.route = route;
  request.version = "test";
  return request;
}

replay::ReplayOutcome ReplayBench::play(const replay::ReplayRequest& request, bool driving,
                                        bool monitoring) {
  auto outcome = replay::replay_route(request, models(driving, monitoring));
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  if (!outcome.ok()) return {};
  for (const replay::RoleReport& role : outcome->report.roles) {
    const uint64_t dropped =
        std::accumulate(role.dropped.begin(), role.dropped.end(), uint64_t{0},
                        [](uint64_t sum, const auto& each) { return sum + each.second; });
    EXPECT_EQ(role.frames, role.published + dropped) << role.role;
  }
  return std::move(outcome).value();
}

const replay::RoleReport& ReplayBench::role(const replay::ReplayOutcome& outcome,
                                            const std::string& name) {
  static const replay::RoleReport kNone;
  for (const replay::RoleReport& role : outcome.report.roles) {
    if (role.role == name) return role;
  }
  ADD_FAILURE() << "no role " << name;
  return kNone;
}

std::vector<LoggedAnswer> ReplayBench::answers(const replay::ReplayOutcome& outcome,
                                               const std::string& kind) {
  std::vector<LoggedAnswer> some;
  for (LoggedAnswer& answer : read_answers(outcome.log)) {
    if (answer.kind == kind) some.push_back(std::move(answer));
  }
  return some;
}

}  // namespace modeld::test
