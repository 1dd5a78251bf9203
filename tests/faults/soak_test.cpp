// Both loops at 20 Hz under random faults, on a clock moved by hand: nothing crashes, nothing
// grows, every accepted frame is answered or counted.
//
// SOAK_FRAMES (default 1200: a minute of driving), SOAK_SEED (default: another every time;
// printed), SOAK_PACED=1 (sleeps, so that it takes as long as the driving).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <thread>

#include "daemon/health/flight_writer.h"
#include "daemon/monitoring/monitoring_loop.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_writer.h"
#include "runtime/base/sanitized.h"
#include "runtime/program/seeded_inputs.h"
#include "tests/daemon/support/driving_bench.h"
#include "tests/daemon/support/model_contracts.h"
#include "tests/support/process_use.h"
#include "tests/support/temp_dir.h"

namespace modeld::test {
namespace {

constexpr Nanoseconds kPeriod = DrivingBench::kPeriod;

// By least squares, per hour of driving.
double slope(const std::vector<double>& values, double seconds_apart) {
  const auto n = static_cast<double>(values.size());
  double weighted = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - (n - 1) / 2;
    weighted += x * values[i];
    squares += x * x;
  }
  return squares == 0 ? 0 : weighted / squares / seconds_apart * 3600;
}

// A disk without room, for every file this process writes.
void fill_disk(bool full) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = full ? 0 : limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
}

class Drive {
 public:
  explicit Drive(uint64_t seed) : random_(seed) {
    auto made = monitoring::MonitoringLoop::create(
        {bench_.clock, bench_.transport, cabin_engine_, cabin_health_}, {}, cabin_.stream(true));
    EXPECT_TRUE(made.ok()) << to_string(made.error());
    cabin_loop_ = std::move(made).value();
    cabin_loop_->refresh_health();
    cabin_health_.state.begin_self_test(bench_.clock.monotonic());
    cabin_health_.state.self_test_passed(bench_.clock.monotonic());
    cabin_script_.takes = 5 * kMillisecond;
    driver_ = *bench_.transport.subscriber("driverStateV2", ipc::SubscribeMode::kQueue);
    auto writer = FlightWriter::start(
        Clock::real(), {.folder = state_.path(), .process = "soak", .shortest_gap = kSecond / 10});
    EXPECT_TRUE(writer.ok());
    writer_ = std::move(writer).value();
  }
  ~Drive() { fill_disk(false); }

  void frame() {
    heal();
    if (random_.uniform() < 0.15) plant();
    bench_.tick();
    if (pause_ > 0) {
      --pause_;
    } else {
      send();
    }
    run(*bench_.loop, *bench_.engine, bench_.script, driving_contract());
    run(*cabin_loop_, cabin_engine_, cabin_script_, monitoring_contract());
    writer_->offer(bench_.health.flight);
    listen();
    settle();
  }

  void tell(uint64_t frames) const {
    const auto line = [](const char* name, const FrameCounters& count, uint64_t restarts) {
      std::printf(
          "%s: %llu frames accepted, %llu answered (%llu valid), %llu counted, %llu ids "
          "missed, %llu restarts\n",
          name, static_cast<unsigned long long>(count.received),
          static_cast<unsigned long long>(count.published),
          static_cast<unsigned long long>(count.valid),
          static_cast<unsigned long long>(count.dropped_total()),
          static_cast<unsigned long long>(count.missed), static_cast<unsigned long long>(restarts));
    };
    std::printf("%llu frame periods\n", static_cast<unsigned long long>(frames));
    line("driving", bench_.health.frames, restarts_);
    line("monitoring", cabin_health_.frames, 0);
    for (const auto& [name, count] : planted_) {
      std::printf("  %5llu x %s\n", static_cast<unsigned long long>(count), name.c_str());
    }
    std::printf("traces written %llu, failed on the full disk %llu\n",
                static_cast<unsigned long long>(writer_->written()),
                static_cast<unsigned long long>(writer_->failed()));
  }
  bool went_on() const { return bench_.health.frames.valid > 0 && cabin_health_.frames.valid > 0; }

 private:
  uint64_t below(uint64_t bound) { return random_.next() % bound; }

