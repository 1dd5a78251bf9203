// Both daemons with executors in processes of their own, while executors are killed and stopped,
// the daemons are stopped and continued, the cameras come and go, lap their readers and set their
// clock, topics are flooded, the disk is full and networks answer what is not a number.
//
// CHAOS_SECONDS (default 60) and CHAOS_SEED (default: another every time; printed).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "runtime/artifact/artifact_writer.h"
#include "runtime/artifact/signing.h"
#include "runtime/program/seeded_inputs.h"
#include "tests/daemon/process/dark_network.h"
#include "tests/daemon/process/served_daemon.h"
#include "tests/daemon/process/small_disk.h"
#include "tests/support/process_use.h"
#include "tools/compile/compile.h"
#include "tools/feed/program_files.h"

namespace modeld {
namespace {

class Chaos : public ServedDaemon {
 protected:
  static constexpr const char* kSettings =
      "[device]\nisolation = \"process\"\nrestarts = 100\n[deadlines]\ninference_ms = 500\n";

  void SetUp() override {
    ServedDaemon::SetUp();
    disk_.emplace(folder_ / "disk");
    if (!disk_->mounted()) std::printf("no disk is filled: %s\n", disk_->error().c_str());
    auto key = SigningKey::generate();
    ASSERT_TRUE(key.ok());
    trust_ = folder_ / "chaos.pub";
    ASSERT_TRUE(save_public_key(*key->public_key(), trust_).ok());
    road_model_ = make_model(*key, models_->driving, "img", "driving");
    cabin_model_ = make_model(*key, models_->monitoring, "input_img", "monitoring");
  }
  void TearDown() override {
    road_.reset();
    child_.reset();
    ServedDaemon::TearDown();
    disk_.reset();
  }

  std::filesystem::path make_model(const SigningKey& key, const std::filesystem::path& sample,
                                   const std::string& image, const std::string& name) {
    const auto onnx = folder_ / (name + ".onnx"), artifact = folder_ / (name + ".model");
    write_dark_network(std::filesystem::path(sample).replace_extension(".onnx"), image, onnx);
    compile::CompileOptions options;
    options.pipeline = *find_pipeline(name + ".toml");
    const auto compiled = compile::compile_onnx(onnx, options);
    EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
    EXPECT_TRUE(write_artifact(artifact, compiled->model, &key).ok());
    return artifact;
  }
  ChildProcess start_one(const char* program, const std::filesystem::path& model, bool driving) {
    const auto file = folder_ / (driving ? "road.toml" : "cabin.toml");
    const std::string text = config(model, driving, trust_) + kSettings + "[state]\ndir = \"" +
                             disk_->folder().string() + "\"\n";
    EXPECT_TRUE(write_file_atomically(file, std::as_bytes(std::span(text))).ok());
    auto child = ChildProcess::start(program, {"--config", file.string()},
                                     driving ? folder_ / "road.log" : log());
    EXPECT_TRUE(child.ok());
    return std::move(child).value();
  }
  void start_both() {
    ASSERT_TRUE(MessageFeed::write_car_params(folder_ / "params").ok());
    begin_listening();
    road_.emplace(start_one(MODELD_PROGRAM, road_model_, true));
    child_.emplace(start_one(DMONITORINGMODELD_PROGRAM, cabin_model_, false));
    start_cameras();
    // Until every buffer of the cameras has been looked at: their pages count as memory.
    EXPECT_TRUE(listen_until([&] { return road_health().valid >= 60 && health().valid >= 60; }))
        << both_logs();
  }

  std::string both_logs() const {
    const auto road = read_text_file(folder_ / "road.log", 1 << 20);
    return log_text() + (road.ok() ? *road : "");
  }

