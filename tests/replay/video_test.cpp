// Video files: every bit comes back, and what is missing or broken costs itself only.
#include <gmock/gmock.h>

#include "runtime/base/file.h"
#include "tests/replay/replay_bench.h"
#include "tools/replay/picture_source.h"
#include "tools/replay/video_writer.h"

namespace modeld::test {
namespace {

using replay::Camera;
using replay::PictureRead;
using testing::ElementsAre;
using testing::HasSubstr;

const Nv12Layout& tight() {
  static const Nv12Layout layout{kRouteWidth, kRouteHeight, kRouteWidth,
                                 uint64_t{kRouteWidth} * kRouteHeight,
                                 uint64_t{kRouteWidth} * kRouteHeight * 3 / 2};
  return layout;
}

class VideoTest : public ReplayBench {
 protected:
  static RouteOptions cabin(PictureForm form, uint32_t frames = 5) {
    RouteOptions options;
    options.frames = frames;
    options.pictures = {PictureForm::kNone, PictureForm::kNone, form};
    options.index = true;
    return options;
  }
  std::filesystem::path write(const RouteOptions& options, const std::string& name) {
    RouteBuilder(options).write(folder_ / name);
    return folder_ / name;
  }
  static std::vector<uint32_t> ids(const std::vector<LoggedAnswer>& answers) {
    std::vector<uint32_t> ids;
    for (const LoggedAnswer& answer : answers) ids.push_back(answer.frame_id);
    return ids;
  }
};

TEST_F(VideoTest, LosslessVideosGiveBackEveryPixel) {
  for (const PictureForm form : {PictureForm::kHevc, PictureForm::kFfv1}) {
    const auto folder = write(cabin(form, 3), form == PictureForm::kHevc ? "hevc" : "ffv1");
    auto source = replay::open_pictures(
        folder / (form == PictureForm::kHevc ? "dcamera.hevc" : "dcamera.mkv"));
    ASSERT_TRUE(source.ok()) << to_string(source.error());
    EXPECT_EQ((*source)->size(), (FrameSize{kRouteWidth, kRouteHeight}));
    for (uint32_t i = 0; i < 3; ++i) {
      std::vector<std::byte> found(tight().length);
      ASSERT_EQ(*(*source)->read(i, tight(), found), PictureRead::kRead);
      EXPECT_TRUE(found == RouteBuilder::picture(Camera::kCabin, i)) << i;
    }
    std::vector<std::byte> none(tight().length);
    EXPECT_EQ(*(*source)->read(3, tight(), none), PictureRead::kMissing);
    EXPECT_THAT((*source)->why(), HasSubstr("3 pictures"));
  }
}

TEST_F(VideoTest, AVideoReplaysLikeItsPictures) {
  RouteOptions folders;
  folders.frames = 3;
  const auto want = play(write(folders, "folders"));
  RouteOptions videos = folders;
  videos.pictures = {PictureForm::kHevc, PictureForm::kHevc, PictureForm::kHevc};
  videos.index = true;
  EXPECT_TRUE(play(write(videos, "videos")).log == want.log);
  // Without index messages the camera states count.
  videos.index = false;
  EXPECT_TRUE(play(write(videos, "states")).log == want.log);
}

TEST_F(VideoTest, FieldFault37AVideoShorterThanItsIndex) {
  RouteOptions options = cabin(PictureForm::kHevc, 5);
  options.pictures_short = 1;
  const auto outcome = play(write(options, "short"), false, true);
  EXPECT_THAT(ids(answers(outcome, "driverStateV2")), ElementsAre(100, 101, 102, 103));
  EXPECT_EQ(role(outcome, "monitoring").frames, 5u);
  EXPECT_EQ(role(outcome, "monitoring").dropped.at("noPicture"), 1u);
}

// Field fault 37: segment numbers of video and log out of step.
TEST_F(VideoTest, FieldFault37SegmentNumbersOutOfStep) {
  RouteOptions options = cabin(PictureForm::kHevc, 3);
  options.segment_number = 4;
  const auto in_step = play(write(options, "a--4"), false, true);
  EXPECT_TRUE(in_step.report.cameras[0].notes.empty());
  std::filesystem::copy(folder_ / "a--4", folder_ / "b--3",
                        std::filesystem::copy_options::recursive);
  const auto out_of_step = play(folder_ / "b--3", false, true);
  EXPECT_TRUE(out_of_step.log == in_step.log);
  ASSERT_EQ(out_of_step.report.cameras[0].notes.size(), 1u);
  EXPECT_THAT(out_of_step.report.cameras[0].notes[0], HasSubstr("segment 4"));
}

// Index messages of the neighbours' videos at the edges of a log.
TEST_F(VideoTest, IndexOfASegmentThatIsNotThereHasNoPictures) {
  RouteOptions options = cabin(PictureForm::kHevc, 4);
  options.segment_number = 7;
  const RouteBuilder builder(options);
  builder.write_pictures(folder_ / "s--7", 0, 4);
  MessageList list;
  const uint64_t before = static_cast<uint64_t>(RouteBuilder::kStart) - 30'000'000;
  list.add_index(RouteBuilder::kStart, Camera::kCabin, false, 99, 6, 1199, before, before + 1000);
  list.add_raw(builder.messages(0, 4).bytes());
  RouteBuilder::write_log(folder_ / "s--7" / "rlog", list);
  const auto outcome = play(folder_ / "s--7", false, true);
  EXPECT_THAT(ids(answers(outcome, "driverStateV2")), ElementsAre(100, 101, 102, 103));
  EXPECT_EQ(role(outcome, "monitoring").dropped.at("noPicture"), 1u);
}

TEST_F(VideoTest, ABrokenPictureShiftsNobody) {
  const auto folder = write(cabin(PictureForm::kFfv1, 5), "whole");
  const auto want = answers(play(folder, false, true), "driverStateV2");
  ASSERT_EQ(want.size(), 5u);
  // The middle of the file lies in the third picture: all of about one size.
  auto bytes = *read_file(folder / "dcamera.mkv", uint64_t{1} << 30);
  for (size_t i = 0; i < 64; ++i) bytes[bytes.size() / 2 + i] ^= std::byte{0xff};
  ASSERT_TRUE(write_file_atomically(folder / "dcamera.mkv", bytes).ok());
  const auto outcome = play(folder, false, true);
  const auto found = answers(outcome, "driverStateV2");
  EXPECT_EQ(role(outcome, "monitoring").frames, 5u);
  // Whatever the decoder made of it, the pictures around it are theirs: ids and first answers.
  ASSERT_GE(found.size(), 4u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(found[i], want[i]);
  EXPECT_EQ(found.back().frame_id, 104u);
}

TEST_F(VideoTest, ThePreviewStandsInForTheNarrowCamera) {
  RouteOptions options;
  options.frames = 3;
  options.pictures = {PictureForm::kPreview, PictureForm::kNone, PictureForm::kNone};
  options.index = true;
  const auto outcome = play(write(options, "preview"), true, false);
  EXPECT_THAT(ids(answers(outcome, "modelV2")), ElementsAre(100, 101, 102));
  EXPECT_EQ(role(outcome, "driving").invalid, 0u) << role(outcome, "driving").first_invalid;
  EXPECT_EQ(outcome.report.cameras[0].size, (FrameSize{kRouteWidth, kRouteHeight}));
}

TEST_F(VideoTest, WhatIsNoVideoIsNamed) {
  const std::string text = "this is no video";
  ASSERT_TRUE(write_file_atomically(folder_ / "dcamera.hevc", std::as_bytes(std::span(text))).ok());
  const auto source = replay::open_pictures(folder_ / "dcamera.hevc");
  ASSERT_FALSE(source.ok());
  EXPECT_THAT(to_string(source.error()), HasSubstr("dcamera.hevc"));
}

}  // namespace
}  // namespace modeld::test