  void send() {
    ++id_;
    const auto sof = static_cast<uint64_t>(bench_.clock.boottime() - 20 * kMillisecond + step_);
    const bool loses_wide = random_.uniform() < 0.02;
    const bool loses_narrow = random_.uniform() < 0.02;
    if (!loses_narrow) bench_.narrow->send(id_, sof, id_);
    if (!loses_wide) bench_.wide->send(id_, sof, id_ + 1000);
    cabin_.send(id_, sof, id_ + 2000);
  }

  // Faults last some frames.
  void heal() {
    if (left_ > 0 && --left_ > 0) return;
    for (DigestScript* script : {&bench_.script, &cabin_script_}) {
      script->spoil = nullptr;
      script->blocks = false;
      script->fails_at_replay.reset();
      script->fails_at_wait.reset();
      script->fails_at_commit.reset();
      script->index_out_of_range = 0;
      script->takes = 10 * kMillisecond;
    }
    fill_disk(false);
  }

  void plant() {
    DigestScript& script = below(2) == 0 ? bench_.script : cabin_script_;
    left_ = 1 + below(30);
    const auto named = [&](const char* name) { ++planted_[name]; };
    switch (below(13)) {
      case 0: {
        named("camera server restarted");
        if (below(2) == 0) {
          bench_.narrow->restart();
          bench_.wide->restart();
        } else {
          cabin_.restart();
        }
        id_ = below(3) == 0 ? 0 : id_;
        return;
      }
      case 1: {
        named("frame torn");
        FakeCamera& camera = below(2) == 0 ? *bench_.narrow : cabin_;
        camera.before_check = [this, &camera](uint64_t) {
          camera.before_check = nullptr;
          for (uint32_t lap = 1; lap <= 8; ++lap) {
            camera.send(id_ + lap, static_cast<uint64_t>(bench_.clock.boottime()), lap);
          }
        };
        id_ += 8;
        return;
      }
      case 2: {
        named("output not a number");
        const size_t place = below(2580);
        script.spoil = [place](std::span<float> values) {
          values[place % values.size()] = std::numeric_limits<float>::quiet_NaN();
        };
        return;
      }
      case 3:
        named("device lost");
        script.fails_at_wait = ErrorCode::kDeviceLost;
        left_ = 2;
        return;
      case 4:
        named("device error");
        (below(2) == 0 ? script.fails_at_replay : script.fails_at_commit) = ErrorCode::kDevice;
        return;
      case 5:
        named("device hangs");
        script.blocks = true;
        return;
      case 6:
        named("process stopped and continued");
        for (uint64_t missed = 1 + below(60); missed > 0; --missed) {
          bench_.tick();
          send();
        }
        return;
      case 7:
        named("clock of the camera stepped");
        step_ = static_cast<Nanoseconds>(below(20)) * kSecond - 10 * kSecond;
        return;
      case 8:
        named("message flood");
        for (int i = 0; i < 2000; ++i) {
          bench_.send_car_state(i % 7 == 0 ? std::numeric_limits<float>::quiet_NaN() : 20.0f);
        }
        return;
      case 9: {
        named("garbage on topics");
        std::vector<std::byte> bytes(1 + below(500));
        for (std::byte& byte : bytes) byte = std::byte(random_.next());
        for (const char* topic : {"carState", "extrinsicsCalibration", "deviceState"}) {
          auto publisher = bench_.transport.publisher(topic);
          EXPECT_TRUE(publisher.ok() && (*publisher)->send(bytes).ok());
        }
        return;
      }
      case 10:
        named("calibration not a number");
        bench_.send_calibration(std::numeric_limits<float>::quiet_NaN());
        return;
      case 11:
        named("frames stop");
        pause_ = below(40);
        return;
      default:
        named("disk full, slow device");
        fill_disk(true);
        script.takes = 80 * kMillisecond;
        return;
    }
  }

  // As the service does: what ends a loop is a device, which is started again.
  void run(FrameLoop& loop, Engine& engine, DigestScript& script, const Contract& contract) {
    const Status went = loop.run_once(Deadline::after(bench_.clock, 10 * kMillisecond));
    loop.refresh_health();
    if (went.ok()) return;
    EXPECT_TRUE(went.error().code == ErrorCode::kDeviceLost ||
                went.error().code == ErrorCode::kDeadline)
        << to_string(went.error());
    ++restarts_;
    script.blocks = false;
    script.fails_at_wait.reset();
    engine.replace_device(std::make_unique<DigestDevice>(contract, script, bench_.clock));
    loop.resume();
  }

