#include "daemon/health/sensor_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

bool settles(const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::after(Clock::real(), 10 * kSecond);
  while (!condition()) {
    if (deadline.passed(Clock::real())) return false;
    usleep(200);
  }
  return true;
}

// A read that does not return until it is let go.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

TEST(SensorReader, FieldFault15BlockedReadIsStaleAndNothingElse) {
  ManualClock clock{100 * kSecond};
  const auto gate = std::make_shared<Gate>();
  const auto reads = std::make_shared<std::atomic<int>>(0);
  std::vector<SensorSource> sources = {{"gpu", "C", [gate, reads]() -> Result<double> {
                                          gate->pass();
                                          ++*reads;
                                          return 61.5;
                                        }}};
  auto reader = SensorReader::start(clock, std::move(sources), kMillisecond);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(settles([&] { return (*reader)->reading(0).known; }));
  EXPECT_EQ((*reader)->reading(0).value, 61.5);
  EXPECT_FALSE((*reader)->reading(0).stale);
  gate->close();
  const int before = *reads;
  ASSERT_TRUE(settles([&] { return *reads <= before + 1; }));
  clock.advance(4 * kSecond);
  // Asking does not wait for the read.
  ASSERT_TRUE(settles([&] { return (*reader)->reading(0).stale; }));
  EXPECT_EQ((*reader)->reading(0).value, 61.5);
  // Nor does the end.
  (*reader).reset();
  gate->open();
}

TEST(SensorReader, FailedReadsAreNotValues) {
  ManualClock clock;
  const auto reads = std::make_shared<std::atomic<int>>(0);
  std::vector<SensorSource> sources = {{"none", "C", [reads]() -> Result<double> {
                                          ++*reads;
                                          return Error(ErrorCode::kIo, "no");
                                        }}};
  auto reader = SensorReader::start(clock, std::move(sources), kMillisecond);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(settles([&] { return *reads > 2; }));
  EXPECT_FALSE((*reader)->reading(0).known);
  EXPECT_TRUE((*reader)->reading(0).stale);
}

TEST(SensorReader, FindsTemperaturesAndClocks) {
  test::TempDir root;
  const auto put = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  put("class/thermal/thermal_zone0/temp", "48250\n");
  put("class/thermal/thermal_zone0/type", "cpu-thermal\n");
  put("class/hwmon/hwmon3/temp1_input", "39000\n");
  put("class/hwmon/hwmon3/name", "nvme\n");
  put("class/hwmon/hwmon4/name", "a fan\n");
  put("class/devfreq/3d00000.gpu/cur_freq", "585000000\n");
  put("class/thermal/thermal_zone1/temp", "hot\n");
  const auto found = find_sensors(root.path());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].name, "devfreq 3d00000.gpu");
  EXPECT_EQ(found[0].unit, "MHz");
  EXPECT_DOUBLE_EQ(*found[0].read(), 585);
  EXPECT_EQ(found[1].name, "hwmon nvme");
  EXPECT_DOUBLE_EQ(*found[1].read(), 39);
  EXPECT_EQ(found[2].name, "thermal cpu-thermal");
  EXPECT_DOUBLE_EQ(*found[2].read(), 48.25);
  EXPECT_FALSE(found[3].read().ok());
  EXPECT_TRUE(find_sensors(root / "none").empty());
}

}  // namespace
}  // namespace modeld
