#include "tools/demo/demo.h"

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "config/config_loader.h"
#include "ipc/transport/zmq_transport.h"
#include "runtime/base/file.h"
#include "tools/demo/child_process.h"
#include "tools/demo/demo_models.h"
#include "tools/feed/picture_search.h"
#include "tools/feed/program_files.h"
#include "tools/feed/scene_feed.h"

namespace modeld {
namespace {

constexpr Nanoseconds kStopGrace = 2 * kSecond;
constexpr Nanoseconds kLastAnswers = 800 * kMillisecond;  // longer than from one health to the next
constexpr Nanoseconds kSlice = 50 * kMillisecond;
constexpr size_t kLogTail = 1500;  // bytes quoted of a daemon that gave up

// A folder of its own, gone with it.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create(bool keep) {
    std::error_code failure;
    const auto base = std::filesystem::temp_directory_path(failure);
    std::string name = (base / "modeld-demo-XXXXXX").string();
    if (failure || mkdtemp(name.data()) == nullptr) {
      return errno_error("making a temporary folder in " + base.string(), errno);
    }
    return TemporaryFolder(name, keep);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!keep_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), keep_(other.keep_) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  Result<std::filesystem::path> make(const char* name) const {
    std::error_code failure;
    std::filesystem::create_directory(path_ / name, failure);
    if (failure) return errno_error("making a folder in " + path_.string(), failure.value());
    return path_ / name;
  }

 private:
  TemporaryFolder(std::filesystem::path path, bool keep) : path_(std::move(path)), keep_(keep) {}
  std::filesystem::path path_;
  bool keep_;
};

struct Places {
  std::filesystem::path ipc;
  std::filesystem::path cameras;
  std::filesystem::path params;
  std::filesystem::path state;
};

Result<Places> make_places(const TemporaryFolder& folder) {
  Places places;
  MODELD_ASSIGN(places.ipc, folder.make("ipc"));
  MODELD_ASSIGN(places.cameras, folder.make("cameras"));
  MODELD_ASSIGN(places.params, folder.make("params"));
  MODELD_ASSIGN(places.state, folder.make("state"));
  return places;
}

std::string config_text(const std::filesystem::path& artifact, const std::filesystem::path& trust,
                        const Places& places, const DemoOptions& options, bool driving) {
  std::string text =
      "[artifact]\npath = \"" + artifact.string() + "\"\ntrust = \"" + trust.string() +
      "\"\n[device]\nbackend = \"" + options.backend +
      "\"\nthreads = " + std::to_string(options.threads) +
      (options.isolated ? "\nisolation = \"process\"\n[fallback]\nenabled = true" : "") +
      "\n[camera]\nsocket_dir = \"" + places.cameras.string() + "\"\n[transport]\nipc_dir = \"" +
      places.ipc.string() + "\"\n[sandbox]\nmode = \"best-effort\"\n";
  const uint32_t above = driving && options.realtime_priority != 0 ? 1 : 0;
  text += "[scheduling]\nrealtime_priority = " + std::to_string(options.realtime_priority + above) +
          "\n[state]\ndir = \"" + places.state.string() + "\"\n";
  if (driving) text += "[inputs]\nparams_dir = \"" + places.params.string() + "\"\n";
  return text;
}

// Before minutes go into networks: whether the daemons will take what was asked for.
Status check_options(const DemoOptions& options) {
  const std::filesystem::path root = "/";
  const Places places{root, root, root, root};
  const std::string text = config_text(root, root, places, options, /*driving=*/true);
  const ConfigReport report =
      parse_config(text, "options of the demonstration", DaemonKind::kModeld);
  if (!report.problems.empty()) return Error(report.problems.front());
  return {};
}

