// Logs: packings, damage, what is kept of them.
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "ipc/schema/event_log.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"
#include "runtime/base/file.h"
#include "tests/replay/replay_bench.h"
#include "tests/support/test_data.h"
#include "tools/replay/frame_list.h"
#include "tools/replay/log_file.h"

namespace modeld::test {
namespace {

using replay::Camera;
using replay::Packing;
using testing::HasSubstr;

std::vector<std::byte> some_log() {
  MessageList list;
  for (int i = 0; i < 2000; ++i) list.add_car_state(i * kMillisecond, static_cast<float>(i));
  return list.bytes();
}

uint64_t whole_messages(std::span<const std::byte> bytes) {
  ipc::EventLog log(bytes);
  while (log.next()) {
  }
  EXPECT_FALSE(log.losses().damaged());
  return log.messages();
}

TEST(LogFile, PackingsGoAndComeBack) {
  const auto log = some_log();
  for (const Packing packing : {Packing::kPlain, Packing::kBzip2, Packing::kZstd}) {
    const auto packed = replay::pack_log(log, packing);
    ASSERT_TRUE(packed.ok());
    EXPECT_EQ(replay::packing_of(*packed), packing);
    const auto unpacked = replay::unpack_log(*packed);
    ASSERT_TRUE(unpacked.ok());
    EXPECT_EQ(unpacked->packing, packing);
    EXPECT_FALSE(unpacked->cut_short);
    EXPECT_TRUE(unpacked->bytes == log);
  }
}

// Loggers append: several streams in one file.
TEST(LogFile, StreamsOneAfterTheOtherAreOneLog) {
  const auto log = some_log();
  for (const Packing packing : {Packing::kBzip2, Packing::kZstd}) {
    auto file = *replay::pack_log(std::span(log).first(log.size() / 2), packing);
    const auto rest = *replay::pack_log(std::span(log).subspan(log.size() / 2), packing);
    file.insert(file.end(), rest.begin(), rest.end());
    const auto unpacked = replay::unpack_log(file);
    ASSERT_TRUE(unpacked.ok());
    EXPECT_TRUE(unpacked->bytes == log);
  }
}

TEST(LogFile, ATailThatIsCutOffCostsTheTail) {
  const auto log = some_log();
  const uint64_t all = whole_messages(log);
  for (const Packing packing : {Packing::kBzip2, Packing::kZstd}) {
    // Two streams, of which the second breaks off: the first is whole.
    auto file = *replay::pack_log(log, packing);
    const size_t first = file.size();
    const auto again = *replay::pack_log(log, packing);
    file.insert(file.end(), again.begin(), again.end());
    for (const size_t cut : {first + 3, first + again.size() / 2, file.size() - 1}) {
      const auto unpacked =
          replay::unpack_log(std::vector<std::byte>(file.begin(), file.begin() + cut));
      ASSERT_TRUE(unpacked.ok()) << cut;
      EXPECT_TRUE(unpacked->cut_short) << cut;
      EXPECT_GE(whole_messages(unpacked->bytes), all) << cut;
    }
  }
}

TEST(LogFile, DamageAnywhereEndsCleanly) {
  const auto log = some_log();
  for (const Packing packing : {Packing::kBzip2, Packing::kZstd}) {
    const auto file = *replay::pack_log(log, packing);
    for (size_t at = 4; at < file.size(); at += 97) {
      auto damaged = file;
      damaged[at] ^= std::byte{0x55};
      const auto unpacked = replay::unpack_log(std::move(damaged), 1 << 22);
      if (unpacked.ok()) {
        EXPECT_LE(unpacked->bytes.size(), size_t{1} << 22);
      }
    }
  }
}

TEST(LogFile, ABombIsRefusedAtTheLimit) {
  const std::vector<std::byte> zeros(4 << 20);
  for (const Packing packing : {Packing::kPlain, Packing::kBzip2, Packing::kZstd}) {
    const auto unpacked = replay::unpack_log(*replay::pack_log(zeros, packing), 1 << 20);
    ASSERT_FALSE(unpacked.ok());
    EXPECT_EQ(unpacked.error().code, ErrorCode::kExhausted);
  }
}

class RouteLogTest : public ReplayBench {
 protected:
  replay::RouteLog load(std::span<const std::byte> bytes) {
    EXPECT_TRUE(write_file_atomically(folder_ / "rlog", bytes).ok());
    const auto files = replay::find_route(folder_ / "rlog");
    EXPECT_TRUE(files.ok());
    auto log = replay::RouteLog::load(*files);
    EXPECT_TRUE(log.ok()) << to_string(log.error());
    return std::move(log).value();
  }
};

// The manifest beside the streams says how many messages each holds.
TEST_F(RouteLogTest, RealStreamsReadWhole) {
  MODELD_NEED_SHARED("data/openpilot-events/MANIFEST.tsv");
  std::ifstream manifest(shared_path("data/openpilot-events/MANIFEST.tsv"));
  std::string line;
  std::getline(manifest, line);  // the header
  size_t files = 0;
  while (std::getline(manifest, line)) {
    std::istringstream fields(line);
    std::string name;
    uint64_t packed = 0;
    uint64_t unpacked = 0;
    uint64_t messages = 0;
    fields >> name >> packed >> unpacked >> messages;
    // Every fifth stream of each process: enough of all kinds.
    ++files;
    if (files % 5 != files / 5 % 5) continue;
    replay::RouteFiles route;
    route.segments.resize(1);
    route.segments[0].log = shared_path("data/openpilot-events/" + name);
    const auto log = replay::RouteLog::load(route);
    ASSERT_TRUE(log.ok()) << name << ": " << to_string(log.error());
    EXPECT_EQ(log->statistics().messages, messages) << name;
    EXPECT_EQ(log->statistics().broken, 0u) << name;
    EXPECT_FALSE(log->statistics().losses.damaged()) << name;
  }
  EXPECT_GE(files, 50u);
}

TEST_F(RouteLogTest, HostileMessagesAreCountedAndTheNextOneRead) {
  MessageList good;
  good.add_calibration(1, 0.1f);
  MessageList list;
  list.add_raw(good.bytes());
  // A tag that says calibration over a pointer that leaves the message.
  auto outside = good.bytes();
  const uint64_t far_away = uint64_t{0x00010002} << 32 | 0x7ffffff0;
  std::memcpy(outside.data() + 8 + 8 + 16, &far_away, sizeof far_away);
  list.add_raw(outside);
  list.add_raw(good.bytes());
  // A kind newer than all we know.
  auto unknown = good.bytes();
  const uint16_t tag = 999;
  std::memcpy(unknown.data() + 8 + 8 + 8, &tag, sizeof tag);
  list.add_raw(unknown);
  // A camera state's tag over a calibration.
  auto wrong = good.bytes();
  const uint16_t camera_state = 1;
  std::memcpy(wrong.data() + 8 + 8 + 8, &camera_state, sizeof camera_state);
  list.add_raw(wrong);
  list.add_raw(std::vector<std::byte>(40, std::byte{0xee}));
  list.add_raw(good.bytes());
  const replay::RouteLog log = load(list.bytes());
  const replay::LogStatistics& statistics = log.statistics();
  EXPECT_EQ(statistics.broken, 1u);
  EXPECT_EQ(statistics.unknown, 1u);
  EXPECT_EQ(statistics.losses.malformed, 1u);
  EXPECT_EQ(statistics.losses.skipped_bytes, 40u);
  uint64_t calibrations = 0;
  for (const auto& message : log.messages()) {
    calibrations += message.service == "extrinsicsCalibration" ? 1 : 0;
  }
  EXPECT_EQ(calibrations, 3u);
}

// Interoperability facts 8.4: logs from before deviceState carried the type.
// Found by tests/fuzz/replay_log_fuzz.cpp: the distance of a state's clock from its exposure plus
// another frame's exposure is no number any more.
TEST_F(RouteLogTest, TimesBeyondAnyClockAreBounded) {
  MessageList list;
  constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();
  list.add_camera_state(kSecond, Camera::kCabin, 1, kFar - 5, kFar / 2);
  list.add_index(kSecond, Camera::kCabin, false, 1, 0, 0, kFar, kFar / 2);
  list.add_index(kSecond, Camera::kCabin, false, 2, 0, 1, 1, kFar - 7);
  list.add_index(kSecond, Camera::kCabin, false, 3, 0, 2, 0, 0);
  RouteBuilder::write_log(folder_ / "rlog", list);
  replay::RouteFiles files;
  files.segments.resize(1);
  files.segments[0].log = folder_ / "rlog";
  files.segments[0].pictures[index_of(Camera::kCabin)] = folder_ / "dcamera.hevc";
  const auto log = replay::RouteLog::load(files);
  ASSERT_TRUE(log.ok()) << to_string(log.error());
  const auto frames = replay::list_frames(Camera::kCabin, files, *log);
  ASSERT_TRUE(frames.ok()) << to_string(frames.error());
  ASSERT_EQ(frames->frames.size(), 3u);
  EXPECT_EQ(frames->frames[0].time, kSecond);
  EXPECT_EQ(frames->frames[1].time, kSecond);  // as far away as can be, like the first
  EXPECT_EQ(frames->frames[2].time, kSecond - replay::kLatestTime);
}

TEST_F(RouteLogTest, DeviceTypeComesFromInitData) {
  ipc::MessageWriter writer(4096);
  MessageList list;
  auto event = writer.begin().initRoot<wire::Event>();
  event.initInitData().setDeviceType(wire::InitData::DeviceType::MICI);
  list.add_raw(*writer.finish());
  event = writer.begin().initRoot<wire::Event>();
  event.initDeviceState().setFreeSpacePercent(42);
  list.add_raw(*writer.finish());
  const replay::RouteLog log = load(list.bytes());
  ASSERT_EQ(log.messages().size(), 1u);
  ipc::MessageReader reader;
  EXPECT_TRUE(ipc::read_event(reader, log.bytes(log.messages()[0]), [](wire::Event::Reader read) {
                EXPECT_EQ(read.getDeviceState().getDeviceType(), wire::InitData::DeviceType::MICI);
                EXPECT_EQ(read.getDeviceState().getFreeSpacePercent(), 42);
              }).ok());
}

TEST_F(RouteLogTest, ATruncatedTailOfAnyPackingStillReplays) {
  RouteOptions options;
  options.frames = 4;
  options.pictures = {PictureForm::kNone, PictureForm::kNone, PictureForm::kNv12Folder};
  const RouteBuilder builder(options);
  builder.write_pictures(folder_ / "cut", 0, 4);
  auto bytes = builder.messages(0, 4).bytes();
  const auto whole = bytes.size();
  MessageList last;
  last.add_calibration(RouteBuilder::kStart + kSecond, 0);
  bytes.insert(bytes.end(), last.bytes().begin(), last.bytes().end() - 10);
  for (const char* name : {"rlog", "rlog.zst", "rlog.bz2"}) {
    ASSERT_TRUE(
        write_file_atomically(folder_ / "cut" / name,
                              *replay::pack_log(bytes, replay::packing_for(std::string(name))))
            .ok());
    const auto outcome = play(folder_ / "cut" / name, false, true);
    EXPECT_EQ(role(outcome, "monitoring").published, 4u) << name;
    EXPECT_EQ(outcome.report.log.losses.truncated_bytes, bytes.size() - whole) << name;
    std::filesystem::remove(folder_ / "cut" / name);
  }
}

class CompareTest : public RouteLogTest {
 protected:
  void SetUp() override {
    RouteOptions options;
    options.frames = 3;
    RouteBuilder(options).write(folder_ / "r");
    log_ = play(folder_ / "r").log;
  }
  // The log with `change` applied to every event.
  std::vector<std::byte> changed(const std::function<bool(wire::Event::Builder)>& keep) {
    MessageList list;
    ipc::EventLog events(log_);
    ipc::MessageReader reader;
    ipc::MessageWriter writer(1 << 16);
    while (const auto message = events.next()) {
      bool kept = true;
      EXPECT_TRUE(ipc::read_event(reader, *message, [&](wire::Event::Reader event) {
                    auto& builder = writer.begin();
                    builder.setRoot(event);
                    kept = keep(builder.getRoot<wire::Event>());
                  }).ok());
      if (kept) list.add_raw(*writer.finish());
    }
    return list.bytes();
  }
  static std::vector<std::string> differing(const replay::Comparison& comparison) {
    std::vector<std::string> names;
    for (const auto& field : comparison.fields) {
      if (field.differing != 0) names.push_back(field.field);
    }
    return names;
  }
  std::vector<std::byte> log_;
};

TEST_F(CompareTest, TheSameIsTheSameAndClocksAreNotLookedAt) {
  const auto same = replay::compare_logs(log_, log_, {});
  EXPECT_TRUE(same.same());
  EXPECT_EQ(same.messages, 12u);
  const auto later = changed([](wire::Event::Builder event) {
    event.setLogMonoTime(event.getLogMonoTime() + 5);
    if (event.isModelV2()) event.getModelV2().setModelExecutionTime(0.5f);
    if (event.isDrivingModelData()) event.getDrivingModelData().setModelExecutionTime(0.5f);
    if (event.isDriverStateV2()) {
      event.getDriverStateV2().setModelExecutionTime(0.5f);
      event.getDriverStateV2().setGpuExecutionTime(0.5f);
      event.getDriverStateV2().setDspExecutionTime(0.5f);
    }
    return true;
  });
  EXPECT_TRUE(replay::compare_logs(log_, later, {}).same());
}

TEST_F(CompareTest, EachFieldThatDiffersIsNamedWithItsFirstFrame) {
  const auto other = changed([](wire::Event::Builder event) {
    if (event.isModelV2() && event.getModelV2().getFrameId() == 101) {
      auto model = event.getModelV2();
      model.getPosition().getX().set(3, model.getPosition().getX()[3] + 0.25f);
      model.setFrameDropPerc(7);
      model.getLaneLines()[1].getY().set(0, 1e6f);
      event.setValid(false);
    }
    return true;
  });
  const auto comparison = replay::compare_logs(log_, other, {});
  EXPECT_FALSE(comparison.same());
  EXPECT_THAT(differing(comparison),
              testing::UnorderedElementsAre("modelV2.(valid)", "modelV2.position.x",
                                            "modelV2.frameDropPerc", "modelV2.laneLines[1].y"));
  for (const auto& field : comparison.fields) {
    if (field.field != "modelV2.position.x") continue;
    EXPECT_EQ(field.values, 3 * 33u);
    EXPECT_EQ(field.differing, 1u);
    EXPECT_EQ(field.first_frame, 101u);
    EXPECT_NEAR(field.worst, 0.25, 1e-5);
  }
  replay::CompareOptions loose;
  loose.tolerance = 0.3;
  EXPECT_THAT(differing(replay::compare_logs(log_, other, loose)),
              testing::UnorderedElementsAre("modelV2.(valid)", "modelV2.frameDropPerc",
                                            "modelV2.laneLines[1].y"));
}

// Beyond 2^53 neighbouring numbers are one double.
TEST_F(CompareTest, TimesDifferByASingleNanosecond) {
  const auto at = [this](uint64_t time) {
    return changed([time](wire::Event::Builder event) {
      if (event.isModelV2()) event.getModelV2().setTimestampEof(time);
      return true;
    });
  };
  constexpr uint64_t kTime = 1'700'000'000'000'000'001;
  EXPECT_TRUE(replay::compare_logs(at(kTime), at(kTime), {}).same());
  EXPECT_THAT(differing(replay::compare_logs(at(kTime), at(kTime + 1), {})),
              testing::ElementsAre("modelV2.timestampEof"));
}

TEST_F(CompareTest, MessagesWithoutPartnerAreNamed) {
  const auto fewer = changed([](wire::Event::Builder event) {
    return !(event.isDriverStateV2() && event.getDriverStateV2().getFrameId() == 102);
  });
  const auto missing = replay::compare_logs(log_, fewer, {});
  ASSERT_EQ(missing.missing.size(), 1u);
  EXPECT_EQ(missing.missing[0], std::pair(std::string("driverStateV2"), 102u));
  EXPECT_EQ(replay::compare_logs(fewer, log_, {}).extra.size(), 1u);
  replay::CompareOptions window;
  window.cabin_ids = {100, 101};
  EXPECT_TRUE(replay::compare_logs(log_, fewer, window).same());
}

}  // namespace
}  // namespace modeld::test