  // Twice as much as the cameras have buffers, within a millisecond or so.
  void tear() {
    on_next_frame([this] { EXPECT_TRUE(feed_->lap(36).ok()); });
  }
  // A hundred times what a topic carries, some of it no message at all.
  void flood(uint64_t seed) {
    on_next_frame([this, seed] {
      SplitMix64 random(seed);
      for (int i = 0; i < 2000; ++i) {
        EXPECT_TRUE(feed_->messages()->car_state().ok());
        if (i % 10 != 0) continue;
        std::vector<std::byte> bytes(1 + random.next() % 500);
        for (std::byte& byte : bytes) byte = std::byte(random.next());
        for (const char* service : {"carState", "extrinsicsCalibration", "deviceState"}) {
          EXPECT_TRUE(feed_->messages()->send_bytes(service, bytes).ok());
        }
      }
    });
  }
  static uint64_t count_of(const std::vector<std::pair<std::string, uint64_t>>& counts,
                           const std::string& wanted) {
    for (const auto& [name, count] : counts) {
      if (name == wanted) return count;
    }
    return 0;
  }

  ChildProcess& any(SplitMix64& random) { return random.next() % 2 == 0 ? *road_ : *child_; }

  void plant(SplitMix64& random) {
    ChildProcess& daemon = any(random);
    const pid_t executor = child_named(child_named(daemon.pid(), "spawner"), "executor");
    switch (random.next() % 9) {
      case 0:
        if (executor > 0) {
          ++planted_["executor killed"];
          kill(executor, SIGKILL);
        }
        return;
      case 1:
        if (executor > 0) {
          ++planted_["executor stopped"];
          kill(executor, SIGSTOP);
        }
        return;
      case 2: {
        ++planted_["daemon stopped and continued"];
        kill(daemon.pid(), SIGSTOP);
        usleep(static_cast<useconds_t>(100'000 + random.next() % 900'000));
        kill(daemon.pid(), SIGCONT);
        return;
      }
      case 3:
        ++planted_["camera server restarted"];
        stop_cameras();
        start_cameras();
        return;
      case 4:
        ++planted_["camera laps its readers"];
        tear();
        return;
      case 5:
        ++planted_["clock of the cameras set"];
        camera_clock_.step((static_cast<Nanoseconds>(random.next() % 7200) - 3600) * kSecond);
        return;
      case 6:
        ++planted_["topics flooded"];
        flood(random.next());
        return;
      case 7: {
        ++planted_["output not a number"];
        feed_->set_dark(true);
        const auto pause = static_cast<Nanoseconds>(random.next() % 1500) * kMillisecond;
        EXPECT_TRUE(answers_->listen(Deadline::after(real(), pause)).ok());
        feed_->set_dark(false);
        return;
      }
      default:
        if (!disk_->mounted()) return;
        ++planted_["disk filled or emptied"];
        full_ = !full_;
        if (full_) {
          disk_->fill();
        } else {
          disk_->empty();
        }
        return;
    }
  }

  // Both answer again, and nothing is unaccounted for.
  void expect_well() {
    const uint64_t road = road_health().valid, cabin = health().valid;
    EXPECT_TRUE(listen_until([&] {
      return road_health().valid >= road + 10 && health().valid >= cabin + 10;
    })) << both_logs();
    expect_accounted(road_health());
    expect_accounted(health());
  }

