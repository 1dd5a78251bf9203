// Replay: what comes when, and what comes out. Field fault 37 and its kind.
#include <gmock/gmock.h>

#include <fstream>

#include "runtime/base/file.h"
#include "tests/replay/replay_bench.h"
#include "tools/replay/log_file.h"

namespace modeld::test {
namespace {

using replay::Camera;
using testing::ElementsAre;
using testing::HasSubstr;

class ReplayTest : public ReplayBench {
 protected:
  // Frames of the two road cameras only, from folders of pictures.
  static RouteOptions road(uint32_t frames) {
    RouteOptions options;
    options.frames = frames;
    options.pictures[index_of(Camera::kCabin)] = PictureForm::kNone;
    return options;
  }
  static RouteOptions cabin(uint32_t frames) {
    RouteOptions options;
    options.frames = frames;
    options.pictures = {PictureForm::kNone, PictureForm::kNone, PictureForm::kNv12Folder};
    return options;
  }
  static std::vector<uint32_t> ids(const std::vector<LoggedAnswer>& answers) {
    std::vector<uint32_t> ids;
    for (const LoggedAnswer& answer : answers) ids.push_back(answer.frame_id);
    return ids;
  }
  std::filesystem::path route() const { return folder_ / "route--0"; }
};

TEST_F(ReplayTest, BothDaemonsAnswerEveryFrameInTheOrderOfTheLog) {
  RouteOptions options;
  options.frames = 4;
  RouteBuilder(options).write(route());
  const auto outcome = play(route());
  std::vector<std::string> kinds;
  std::vector<uint64_t> times;
  for (const LoggedAnswer& answer : read_answers(outcome.log)) {
    kinds.push_back(answer.kind + (answer.valid ? "" : " invalid"));
    times.push_back(answer.time);
  }
  std::vector<std::string> want = {"initData", "sentinel"};
  for (int i = 0; i < 4; ++i) {
    // Ids before the first frame's count as skipped (interoperability facts 5.6 and 7.4).
    want.insert(want.end(),
                {"modelV2", "drivingModelData",
                 i == 0 ? "cameraOdometry invalid" : "cameraOdometry", "driverStateV2"});
  }
  want.push_back("sentinel");
  EXPECT_EQ(kinds, want);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_THAT(ids(answers(outcome, "modelV2")), ElementsAre(100, 101, 102, 103));
  // The pair is complete when the wide camera's state comes.
  EXPECT_EQ(answers(outcome, "modelV2")[2].time,
            static_cast<uint64_t>(RouteBuilder::state_time(Camera::kWideRoad, 2)));
  EXPECT_EQ(role(outcome, "driving").frames, 4u);
  EXPECT_EQ(role(outcome, "monitoring").frames, 4u);
  EXPECT_EQ(role(outcome, "driving").latency.size(), 4u);
  EXPECT_FLOAT_EQ(outcome.report.actuator_delay, 0.25f);
  EXPECT_TRUE(outcome.report.actuator_delay_known);
}

TEST_F(ReplayTest, FieldFault37TheSameLogTwiceGivesTheSameBytes) {
  RouteOptions options;
  options.frames = 5;
  RouteBuilder(options).write(route());
  const auto first = play(route());
  const auto second = play(route());
  EXPECT_FALSE(first.log.empty());
  EXPECT_TRUE(first.log == second.log);
  auto paced = request(route());
  paced.options.rate = 100;
  EXPECT_TRUE(play(paced).log == first.log);
}

TEST_F(ReplayTest, PicturesAndHistoryReachTheModel) {
  RouteBuilder(road(6)).write(route());
  const auto whole = answers(play(route(), true, false), "modelV2");
  ASSERT_EQ(whole.size(), 6u);
  for (size_t i = 1; i < whole.size(); ++i) EXPECT_NE(whole[i].numbers, whole[i - 1].numbers);
  // Another picture of the third frame changes it and what follows, and nothing before.
  std::filesystem::copy_file(route() / "fcamera" / "0_1344x760.nv12",
                             route() / "fcamera" / "2_1344x760.nv12",
                             std::filesystem::copy_options::overwrite_existing);
  const auto other = answers(play(route(), true, false), "modelV2");
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(other[i].numbers == whole[i].numbers, i < 2) << i;
  }
}

// Field fault 37: a calibration 1 ns before or after a frame.
class ReplayOrder : public ReplayTest {
 protected:
  // Frames 0..5 of the cabin, a new calibration at `time`.
  std::vector<LoggedAnswer> with_calibration_at(Nanoseconds time, bool at_end_of_file = true) {
    const RouteBuilder builder(cabin(6));
    MessageList list = at_end_of_file ? builder.messages(0, 6) : MessageList();
    list.add_calibration(time, 0.2f);
    if (!at_end_of_file) list.add_raw(builder.messages(0, 6).bytes());
    std::filesystem::remove_all(route());
    builder.write_pictures(route(), 0, 6);
    RouteBuilder::write_log(route() / "rlog", list);
    return answers(play(route(), false, true), "driverStateV2");
  }
  // The frame from which on the answers of two runs differ.
  static size_t first_difference(const std::vector<LoggedAnswer>& a,
                                 const std::vector<LoggedAnswer>& b) {
    size_t i = 0;
    while (i < a.size() && a[i].numbers == b[i].numbers) ++i;
    return i;
  }
  const Nanoseconds frame_3_ = RouteBuilder::state_time(Camera::kCabin, 3);
};

TEST_F(ReplayOrder, AMessageBeforeAFrameIsSeenByIt) {
  const auto never = with_calibration_at(frame_3_ + 10 * kSecond);
  ASSERT_EQ(never.size(), 6u);
  EXPECT_EQ(first_difference(never, with_calibration_at(frame_3_ - 1)), 3u);
  // By time, wherever it lies in the file.
  EXPECT_EQ(first_difference(never, with_calibration_at(frame_3_ - 1, false)), 3u);
}

TEST_F(ReplayOrder, AMessageAfterAFrameIsNotSeenByIt) {
  const auto never = with_calibration_at(frame_3_ + 10 * kSecond);
  EXPECT_EQ(first_difference(never, with_calibration_at(frame_3_ + 1)), 4u);
}

TEST_F(ReplayOrder, AtTheSameTimeTheOrderOfTheFileCounts) {
  const auto never = with_calibration_at(frame_3_ + 10 * kSecond);
  EXPECT_EQ(first_difference(never, with_calibration_at(frame_3_, true)), 4u);
  EXPECT_EQ(first_difference(never, with_calibration_at(frame_3_, false)), 3u);
}

TEST_F(ReplayTest, OneRoadCameraStandsForBoth) {
  RouteOptions narrow = road(3);
  narrow.pictures[index_of(Camera::kWideRoad)] = PictureForm::kNone;
  RouteBuilder(narrow).write(folder_ / "narrow--0");
  const auto only_narrow = play(folder_ / "narrow--0", true, false);
  EXPECT_THAT(ids(answers(only_narrow, "modelV2")), ElementsAre(100, 101, 102));
  EXPECT_EQ(role(only_narrow, "driving").invalid, 0u);

  RouteOptions wide = road(3);
  wide.pictures[index_of(Camera::kNarrowRoad)] = PictureForm::kNone;
  RouteBuilder(wide).write(folder_ / "wide--0");
  const auto only_wide = play(folder_ / "wide--0", true, false);
  EXPECT_THAT(ids(answers(only_wide, "modelV2")), ElementsAre(100, 101, 102));
}

TEST_F(ReplayTest, ARoleWithoutItsCamerasIsAnError) {
  RouteBuilder(cabin(2)).write(folder_ / "cabin--0");
  const auto no_road = replay::replay_route(request(folder_ / "cabin--0"), models(true, true));
  ASSERT_FALSE(no_road.ok());
  EXPECT_EQ(no_road.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(to_string(no_road.error()), HasSubstr("no road camera"));
  RouteBuilder(road(2)).write(folder_ / "road--0");
  const auto no_cabin = replay::replay_route(request(folder_ / "road--0"), models(false, true));
  ASSERT_FALSE(no_cabin.ok());
  EXPECT_EQ(no_cabin.error().code, ErrorCode::kNotFound);
  const auto nothing = replay::replay_route(request(folder_ / "none"), models(false, true));
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, ErrorCode::kNotFound);
}

TEST_F(ReplayTest, FewerPicturesThanTheListSaysAreCounted) {
  RouteOptions options = cabin(6);
  options.pictures_short = 2;
  RouteBuilder(options).write(route());
  const auto outcome = play(route(), false, true);
  EXPECT_THAT(ids(answers(outcome, "driverStateV2")), ElementsAre(100, 101, 102, 103));
  EXPECT_EQ(role(outcome, "monitoring").frames, 6u);
  EXPECT_EQ(role(outcome, "monitoring").dropped.at("notDecodable"), 2u);
}

// Field fault 3: the wide camera loses a frame; the others still find their partners.
TEST_F(ReplayTest, AMissingWidePictureCostsItsPairOnly) {
  RouteBuilder(road(5)).write(route());
  std::filesystem::remove(route() / "ecamera" / "2_1344x760.nv12");
  const auto outcome = play(route(), true, false);
  const auto answered = ids(answers(outcome, "modelV2"));
  EXPECT_GE(answered.size(), 4u);
  EXPECT_EQ(answered.back(), 104u);
  EXPECT_EQ(role(outcome, "driving").wide_without_picture, 1u);
}

TEST_F(ReplayTest, NamesOfFoldersAndFilesDoNotMatter) {
  RouteBuilder(cabin(3)).write(route());
  const auto want = play(route(), false, true);
  std::filesystem::copy(route(), folder_ / "renamed", std::filesystem::copy_options::recursive);
  EXPECT_TRUE(play(folder_ / "renamed", false, true).log == want.log);
  // With the route's name in front, as downloaded; the packing is not what the name says.
  const auto flat = folder_ / "flat";
  const std::string prefix = "0000002b--2686b5a2d0--7--";
  std::filesystem::create_directory(flat);
  std::filesystem::copy(route() / "dcamera", flat / (prefix + "dcamera"));
  const auto log = read_file(route() / "rlog", 1 << 20);
  ASSERT_TRUE(log.ok());
  const auto packed = replay::pack_log(*log, replay::Packing::kZstd);
  ASSERT_TRUE(packed.ok());
  ASSERT_TRUE(write_file_atomically(flat / (prefix + "rlog.bz2"), *packed).ok());
  EXPECT_TRUE(play(flat, false, true).log == want.log);
  // A log by its own name takes the pictures beside it.
  EXPECT_TRUE(play(flat / (prefix + "rlog.bz2"), false, true).log == want.log);
  // Any names at all, when they are given.
  std::filesystem::rename(flat / (prefix + "dcamera"), folder_ / "pictures of the cabin");
  std::filesystem::rename(flat / (prefix + "rlog.bz2"), folder_ / "messages.bin");
  auto chosen = request(folder_ / "messages.bin");
  chosen.choice.pictures[index_of(Camera::kCabin)] = folder_ / "pictures of the cabin";
  EXPECT_TRUE(play(chosen, false, true).log == want.log);
}

TEST_F(ReplayTest, ALogRotatedOverSegmentsIsOneRoute) {
  const RouteBuilder builder(cabin(6));
  builder.write(folder_ / "whole");
  for (const auto& [segment, from, to] :
       {std::tuple("r--9", 0u, 2u), std::tuple("r--10", 2u, 4u), std::tuple("r--11", 4u, 6u)}) {
    builder.write_pictures(folder_ / "parts" / segment, from, to);
    RouteBuilder::write_log(folder_ / "parts" / segment / "rlog.zst", builder.messages(from, to));
  }
  const auto whole = play(folder_ / "whole", false, true);
  EXPECT_TRUE(play(folder_ / "parts", false, true).log == whole.log);
  EXPECT_TRUE(play(folder_ / "parts" / "r", false, true).log == whole.log);
  const auto part = play(folder_ / "parts" / "r--10", false, true);
  EXPECT_THAT(ids(answers(part, "driverStateV2")), ElementsAre(102, 103));
  EXPECT_EQ(whole.report.log.files, 1u);
  std::filesystem::create_directory(folder_ / "parts" / "other--3");
  std::ofstream(folder_ / "parts" / "other--3" / "rlog") << "";
  const auto mixed = replay::find_route(folder_ / "parts");
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(to_string(mixed.error()), HasSubstr("other and r"));
}

TEST_F(ReplayTest, AWindowShowsItsFramesAndKnowsWhatWasSaidBefore) {
  RouteBuilder(road(8)).write(route());
  auto window = request(route());
  window.options.start = 0.1;
  window.options.duration = 0.15;
  const auto outcome = play(window, true, false);
  // Frames at 0.10, 0.15 and 0.20 s; calibrated, although the calibration came before.
  EXPECT_THAT(ids(answers(outcome, "modelV2")), ElementsAre(102, 103, 104));
  EXPECT_EQ(role(outcome, "driving").invalid, 0u);
  window.options.start = 100;
  const auto beyond = replay::replay_route(window, models(true, false));
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ReplayTest, WithoutCalibrationTheRoadIsAnsweredInvalid) {
  RouteOptions options = road(3);
  options.calibrate = false;
  options.car_params = false;
  RouteBuilder(options).write(route());
  const auto outcome = play(route(), true, false);
  EXPECT_EQ(role(outcome, "driving").published, 3u);
  EXPECT_EQ(role(outcome, "driving").invalid, 3u);
  EXPECT_EQ(role(outcome, "driving").invalid_reasons.at("notCalibrated"), 3u);
  EXPECT_FALSE(outcome.report.actuator_delay_known);
}

// A qlog has a camera state now and then, and every index message.
TEST_F(ReplayTest, AShortLogGivesTimesToAllFrames) {
  RouteOptions options = cabin(6);
  options.state_every = 4;
  RouteBuilder(options).write(route(), "qlog");
  RouteBuilder(cabin(6)).write(folder_ / "full");
  const auto brief = answers(play(route(), false, true), "driverStateV2");
  const auto full = answers(play(folder_ / "full", false, true), "driverStateV2");
  EXPECT_EQ(brief, full);
}

TEST_F(ReplayTest, PicturesNamedByTheirTimesNeedNoList) {
  const auto pictures = folder_ / "bare" / "dcamera";
  std::filesystem::create_directories(pictures);
  for (uint32_t i = 0; i < 3; ++i) {
    const auto bytes = RouteBuilder::picture(Camera::kCabin, i);
    ASSERT_TRUE(
        write_file_atomically(
            pictures / (std::to_string(RouteBuilder::eof(Camera::kCabin, i)) + "_1344x760.nv12"),
            bytes)
            .ok());
  }
  const auto outcome = play(folder_ / "bare", false, true);
  EXPECT_THAT(ids(answers(outcome, "driverStateV2")), ElementsAre(0, 1, 2));
}

TEST_F(ReplayTest, StoppingEndsIt) {
  RouteBuilder(cabin(3)).write(route());
  auto stopped = request(route());
  stopped.options.stop = [] { return true; };
  const auto outcome = replay::replay_route(stopped, models(false, true));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kInterrupted);
}

TEST_F(ReplayTest, TwoModelsOfOneRoleAreRefused) {
  RouteBuilder(cabin(1)).write(route());
  auto twice = models(false, true);
  for (auto& model : models(false, true)) twice.push_back(std::move(model));
  EXPECT_FALSE(replay::replay_route(request(route()), std::move(twice)).ok());
}

// A device that never answers ends the replay's patience, not the daemon's deadline on a clock that
// stands still; its work is on the machine's time and leaves no trace in the log.
TEST_F(ReplayTest, SlowDevicesChangeNothing) {
  RouteBuilder(cabin(3)).write(route());
  const auto quick = play(route(), false, true);
  monitoring_script_.takes = 10 * kSecond;
  EXPECT_TRUE(play(route(), false, true).log == quick.log);
}

}  // namespace
}  // namespace modeld::test