  void listen() {
    for (const auto& heard :
         {bench_.model_v2(), bench_.driving_model_data(), bench_.camera_odometry()}) {
      for (const Heard& message : heard) {
        EXPECT_TRUE(message.finite) << message.kind << " of frame " << message.frame_id;
        if (message.kind == "modelV2") {
          EXPECT_EQ(message.valid, !message.plan_x.empty());
        }
      }
    }
    while (true) {
      auto message = driver_->receive();
      ASSERT_TRUE(message.ok());
      if (!*message) break;
    }
    // Calibrated again, sooner or later.
    if (below(20) == 0) {
      bench_.send_states();
      bench_.send_calibration();
      bench_.send_car_state(20);
    }
  }

  // Nothing silent.
  void settle() {
    const FrameCounters& road = bench_.health.frames;
    const uint64_t ended = road.published + road.dropped_total();
    ASSERT_GE(road.received, ended);
    ASSERT_LE(road.received - ended, 1u) << "more than the one in hand";
    const FrameCounters& cabin = cabin_health_.frames;
    ASSERT_EQ(cabin.received, cabin.published + cabin.dropped_total());
  }

  SplitMix64 random_;
  TempDir state_;
  DrivingBench bench_;
  DigestScript cabin_script_;
  FakeCamera cabin_{*Nv12Layout::openpilot(1344, 760), 8, bench_.clock};
  Engine cabin_engine_{
      model_of(monitoring_contract()),
      std::make_unique<DigestDevice>(monitoring_contract(), cabin_script_, bench_.clock),
      {}};
  DaemonHealth cabin_health_{"dmonitoringmodeld", "test", HealthLimits{}, bench_.clock};
  std::unique_ptr<monitoring::MonitoringLoop> cabin_loop_;
  std::unique_ptr<ipc::Subscriber> driver_;
  std::unique_ptr<FlightWriter> writer_;
  std::map<std::string, uint64_t> planted_;
  uint32_t id_ = 0;
  Nanoseconds step_ = 0;
  uint64_t left_ = 0;
  uint64_t pause_ = 0;
  uint64_t restarts_ = 0;
};

TEST(Soak, BothLoopsUnderRandomFaults) {
  const uint64_t frames = environment_number("SOAK_FRAMES", 1200);
  const uint64_t seed = environment_number(
      "SOAK_SEED",
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  const bool paced = environment_number("SOAK_PACED", 0) != 0;
  std::printf("SOAK_SEED=%llu SOAK_FRAMES=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(frames));
  std::signal(SIGXFSZ, SIG_IGN);  // a full disk is an error of the write
  Drive drive(seed);
  std::vector<double> memory, descriptors;
  constexpr uint64_t kBetween = 20;  // frames: a second
  auto next = std::chrono::steady_clock::now();
  for (uint64_t i = 1; i <= frames && !testing::Test::HasFailure(); ++i) {
    drive.frame();
    if (i % kBetween == 0 && i > frames / 5) {
      const ProcessUse use = process_use(getpid());
      memory.push_back(use.rss_mb);
      descriptors.push_back(use.descriptors);
    }
    if (!paced) continue;
    next += std::chrono::nanoseconds(kPeriod);
    std::this_thread::sleep_until(next);
  }
  drive.tell(frames);
  EXPECT_TRUE(drive.went_on());
  if (memory.size() < 8) return;
  std::printf("memory %.1f MB, slope %.2f MB per hour; descriptors %.0f, slope %.2f per hour\n",
              memory.back(), slope(memory, 1), descriptors.back(), slope(descriptors, 1));
  const auto quarter = static_cast<ptrdiff_t>(memory.size() / 4);
  const auto most = [&](const std::vector<double>& values, ptrdiff_t from) {
    return *std::max_element(values.begin() + from * quarter,
                             values.begin() + (from + 1) * quarter);
  };
  std::printf("most memory by quarter, MB: %.1f %.1f %.1f %.1f\n", most(memory, 0), most(memory, 1),
              most(memory, 2), most(memory, 3));
  // The trace writer's file may be open at one look and not at the next.
  EXPECT_LE(most(descriptors, 3), most(descriptors, 0) + 1);
  if (!kSanitized) {
    // Pictures of 1.5 MB come and go with the camera servers: some more or fewer are in memory at
    // any moment. One leaked per restarted server would be hundreds.
    EXPECT_LE(most(memory, 3), most(memory, 0) + 10.0) << "MB";
  }
}

}  // namespace
}  // namespace modeld::test
