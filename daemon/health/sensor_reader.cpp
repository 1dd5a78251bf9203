#include "daemon/health/sensor_reader.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/file.h"

namespace modeld {
namespace {

constexpr uint64_t kMaxSensorFile = 4096;  // files of sysfs claim a page

std::string first_line(const std::filesystem::path& path) {
  const auto text = read_text_file(path, kMaxSensorFile);
  if (!text.ok()) return "";
  return text->substr(0, text->find('\n'));
}

Result<double> read_number(const std::filesystem::path& path, double scale) {
  MODELD_ASSIGN(const std::string text, read_text_file(path, kMaxSensorFile));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return Error(ErrorCode::kCorrupt, "not a number").in(path.string());
  return value * scale;
}

struct SensorClass {
  const char* folder;  // below the root
  const char* value;   // file with the number
  const char* name;    // file with the name; "": the folder's own
  const char* unit;
  double scale;
};
constexpr std::array<SensorClass, 3> kClasses = {{{"class/thermal", "temp", "type", "C", 1e-3},
                                                  {"class/hwmon", "temp1_input", "name", "C", 1e-3},
                                                  {"class/devfreq", "cur_freq", "", "MHz", 1e-6}}};

}  // namespace

std::vector<SensorSource> find_sensors(const std::filesystem::path& root) {
  std::vector<SensorSource> found;
  for (const SensorClass& kind : kClasses) {
    std::error_code failure;
    for (std::filesystem::directory_iterator it(root / kind.folder, failure), end;
         !failure && it != end; it.increment(failure)) {
      const auto file = it->path() / kind.value;
      std::error_code missing;
      if (!std::filesystem::exists(file, missing)) continue;
      std::string name = *kind.name == '\0' ? "" : first_line(it->path() / kind.name);
      if (name.empty()) name = it->path().filename().string();
      const std::string group = std::filesystem::path(kind.folder).filename().string();
      found.push_back({group + " " + name, kind.unit,
                       [file, scale = kind.scale] { return read_number(file, scale); }});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  if (found.size() > kMostSensors) found.resize(kMostSensors);
  return found;
}

struct SensorReader::Shared {
  struct Slot {
    std::atomic<double> value{0};
    std::atomic<Nanoseconds> when{0};  // 0: never
  };

  Shared(const Clock& which, std::vector<SensorSource> from)
      : clock(which), sources(std::move(from)), slots(sources.size()) {}

  void run(Nanoseconds period) {
    // Whatever priority the process has, this can wait.
    const sched_param ordinary{};
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
    std::unique_lock lock(mutex);
    while (!ending) {
      lock.unlock();
      for (size_t i = 0; i < sources.size(); ++i) {
        const auto value = sources[i].read();
        if (!value.ok()) continue;
        slots[i].value = *value;
        slots[i].when = clock.monotonic();
      }
      lock.lock();
      wake.wait_for(lock, std::chrono::nanoseconds(period), [this] { return ending; });
    }
  }

  const Clock& clock;
  const std::vector<SensorSource> sources;
  std::vector<Slot> slots;
  std::mutex mutex;  // of `ending`; never held over a read
  std::condition_variable wake;
  bool ending = false;
};

Result<std::unique_ptr<SensorReader>> SensorReader::start(const Clock& clock,
                                                          std::vector<SensorSource> sources,
                                                          Nanoseconds period) {
  auto shared = std::make_shared<Shared>(clock, std::move(sources));
  try {
    std::thread([shared, period] { shared->run(period); }).detach();
  } catch (const std::system_error& failure) {
    return errno_error("starting the sensor thread", failure.code().value());
  }
  return std::unique_ptr<SensorReader>(new SensorReader(std::move(shared)));
}

SensorReader::~SensorReader() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->wake.notify_all();
}

size_t SensorReader::size() const {
  return shared_->sources.size();
}

const SensorSource& SensorReader::source(size_t index) const {
  return shared_->sources[index];
}

SensorReading SensorReader::reading(size_t index) const {
  const Nanoseconds when = shared_->slots[index].when;
  if (when == 0) return {};
  return {shared_->slots[index].value, true, shared_->clock.monotonic() - when > kStaleAfter};
}

}  // namespace modeld
