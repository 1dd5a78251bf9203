// Both daemons with executors in processes of their own, while executors are killed and stopped,
// the daemons are stopped and continued, and the cameras come and go.
//
// CHAOS_SECONDS (default 15) and CHAOS_SEED (default: another every time; printed).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "runtime/program/seeded_inputs.h"
#include "tests/daemon/process/served_daemon.h"
#include "tests/support/process_use.h"

namespace modeld {
namespace {

class Chaos : public ServedDaemon {
 protected:
  static constexpr const char* kSettings =
      "[device]\nisolation = \"process\"\nrestarts = 100\n[deadlines]\ninference_ms = 500\n";

  void start_both() {
    ASSERT_TRUE(MessageFeed::write_car_params(folder_ / "params").ok());
    const auto file = folder_ / "road.toml";
    const std::string text = config(models_->driving, true, models_->trust) + kSettings;
    ASSERT_TRUE(write_file_atomically(file, std::as_bytes(std::span(text))).ok());
    auto child = ChildProcess::start(MODELD_PROGRAM, {"--config", file.string()}, log());
    ASSERT_TRUE(child.ok());
    road_.emplace(std::move(child).value());
    serve(kSettings);
  }
  ChildProcess& any(SplitMix64& random) { return random.next() % 2 == 0 ? *road_ : *child_; }

  void plant(SplitMix64& random) {
    ChildProcess& daemon = any(random);
    const pid_t executor = child_named(child_named(daemon.pid(), "spawner"), "executor");
    switch (random.next() % 4) {
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
      default:
        ++planted_["camera server restarted"];
        stop_cameras();
        start_cameras();
        return;
    }
  }

  // Both answer again, and nothing is unaccounted for.
  void expect_well() {
    const uint64_t road = road_health().valid, cabin = health().valid;
    EXPECT_TRUE(listen_until([&] {
      return road_health().valid >= road + 10 && health().valid >= cabin + 10;
    })) << log_text();
    expect_accounted(road_health());
    expect_accounted(health());
  }

  std::optional<ChildProcess> road_;
  std::map<std::string, uint64_t> planted_;
};

TEST_F(Chaos, BothDaemonsGoOn) {
  const uint64_t seconds = test::environment_number("CHAOS_SECONDS", 15);
  const uint64_t seed = test::environment_number(
      "CHAOS_SEED",
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  std::printf("CHAOS_SEED=%llu CHAOS_SECONDS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(seconds));
  SplitMix64 random(seed);
  start_both();
  // Until every buffer of the cameras has been looked at: their pages count as memory.
  EXPECT_TRUE(listen_until([&] { return road_health().valid >= 60 && health().valid >= 60; }))
      << log_text();
  expect_well();
  const test::ProcessUse road_before = test::process_use(road_->pid()),
                         cabin_before = test::process_use(child_->pid());
  const Deadline end = Deadline::after(real(), static_cast<Nanoseconds>(seconds) * kSecond);
  while (!end.passed(real()) && !HasFailure()) {
    plant(random);
    // Long enough to come back, mostly.
    const auto pause = static_cast<Nanoseconds>(random.next() % 4000) * kMillisecond;
    EXPECT_TRUE(answers_->listen(Deadline::after(real(), pause)).ok());
    EXPECT_FALSE(road_->poll().has_value()) << log_text();
    EXPECT_FALSE(child_->poll().has_value()) << log_text();
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
