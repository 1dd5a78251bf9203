#include "config/config_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "runtime/base/file.h"

namespace modeld {
namespace {

std::filesystem::path shipped(DaemonKind kind) {
  return std::filesystem::path(MODELD_SOURCE_ROOT) / "config" /
         (std::string(to_string(kind)) + ".toml");
}

// "section.key" of every assignment in a shipped file, read without the loader.
std::vector<std::string> assigned_keys(const std::string& text) {
  std::vector<std::string> keys;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    const size_t equals = line.find(" = ");
    if (!line.starts_with('#') && equals != std::string::npos) {
      keys.push_back(section + "." + line.substr(0, equals));
    }
  }
  return keys;
}

class ShippedConfig : public testing::TestWithParam<DaemonKind> {};

TEST_P(ShippedConfig, EqualsTheDefaults) {
  auto loaded = load_config(shipped(GetParam()), GetParam());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.error());
  EXPECT_EQ(*loaded, default_config(GetParam()));
}

TEST_P(ShippedConfig, ListsEveryKeyOnceAndNoOther) {
  auto text = read_text_file(shipped(GetParam()), kMaxConfigBytes);
  ASSERT_TRUE(text.ok()) << to_string(text.error());
  EXPECT_EQ(assigned_keys(*text), known_keys(GetParam()));
}

TEST_P(ShippedConfig, ExplainsEveryKeyInACommentAboveIt) {
  auto text = read_text_file(shipped(GetParam()), kMaxConfigBytes);
  ASSERT_TRUE(text.ok()) << to_string(text.error());
  std::istringstream lines(*text);
  bool explained = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) explained = true;
    if (line.starts_with('[') || line.empty()) explained = false;
    if (line.find(" = ") != std::string::npos) {
      EXPECT_TRUE(explained) << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShippedConfig,
                         testing::Values(DaemonKind::kModeld, DaemonKind::kDmonitoringmodeld),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(ConfigLoader, EmptyTextGivesTheDefaults) {
  const ConfigReport report = parse_config("", "x.toml", DaemonKind::kModeld);
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.config, default_config(DaemonKind::kModeld));
}

TEST(ConfigLoader, EveryValueReachesItsMember) {
  const ConfigReport report = parse_config(R"(
[artifact]
path = "/a/b.model"
trust = "/a/keys"
allow_unsigned = true
[device]
backend = "reference"
threads = 7
name = "Mali-G78 r0p1"
software = true
isolation = "process"
patience_ms = 20
restarts = 8
[fallback]
enabled = true
artifact = "/a/small.model"
threads = 2
warm_hz = 3
[camera]
server = "other-1"
socket_dir = "/x"
narrow_road = "zerocopy"
wide_road = "zerocopy"
guard_frames = 3
late_frames = 2
[transport]
kind = "zmq-tcp"
ipc_dir = "/y"
names = "old"
[inputs]
params_dir = "/p"
stale = "report"
[messages]
raw_predictions = true
[deadlines]
load_ms = 1000
inference_ms = 70.5
frame_budget_ms = 25
[health]
rate_hz = 4
[scheduling]
realtime_priority = 12
lock_memory = false
[state]
dir = "/s"
[selftest]
repeats = 9
[log]
level = "debug"
)",
                                           "x.toml", DaemonKind::kModeld);
  ASSERT_TRUE(report.problems.empty()) << to_string(report.problems[0]);
  DaemonConfig want;
  want.kind = DaemonKind::kModeld;
  want.artifact = {"/a/b.model", "/a/keys", true};
  want.device = {"reference", 7, "Mali-G78 r0p1", true, Isolation::kProcess, 20 * kMillisecond, 8};
  want.fallback = {true, "/a/small.model", 2, 3};
  want.camera = {"other-1", "/x", FrameInput::kZeroCopy, FrameInput::kZeroCopy, FrameInput::kUpload,
                 3,         2};
  want.transport = {TransportKind::kZmqTcp, "/y", TopicNames::kOld};
  want.inputs = {"/p", StaleInputs::kReport};
  want.deadlines = {kSecond, 70'500'000, 25 * kMillisecond};
  want.messages = {true};
  want.health = {4};
  want.selftest = {9};
  want.log = {"debug"};
  want.scheduling = {12, false};
  want.state = {"/s"};
  EXPECT_EQ(report.config, want);
}

