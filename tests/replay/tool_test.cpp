// `modelctl replay` as a user runs it, on the cpu backend.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "runtime/base/file.h"
#include "tests/modelctl/tool.h"
#include "tests/replay/route_builder.h"
#include "tests/support/test_data.h"

namespace modeld::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReplayTool : public testing::Test {
 protected:
  // The network takes seconds: once for all tests.
  static void SetUpTestSuite() {
    shared_ = new TempDir;
    const std::string pipeline =
        std::string(MODELD_SOURCE_ROOT) + "/config/pipelines/monitoring.toml";
    ASSERT_EQ(run_tool({"sample", "monitoring", "-o", "m.onnx"}, shared_->path()).exit_code, 0);
    const ToolResult compiled =
        run_tool({"compile", "m.onnx", "--pipeline", pipeline, "-o", "m.model"}, shared_->path());
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  }
  static void TearDownTestSuite() { delete shared_; }

  ToolResult tool(std::vector<std::string> arguments, bool model = true) const {
    if (model) {
      arguments.push_back("--artifact");
      arguments.push_back((*shared_ / "m.model").string());
    }
    return run_tool(arguments, folder_.path());
  }
  void write_route(const std::string& name, uint32_t frames) const {
    RouteOptions options;
    options.frames = frames;
    options.pictures = {PictureForm::kNone, PictureForm::kNone, PictureForm::kNv12Folder};
    RouteBuilder(options).write(folder_ / name, "rlog.zst");
  }
  std::vector<std::byte> bytes(const std::string& name) const {
    return *read_file(folder_ / name, 1 << 24);
  }

  static TempDir* shared_;
  TempDir folder_;
};
TempDir* ReplayTool::shared_ = nullptr;

TEST_F(ReplayTool, AnswersAreTheSameBytesEveryTimeAndCompare) {
  write_route("r", 3);
  const ToolResult first = tool({"replay", "r", "--out", "a.log", "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto report = first.json();
  EXPECT_EQ(report["frames"], 3);
  EXPECT_EQ(report["published"], 3);
  EXPECT_EQ(report["invalid"], 0);
  EXPECT_TRUE(report["dropped"].empty());
  EXPECT_TRUE(report["mismatches"].is_array());
  for (const char* name : {"mean", "p50", "p90", "p99", "p999", "max"}) {
    EXPECT_GT(report["latency_ms"][name], 0) << name;
  }
  const ToolResult second =
      tool({"replay", "r", "--out", "b.log", "--threads", "1", "--compare", "a.log"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.out, HasSubstr("compared 3 messages"));
  EXPECT_TRUE(bytes("a.log") == bytes("b.log"));

  // Another picture: other answers, named.
  std::filesystem::copy_file(folder_ / "r/dcamera/0_1344x760.nv12",
                             folder_ / "r/dcamera/2_1344x760.nv12",
                             std::filesystem::copy_options::overwrite_existing);
  const ToolResult other = tool({"replay", "r", "--out", "c.zst", "--compare", "a.log", "--json"});
  EXPECT_EQ(other.exit_code, 1);
  ASSERT_FALSE(other.json()["mismatches"].empty());
  EXPECT_EQ(other.json()["mismatches"][0]["frame_id"], 102);
  EXPECT_THAT(other.err, HasSubstr("driverStateV2"));

  const ToolResult dump = tool({"dump", "c.zst", "--json"}, false);
  EXPECT_EQ(dump.exit_code, 0) << dump.err;
  EXPECT_THAT(dump.out, HasSubstr("driverStateV2"));
}

TEST_F(ReplayTool, TheDriverMaySitOnTheRight) {
  MODELD_NEED_SHARED("data/models/dm-2021-06.onnx");
  write_route("r", 1);
  const auto answer = [&](const std::string& seat) {
    const ToolResult replayed =
        tool({"replay", "r", "--out", seat + ".log", "--driver-seat", seat, "--artifact",
              shared_path("data/models/dm-2021-06.onnx"), "--pipeline",
              std::string(MODELD_SOURCE_ROOT) + "/config/pipelines/monitoring_2021.toml"},
             false);
    EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
    const ToolResult dump = tool({"dump", seat + ".log", "--json"}, false);
    std::istringstream lines(dump.out);
    nlohmann::json found;
    for (std::string line; std::getline(lines, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event.contains("driverStateV2")) found = event["driverStateV2"];
    }
    return found;
  };
  const auto left = answer("left");
  EXPECT_NE(left["leftDriverData"]["faceProb"], 0);
  EXPECT_EQ(left["rightDriverData"]["faceProb"], 0);
  const auto right = answer("right");
  EXPECT_EQ(right["leftDriverData"]["faceProb"], 0);
  EXPECT_NE(right["rightDriverData"]["faceProb"], 0);
  EXPECT_EQ(tool({"replay", "r", "--out", "x.log", "--driver-seat", "middle"}).exit_code, 2);
}

TEST_F(ReplayTool, WhatCannotBeReplayedIsUsage) {
  write_route("r", 1);
  EXPECT_EQ(tool({"replay", "r"}).exit_code, 2);
  EXPECT_EQ(tool({"replay", "none", "--out", "a.log"}).exit_code, 2);
  EXPECT_EQ(tool({"replay", "--out", "a.log"}).exit_code, 2);
  EXPECT_EQ(tool({"replay", "r", "--expect", "r", "--out", "a.log"}).exit_code, 2);
  EXPECT_EQ(tool({"replay", "r", "--out", "a.log", "--start", "9"}).exit_code, 2);
  EXPECT_EQ(tool({"replay", "--expect", "r", "--shard", "3/2"}).exit_code, 2);
}

TEST_F(ReplayTool, ASuiteInShardsIsTheSuite) {
  for (const char* name : {"a", "b", "c"}) write_route(std::string("suite/") + name, 1);
  EXPECT_EQ(tool({"replay", "--expect", "suite", "--update"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "suite/b/expected.zst"));
  // A case whose route has changed since.
  write_route("suite/b", 2);
  const ToolResult one = tool({"replay", "--expect", "suite", "--shard", "1/2", "--results",
                               "1.json", "--junit", "1.xml", "--json"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.json()["cases"], 2);
  const ToolResult two =
      tool({"replay", "--expect", "suite", "--shard", "2/2", "--results", "2.json", "--json"});
  EXPECT_EQ(two.exit_code, 1);
  EXPECT_EQ(two.json()["failures"][0]["name"], "b");
  EXPECT_EQ(two.json()["failures"][0]["verdict"], "failed");
  // Done is done: at once, and the same.
  EXPECT_EQ(
      tool({"replay", "--expect", "suite", "--shard", "1/2", "--results", "1.json"}).exit_code, 0);
  EXPECT_EQ(
      tool({"replay", "--expect", "suite", "--shard", "2/2", "--results", "1.json"}).exit_code, 2);
  const ToolResult merged =
      tool({"replay", "--merge", "2.json", "1.json", "--junit", "all.xml", "--json"}, false);
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_EQ(merged.json()["cases"], 3);
  EXPECT_EQ(merged.json()["passed"], 2);
  const auto xml = read_text_file(folder_ / "all.xml", 1 << 20);
  ASSERT_TRUE(xml.ok());
  EXPECT_THAT(*xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\""));
  EXPECT_EQ(tool({"replay", "--merge", "1.json"}, false).exit_code, 1);
}

}  // namespace
}  // namespace modeld::test