Result<ChildProcess> start_daemon(const std::string& name, const std::string& config,
                                  const std::filesystem::path& folder) {
  MODELD_ASSIGN(const auto program, find_daemon(name));
  const std::filesystem::path file = folder / (name + ".toml");
  MODELD_TRY(write_file_atomically(file, std::as_bytes(std::span(config))));
  return ChildProcess::start(program, {"--config", file.string()}, folder / (name + ".log"));
}

std::string tail_of(const std::filesystem::path& log) {
  const auto text = read_text_file(log, uint64_t{64} << 20);
  if (!text.ok()) return "";
  return text->size() > kLogTail ? text->substr(text->size() - kLogTail) : *text;
}

// The feed on a thread of its own; ends with its owner.
class FeedThread {
 public:
  explicit FeedThread(SceneFeed& feed, uint32_t priority)
      : thread_([this, &feed, priority] {
          run_on_time(priority);
          result_ = feed.run([this] { return stop_.load(); });
        }) {}
  // An owner that did not ask how it went has an error of its own to tell.
  ~FeedThread() { (void)stop(); }
  FeedThread(const FeedThread&) = delete;
  FeedThread& operator=(const FeedThread&) = delete;

  Status stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return result_;
  }

 private:
  // Real cameras do not wait for a processor; where this is not allowed, ours do.
  static void run_on_time(uint32_t priority) {
    sched_param parameters{};
    parameters.sched_priority = static_cast<int>(priority);
    if (priority != 0) sched_setscheduler(0, SCHED_FIFO, &parameters);
  }

  std::atomic<bool> stop_{false};
  Status result_;
  std::thread thread_;
};

// Everything that runs during a demonstration.
struct Stage {
  const Clock& clock;
  const std::function<bool()>& stop;
  const std::filesystem::path& folder;
  SceneFeed& feed;
  AnswerLog& log;
  ChildProcess& driving;
  ChildProcess& monitoring;

  // Listens for one slice and looks whether everybody is still there.
  Status listen() {
    if (stop()) return Error(ErrorCode::kInterrupted, "interrupted");
    MODELD_TRY(log.listen(Deadline::after(clock, kSlice)));
    for (ChildProcess* child : {&driving, &monitoring}) {
      const auto end = child->poll();
      if (!end) continue;
      return Error(ErrorCode::kCheckFailed, child->name() + " ended by itself with " + end->text() +
                                                "; its last words:\n" +
                                                tail_of(folder / (child->name() + ".log")));
    }
    return {};
  }
};

// Until both daemons see their cameras and are heard. The ids that count start behind the newest of
// that moment.
Status wait_until_connected(Stage& stage, Nanoseconds patience, SentFrames& road,
                            SentFrames& cabin) {
  const Deadline deadline = Deadline::after(stage.clock, patience);
  while (road.first == 0 || cabin.first == 0) {
    MODELD_TRY(stage.listen());
    const auto heard = [](const HeardDaemon& daemon) {
      return daemon.health.streams_connected && !daemon.answers.empty();
    };
    if (road.first == 0 && heard(stage.log.driving())) road.first = stage.feed.road_id() + 1;
    if (cabin.first == 0 && heard(stage.log.monitoring())) cabin.first = stage.feed.cabin_id() + 1;
    if (deadline.passed(stage.clock)) {
      const auto describe = [](const HeardDaemon& daemon) {
        return daemon.name + " is " +
               (daemon.health.heard ? daemon.health.state + " (" + daemon.health.step + ")"
                                    : std::string("silent"));
      };
      return Error(ErrorCode::kDeadline,
                   "the daemons did not connect to the cameras and answer in time: " +
                       describe(stage.log.driving()) + ", " + describe(stage.log.monitoring()));
    }
  }
  return {};
}

Status watch(Stage& stage, FeedThread& feeding, Nanoseconds duration, SentFrames& road,
             SentFrames& cabin) {
  const Deadline end = Deadline::after(stage.clock, duration);
  while (!end.passed(stage.clock)) MODELD_TRY(stage.listen());
  MODELD_TRY(feeding.stop());
  road.last = stage.feed.road_id();
  cabin.last = stage.feed.cabin_id();
  const Deadline last = Deadline::after(stage.clock, kLastAnswers);
  while (!last.passed(stage.clock)) MODELD_TRY(stage.listen());
  return {};
}

