#include "daemon/health/flight_writer.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/file.h"

namespace modeld {

FlightWriter::FlightWriter(const Clock& clock, FlightWriterOptions options)
    : clock_(clock), options_(std::move(options)) {}

Result<std::unique_ptr<FlightWriter>> FlightWriter::start(const Clock& clock,
                                                          FlightWriterOptions options) {
  std::unique_ptr<FlightWriter> writer(new FlightWriter(clock, std::move(options)));
  try {
    writer->thread_ = std::thread([raw = writer.get()] { raw->run(); });
  } catch (const std::system_error& failure) {
    return errno_error("starting the flight recorder's thread", failure.code().value());
  }
  return writer;
}

FlightWriter::~FlightWriter() {
  ending_ = true;
  // A file being written is finished first.
  Turn expected = Turn::kOwner;
  turn_.compare_exchange_strong(expected, Turn::kEnd);
  turn_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FlightWriter::offer(const FlightRecorder& recorder) {
  if (recorder.misses() == seen_misses_) return;
  const Nanoseconds now = clock_.monotonic();
  if (last_ != 0 && now - last_ < options_.shortest_gap) return;
  if (turn_.load(std::memory_order_acquire) != Turn::kOwner) return;
  seen_misses_ = recorder.misses();
  last_ = now;
  copy_ = recorder;
  turn_.store(Turn::kThread, std::memory_order_release);
  turn_.notify_one();
}

void FlightWriter::run() {
  // Whatever priority the process has, files can wait.
  const sched_param ordinary{};
  sched_setscheduler(0, SCHED_OTHER, &ordinary);
  while (true) {
    turn_.wait(Turn::kOwner, std::memory_order_acquire);
    if (turn_.load(std::memory_order_acquire) == Turn::kEnd) return;
    (write().ok() ? written_ : failed_).fetch_add(1);
    turn_.store(Turn::kOwner, std::memory_order_release);
    if (ending_) return;
  }
}

Status FlightWriter::write() {
  const std::string text = to_trace_json(copy_, options_.process);
  const auto name = "flight-" + options_.process + "-" +
                    std::to_string(clock_.boottime() / kMillisecond) + ".json";
  MODELD_TRY(write_file_atomically(options_.folder / name, std::as_bytes(std::span(text))));
  remove_old();
  return {};
}

void FlightWriter::remove_old() const {
  const std::string prefix = "flight-" + options_.process + "-";
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(options_.folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".json")) files.push_back(it->path());
  }
  // Numbers of a longer boot are longer: by length first.
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    const std::string left = a.filename().string();
    const std::string right = b.filename().string();
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  while (files.size() > options_.kept) {
    std::filesystem::remove(files.front(), failure);
    files.erase(files.begin());
  }
}

std::optional<std::filesystem::path> state_folder(const std::filesystem::path& configured) {
  std::filesystem::path folder = configured;
  if (folder.empty()) {
    // The service manager lists several folders with a colon between them.
    const char* given = std::getenv("STATE_DIRECTORY");
    const std::string all = given == nullptr ? "" : given;
    folder = all.substr(0, all.find(':'));
  }
  if (folder.empty()) folder = "/var/lib/modeld/state";
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure)) return std::nullopt;
  if (access(folder.c_str(), W_OK | X_OK) != 0) return std::nullopt;
  return folder;
}

}  // namespace modeld
