// Commands around the daemons: configuration, camera, dump.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/modelctl/tool.h"
#include "tests/support/test_data.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class BusTest : public ToolTest {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
};

TEST_F(BusTest, ShippedConfigurationsAreGood) {
  const std::filesystem::path config = std::filesystem::path(MODELD_SOURCE_ROOT) / "config";
  for (const std::string daemon : {"modeld", "dmonitoringmodeld"}) {
    const ToolResult result =
        tool({"config", "--check", (config / (daemon + ".toml")).string(), "--daemon", daemon});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("good for " + daemon));
  }
}

TEST_F(BusTest, ConfigurationProblemsAreListedByLine) {
  write("bad.toml", "[device]\nthreads = \"two\"\nthreds = 3\n");
  const ToolResult text = tool({"config", "--check", "bad.toml"});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.out, HasSubstr("bad.toml:2: key device.threads (expected an integer, 0 to 256, "
                                  "found \"two\")"));
  EXPECT_THAT(text.out, HasSubstr("bad.toml:3: unknown key device.threds"));
  const ToolResult json = tool({"config", "--check", "bad.toml", "--json"});
  EXPECT_EQ(json.exit_code, 2);
  EXPECT_EQ(json.json()["problems"].size(), 2u);
  EXPECT_EQ(json.json()["problems"][0]["where"], "bad.toml:2");
  EXPECT_EQ(tool({"config", "--check", "none.toml"}).exit_code, 2);
}

// A key of one daemon is unknown to the other.
TEST_F(BusTest, ConfigurationIsCheckedForTheDaemonNamed) {
  write("d.toml", "[camera]\ncabin = \"upload\"\n");
  EXPECT_EQ(tool({"config", "--check", "d.toml"}).exit_code, 2);
  EXPECT_EQ(tool({"config", "--check", "d.toml", "--daemon", "dmonitoringmodeld"}).exit_code, 0);
}

TEST_F(BusTest, MessagesAreTimedOverBothTransports) {
  const ToolResult json =
      tool({"bench-bus", "--bytes", "64", "--bytes", "70000", "--messages", "20", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto report = json.json();
  ASSERT_EQ(report["rows"].size(), 4u);
  for (const auto& row : report["rows"]) {
    EXPECT_GT(row["arrival"]["p50_us"].get<double>(), 0) << row;
    EXPECT_GE(row["arrival"]["p99_us"], row["arrival"]["p50_us"]) << row;
    EXPECT_GT(row["messages_per_s"].get<double>(), 0) << row;
  }
  EXPECT_EQ(report["rows"][1]["transport"], "msgq");
  EXPECT_EQ(tool({"bench-bus", "--bytes", "3"}).exit_code, 2);
}

TEST_F(BusTest, DumpsARecordedLog) {
  MODELD_NEED_SHARED("data/vectors/capnp/99_concatenated.bin");
  const std::string log = shared_path("data/vectors/capnp/99_concatenated.bin").string();
  const ToolResult text = tool({"dump", log, "--count", "1"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  // messages.json beside it says what the first message holds.
  EXPECT_THAT(text.out, HasSubstr("drivingModelData"));
  EXPECT_THAT(text.out, HasSubstr("frameId = 3195852061"));
  const ToolResult all = tool({"dump", log, "--json"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  std::istringstream lines(all.out);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line.substr(0, 200);
  }
  EXPECT_GE(count, 2u);
}

TEST_F(BusTest, DamagedLogNamesTheMessage) {
  write("junk.log", std::string(64, '\xff'));
  const ToolResult result = tool({"dump", "junk.log"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err, "");
}

TEST_F(BusTest, SilentTopicEndsAtItsTime) {
  const ToolResult result = tool({"dump", "modelV2", "--ipc-dir", path("ipc"), "--seconds", "0.3"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("modelV2"));
}

TEST_F(BusTest, CameraServesMessagesThatDumpShows) {
  ToolResult camera;
  std::thread serving([&] {
    camera = tool({"camera", "--size", "320x160", "--seconds", "6", "--messages", "--socket-dir",
                   path(""), "--ipc-dir", path("ipc"), "--json"});
  });
  const ToolResult dump = tool({"dump", "liveCalibration", "--ipc-dir", path("ipc"), "--count", "2",
                                "--seconds", "30", "--json"});
  serving.join();
  EXPECT_EQ(dump.exit_code, 0) << dump.err;
  const auto message = nlohmann::json::parse(dump.out.substr(0, dump.out.find('\n')));
  ASSERT_TRUE(message.contains("extrinsicsCalibration")) << dump.out;
  EXPECT_EQ(message["extrinsicsCalibration"]["rpyCalib"].size(), 3u);
  EXPECT_EQ(camera.exit_code, 0) << camera.err;
  // 20 Hz for six seconds; a busy machine may be late, but never early.
  const auto pairs = camera.json()["road_pairs"].get<int>();
  EXPECT_LE(pairs, 121);
  EXPECT_GE(pairs, 30);
  EXPECT_NEAR(camera.json()["cabin_frames"].get<int>(), pairs, 1);
}

TEST_F(BusTest, CameraSizeMustBeASize) {
  for (const char* size : {"320", "320x", "x160", "320x160x1", "321x160", "0x0"}) {
    EXPECT_EQ(tool({"camera", "--size", size, "--seconds", "0.1", "--socket-dir", path(""),
                    "--ipc-dir", path("ipc")})
                  .exit_code,
              2)
        << size;
  }
}

TEST_F(BusTest, DemoRefusesNonsenseBeforeItStartsAnything) {
  EXPECT_EQ(tool({"demo", "--seconds", "0"}).exit_code, 2);
  EXPECT_EQ(tool({"demo", "--threads", "many"}).exit_code, 2);
}

}  // namespace
}  // namespace modeld::test