double stop_daemon(ChildProcess& child, const Clock& clock, std::vector<std::string>& failures) {
  Nanoseconds took = 0;
  const ProcessEnd end = child.terminate(clock, kStopGrace, took);
  if (end.by_signal || end.number != 0) {
    failures.push_back(child.name() + ": after SIGTERM (expected exit code 0, found " + end.text() +
                       ")");
  }
  return static_cast<double>(took) / kMillisecond;
}

Result<ScenePictures> choose_pictures(const DemoOptions& options, const SceneOptions& scene) {
  if (options.pictures) {
    return load_scene_pictures(options.pictures, scene.width, scene.height);
  }
  if (const auto found = find_recorded_material()) {
    auto recorded = load_scene_pictures(found, scene.width, scene.height);
    if (recorded.ok()) return recorded;
  }
  return load_scene_pictures(std::nullopt, scene.width, scene.height);
}

}  // namespace

Result<DemoResult> run_demo(const DemoOptions& options, const Clock& clock,
                            const std::function<bool()>& stop,
                            const std::function<void(std::string_view)>& tell) {
  MODELD_TRY(check_options(options));
  SceneOptions scene;
  MODELD_ASSIGN(const ScenePictures pictures, choose_pictures(options, scene));
  MODELD_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create(options.keep));
  MODELD_ASSIGN(const Places places, make_places(folder));
  MODELD_ASSIGN(const DemoModels models, make_demo_models(folder.path(), tell, stop));
  MODELD_TRY(MessageFeed::write_car_params(places.params));

  ipc::ZmqOptions zmq;
  zmq.ipc_dir = places.ipc;
  MODELD_ASSIGN(const auto transport, ipc::ZmqTransport::create(clock, zmq));
  scene.socket_dir = places.cameras;
  MODELD_ASSIGN(const auto feed,
                SceneFeed::create(clock, *transport, scene, pictures.road, pictures.cabin));
  MODELD_ASSIGN(const auto log, AnswerLog::create(clock, *transport));

  tell("starting modeld and dmonitoringmodeld, pictures: " + pictures.source);
  MODELD_ASSIGN(
      ChildProcess driving,
      start_daemon("modeld", config_text(models.driving, models.trust, places, options, true),
                   folder.path()));
  MODELD_ASSIGN(ChildProcess monitoring,
                start_daemon("dmonitoringmodeld",
                             config_text(models.monitoring, models.trust, places, options, false),
                             folder.path()));
  FeedThread feeding(*feed, options.realtime_priority == 0 ? 0 : options.realtime_priority + 2);
  Stage stage{clock, stop, folder.path(), *feed, *log, driving, monitoring};
  SentFrames road;
  SentFrames cabin;
  const auto as_time = [](double seconds) { return static_cast<Nanoseconds>(seconds * kSecond); };
  MODELD_TRY(wait_until_connected(stage, as_time(options.start_seconds), road, cabin));
  tell("both daemons see their cameras");
  MODELD_TRY(watch(stage, feeding, as_time(options.seconds), road, cabin));

  DemoResult result;
  result.driving = judge(road, log->driving());
  result.monitoring = judge(cabin, log->monitoring());
  result.driving_stop_ms = stop_daemon(driving, clock, result.driving.failures);
  result.monitoring_stop_ms = stop_daemon(monitoring, clock, result.monitoring.failures);
  result.driving_heard = log->driving();
  result.monitoring_heard = log->monitoring();
  result.last_model = log->last_model();
  result.pictures = pictures.source;
  if (options.keep) result.folder = folder.path().string();
  return result;
}

}  // namespace modeld