  std::optional<SmallDisk> disk_;
  bool full_ = false;
  std::filesystem::path trust_, road_model_, cabin_model_;
  std::optional<ChildProcess> road_;
  std::map<std::string, uint64_t> planted_;
};

// What others hear of each of these, one after the other.
TEST_F(Chaos, EachFaultIsNamed) {
  start_both();
  // Outputs that are not numbers: invalid answers, and the reason.
  feed_->set_dark(true);
  bool road_said = false, cabin_said = false;
  EXPECT_TRUE(listen_until([&] {
    road_said = road_said || road_health().reason == "outputInvalid";
    cabin_said = cabin_said || health().reason == "outputInvalid";
    return road_said && cabin_said;
  })) << both_logs();
  feed_->set_dark(false);
  // The network's own history would be the first to hold it.
  EXPECT_GT(count_of(road_health().invalids, "outputNotFinite") +
                count_of(road_health().invalids, "stateNotFinite"),
            0u);
  EXPECT_GT(count_of(health().invalids, "outputNotFinite"), 0u);
  expect_well();
  // A writer that laps its readers: frames thrown away, and counted as that.
  EXPECT_TRUE(listen_until([&] {
    tear();
    return count_of(road_health().drops, "overrun") + count_of(health().drops, "overrun") > 0;
  })) << both_logs();
  expect_well();
  // Set clocks and floods cost no frame its answer for long.
  for (const Nanoseconds step : {3600 * kSecond, -7200 * kSecond, Nanoseconds{0}}) {
    camera_clock_.step(step);
    expect_well();
  }
  flood(7);
  expect_well();
  EXPECT_EQ(road_health().executor_restarts + health().executor_restarts, 0u);
  // A full disk: the trace of a missed deadline is not written, and the log says so.
  if (disk_->mounted()) {
    disk_->fill();
    const pid_t executor = child_named(child_named(road_->pid(), "spawner"), "executor");
    EXPECT_TRUE(listen_until([&] {
      kill(executor, SIGSTOP);
      usleep(100'000);
      kill(executor, SIGCONT);
      EXPECT_TRUE(answers_->listen(Deadline::after(real(), kSecond)).ok());
      return both_logs().find("trace of deadline misses not written") != std::string::npos;
    })) << both_logs();
    disk_->empty();
    expect_well();
  }
  EXPECT_EQ(answers_->driving().not_finite + answers_->monitoring().not_finite, 0u);
  expect_quick_end(*road_);
  expect_quick_end(*child_);
}

TEST_F(Chaos, BothDaemonsGoOn) {
  const uint64_t seconds = test::environment_number("CHAOS_SECONDS", 60);
  const uint64_t seed = test::environment_number(
      "CHAOS_SEED",
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  std::printf("CHAOS_SEED=%llu CHAOS_SECONDS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(seconds));
  SplitMix64 random(seed);
  start_both();
  expect_well();
  const test::ProcessUse road_before = test::process_use(road_->pid()),
                         cabin_before = test::process_use(child_->pid());
  const Deadline end = Deadline::after(real(), static_cast<Nanoseconds>(seconds) * kSecond);
  while (!end.passed(real()) && !HasFailure()) {
    plant(random);
    // Long enough to come back, mostly.
    const auto pause = static_cast<Nanoseconds>(random.next() % 4000) * kMillisecond;
    EXPECT_TRUE(answers_->listen(Deadline::after(real(), pause)).ok());
    EXPECT_FALSE(road_->poll().has_value()) << both_logs();
    EXPECT_FALSE(child_->poll().has_value()) << both_logs();
  }
  expect_well();
  const test::ProcessUse road = test::process_use(road_->pid()),
                         cabin = test::process_use(child_->pid());
  for (const auto& [name, count] : planted_) {
    std::printf("  %4llu x %s\n", static_cast<unsigned long long>(count), name.c_str());
  }
  const auto line = [](const char* name, const HeardHealth& heard, const test::ProcessUse& before,
                       const test::ProcessUse& after) {
    std::printf(
        "%s: %llu accepted, %llu answered (%llu valid), %llu counted, %llu restarts; memory "
        "%.1f -> %.1f MB, descriptors %zu -> %zu\n",
        name, static_cast<unsigned long long>(heard.received),
        static_cast<unsigned long long>(heard.published),
        static_cast<unsigned long long>(heard.valid),
        static_cast<unsigned long long>(dropped(heard)),
        static_cast<unsigned long long>(heard.executor_restarts), before.rss_mb, after.rss_mb,
        before.descriptors, after.descriptors);
  };
  line("modeld", road_health(), road_before, road);
  line("dmonitoringmodeld", health(), cabin_before, cabin);
  EXPECT_EQ(answers_->driving().not_finite + answers_->monitoring().not_finite, 0u);
  // One connection more or less to the cameras or to listeners.
  EXPECT_LE(road.descriptors, road_before.descriptors + 8);
  EXPECT_LE(cabin.descriptors, cabin_before.descriptors + 8);
  EXPECT_LE(road.rss_mb, road_before.rss_mb * 1.3 + 10);
  EXPECT_LE(cabin.rss_mb, cabin_before.rss_mb * 1.3 + 10);
  expect_quick_end(*road_);
  expect_quick_end(*child_);
}

}  // namespace
}  // namespace modeld