TEST(ConfigLoader, TheDriversSeatIsTheMonitoringDaemons) {
  const std::string_view text = "[camera]\ndriver_seat = \"right\"\n";
  const ConfigReport report = parse_config(text, "x.toml", DaemonKind::kDmonitoringmodeld);
  ASSERT_TRUE(report.problems.empty()) << to_string(report.problems[0]);
  EXPECT_EQ(report.config.camera.driver_seat, DriverSeat::kRight);
  EXPECT_EQ(parse_config(text, "x.toml", DaemonKind::kModeld).problems.size(), 1u);
}

TEST(ConfigLoader, EveryTransportHasItsName) {
  for (const TransportKind kind :
       {TransportKind::kZmqIpc, TransportKind::kZmqTcp, TransportKind::kMsgq}) {
    const std::string text = "[transport]\nkind = \"" + std::string(to_string(kind)) + "\"\n";
    const auto report = parse_config(text, "x.toml", DaemonKind::kModeld);
    ASSERT_TRUE(report.problems.empty()) << to_string(report.problems[0]);
    EXPECT_EQ(report.config.transport.kind, kind);
  }
  EXPECT_EQ(to_string(TransportKind::kMsgq), "msgq");
}

struct Refusal {
  const char* name;
  const char* text;
  const char* where;     // context: file and line
  const char* mentions;  // in the message
  const char* expected;
  const char* found;
};

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, NamesLineKeyExpectedAndFound) {
  const Refusal& want = GetParam();
  const ConfigReport report = parse_config(want.text, "x.toml", DaemonKind::kModeld);
  ASSERT_EQ(report.problems.size(), 1u);
  const Error& problem = report.problems[0];
  EXPECT_EQ(problem.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(problem.context, want.where);
  EXPECT_NE(problem.message.find(want.mentions), std::string::npos) << problem.message;
  EXPECT_NE(problem.expected.find(want.expected), std::string::npos) << problem.expected;
  EXPECT_EQ(problem.found, want.found);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Refused,
    testing::Values(
        Refusal{"UnknownKey", "[device]\nthreds = 2\n", "x.toml:2", "unknown key device.threds",
                "threads", "threds"},
        Refusal{"UnknownSection", "\n[devices]\n", "x.toml:2", "unknown section devices",
                "documented", "devices"},
        Refusal{"KeyOutsideSections", "threads = 2\n", "x.toml:1", "unknown key threads",
                "documented", "threads"},
        Refusal{"KeyOfTheOtherDaemon", "[camera]\ncabin = \"upload\"\n", "x.toml:2",
                "unknown key camera.cabin", "narrow_road", "cabin"},
        Refusal{"SectionIsAValue", "device = 3\n", "x.toml:1", "section device", "a table", "3"},
        Refusal{"StringForInteger", "[device]\n\nthreads = \"two\"\n", "x.toml:3", "device.threads",
                "an integer, 0 to 256", "\"two\""},
        Refusal{"FloatForInteger", "[device]\nthreads = 2.5\n", "x.toml:2", "device.threads",
                "an integer", "2.5 (a float)"},
        Refusal{"IntegerTooLarge", "[device]\nthreads = 257\n", "x.toml:2", "device.threads",
                "0 to 256", "257"},
        Refusal{"IntegerNegative", "[device]\nthreads = -1\n", "x.toml:2", "device.threads",
                "0 to 256", "-1"},
        Refusal{"IntegerBeyond32Bits", "[camera]\nguard_frames = 4294967297\n", "x.toml:2",
                "camera.guard_frames", "1 to 16", "4294967297"},
        Refusal{"NumberIsNan", "[health]\nrate_hz = nan\n", "x.toml:2", "health.rate_hz",
                "0.1 to 20", "nan (a float)"},
        Refusal{"DeadlineZero", "[deadlines]\ninference_ms = 0\n", "x.toml:2",
                "deadlines.inference_ms", "1 to 10000", "0"},
        Refusal{"BooleanAsString", "[artifact]\nallow_unsigned = \"no\"\n", "x.toml:2",
                "artifact.allow_unsigned", "true or false", "\"no\""},
        Refusal{"UnprintableText", "[device]\nname = \"a\\tb\"\n", "x.toml:2", "device.name",
                "printable characters", "\"a\tb\""},
        Refusal{"OpenClInside", "[device]\nbackend = \"opencl\"\n", "x.toml:2", "device.backend",
                "isolation \"process\"", "\"opencl\" with \"inline\""},
        Refusal{"UnknownChoice", "[device]\nbackend = \"cuda\"\n", "x.toml:2", "device.backend",
                "\"opencl\" or \"reference\"", "\"cuda\""},
        Refusal{"RelativePath", "[artifact]\npath = \"driving.model\"\n", "x.toml:2",
                "artifact.path", "an absolute path", "\"driving.model\""},
        Refusal{"EmptyPath", "[artifact]\npath = \"\"\n", "x.toml:2", "artifact.path",
                "an absolute path", "\"\""},
        Refusal{"ServerNameWithSlash", "[camera]\nserver = \"../x\"\n", "x.toml:2", "camera.server",
                "A-Z", "\"../x\""},
        Refusal{"TableForValue", "[log.level]\n", "x.toml:1", "log.level", "\"info\"", "a table"},
        Refusal{"ArrayForValue", "[log]\nlevel = [1]\n", "x.toml:2", "log.level", "\"info\"",
                "an array"},
        Refusal{"FallbackInside", "[fallback]\nenabled = true\n", "x.toml:2", "fallback.enabled",
                "device.isolation", "true with \"inline\""}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(ConfigLoader, TextThatIsNotTomlNamesTheLine) {
  const ConfigReport report = parse_config("[device]\nthreads = \n", "x.toml", DaemonKind::kModeld);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].context, "x.toml:2");
}

TEST(ConfigLoader, DuplicateKeyIsRefused) {
  const ConfigReport report =
      parse_config("[device]\nthreads = 1\nthreads = 2\n", "x.toml", DaemonKind::kModeld);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].context, "x.toml:3");
}

TEST(ConfigLoader, AllProblemsAreReportedByLine) {
  const ConfigReport report = parse_config("[log]\nlevel = 1\n[device]\nthreads = -1\nx = 1\n",
                                           "x.toml", DaemonKind::kModeld);
  ASSERT_EQ(report.problems.size(), 3u);
  EXPECT_EQ(report.problems[0].context, "x.toml:2");
  EXPECT_EQ(report.problems[1].context, "x.toml:4");
  EXPECT_EQ(report.problems[2].context, "x.toml:5");
}

TEST(ConfigLoader, OverlongIpcDirIsRefusedBecauseSocketAddressesAreShort) {
  const std::string text = "[transport]\nipc_dir = \"/" + std::string(72, 'x') + "\"\n";
  const ConfigReport report = parse_config(text, "x.toml", DaemonKind::kModeld);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].expected.find("72 bytes"), std::string::npos);
}

TEST(ConfigLoader, MissingFileIsAConfigurationError) {
  auto loaded = load_config("/nonexistent/x.toml", DaemonKind::kModeld);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(to_string(loaded.error()).find("/nonexistent/x.toml"), std::string::npos);
}

}  // namespace
}  // namespace modeld
