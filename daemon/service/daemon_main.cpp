#include "daemon/service/daemon_main.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "config/config_loader.h"
#include "daemon/engine/open_engine.h"
#include "daemon/privileges/sandbox.h"
#include "daemon/service/scheduling.h"
#include "daemon/service/stop_signal.h"
#include "daemon/service/topic_rings.h"
#include "daemon/supervise/executor.h"
#include "ipc/frames/vision_protocol.h"
#include "runtime/artifact/contract.h"
#include "runtime/base/exit_codes.h"
#include "runtime/base/log.h"

namespace modeld {
namespace {

constexpr uint32_t kFallbackPriority = 1;

struct CommandLine {
  std::string config;
  std::string artifact;
  std::string trust;
  std::string backend;
  std::string ipc_dir;
  std::string log_level;
  std::optional<uint32_t> threads;
  bool allow_unsigned = false;
};

std::string version_line(DaemonKind kind) {
  return std::string(to_string(kind)) + " " + MODELD_VERSION + ", artifact format " +
         std::to_string(kFormatVersion) + ", runtime ABI " + std::to_string(kRuntimeAbiVersion);
}

void declare(CLI::App& app, DaemonKind kind, CommandLine& line) {
  const std::string name(to_string(kind));
  app.set_version_flag("--version", version_line(kind));
  app.add_option("--config", line.config, "Configuration file (TOML); without it, the defaults");
  app.add_option("--artifact", line.artifact, "Overrides artifact.path");
  app.add_option("--trust", line.trust, "Overrides artifact.trust");
  app.add_flag("--allow-unsigned", line.allow_unsigned, "Sets artifact.allow_unsigned");
  app.add_option("--backend", line.backend, "Overrides device.backend");
  app.add_option("--threads", line.threads, "Overrides device.threads");
  app.add_option("--ipc-dir", line.ipc_dir, "Overrides transport.ipc_dir");
  app.add_option("--log-level", line.log_level, "Overrides log.level");
  app.footer("Example:\n  " + name + " --config /etc/modeld/" + name +
             ".toml --backend reference\n"
             "Exit codes: 0 ok (also after SIGTERM), 1 check failed, 2 usage or configuration,\n"
             "3 artifact refused, 4 device error, 5 deadline or stall, 130 interrupted.");
}

// Overrides go through the same checks as the file: they are written as one.
std::string overrides_as_toml(const CommandLine& line) {
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  };
  const auto entry = [&](const char* key, const std::string& value) {
    return value.empty() ? std::string() : std::string(key) + " = " + quoted(value) + "\n";
  };
  std::string text = "[artifact]\n" + entry("path", line.artifact) + entry("trust", line.trust);
  if (line.allow_unsigned) text += "allow_unsigned = true\n";
  text += "[device]\n" + entry("backend", line.backend);
  if (line.threads) text += "threads = " + std::to_string(*line.threads) + "\n";
  text += "[transport]\n" + entry("ipc_dir", line.ipc_dir);
  text += "[log]\n" + entry("level", line.log_level);
  return text;
}

Result<DaemonConfig> configure(DaemonKind kind, const CommandLine& line) {
  DaemonConfig config = default_config(kind);
  if (!line.config.empty()) {
    MODELD_ASSIGN(config, load_config(line.config, kind));
  }
  const ConfigReport overrides = parse_config(overrides_as_toml(line), "command line", kind);
  if (!overrides.problems.empty()) return Error(overrides.problems.front());
  if (!line.artifact.empty()) config.artifact.path = overrides.config.artifact.path;
  if (!line.trust.empty()) config.artifact.trust = overrides.config.artifact.trust;
  if (line.allow_unsigned) config.artifact.allow_unsigned = true;
  if (!line.backend.empty()) config.device.backend = overrides.config.device.backend;
  if (line.threads) config.device.threads = overrides.config.device.threads;
  if (!line.ipc_dir.empty()) config.transport.ipc_dir = overrides.config.transport.ipc_dir;
  if (!line.log_level.empty()) config.log.level = overrides.config.log.level;
  if (config.device.threads == 0) config.device.threads = share_of_processors();
  return config;
}

Result<std::unique_ptr<Sandbox>> confine(const DaemonConfig& config);

// Of a process that drives no device but the processor.
DaemonConfig without_gpu(DaemonConfig config) {
  config.device.backend = "cpu";
  return config;
}

// What cannot be had, the driver will miss, and say so.
void make_place_for_generated_code(const DaemonConfig& config) {
  const auto folder = software_device_folder(config);
  if (folder.empty()) return;
  constexpr mode_t kOurs = 0700;
  static_cast<void>(mkdir(folder.c_str(), kOurs));
  // Compilers write beside it what they throw away again.
  setenv("POCL_CACHE_DIR", folder.c_str(), 1);
  setenv("TMPDIR", folder.c_str(), 1);
}

// Executors confine themselves as the daemon does, each for itself.
struct ExecutorSandbox {
  std::unique_ptr<Sandbox> sandbox;
};

Result<std::unique_ptr<supervise::Spawner>> start_spawner(const DaemonConfig& config) {
  const ModelRole role =
      config.kind == DaemonKind::kModeld ? ModelRole::kDriving : ModelRole::kMonitoring;
  supervise::ExecutorOptions options;
  options.open = [config, role](supervise::ExecutorKind which) {
    return open_executor_work(config, role, which);
  };
  const auto own = std::make_shared<ExecutorSandbox>();  // a copy in every executor
  options.sandbox.before_artifact = [config, own](supervise::ExecutorKind which) -> Status {
    if (which == supervise::ExecutorKind::kFallback) {
      MODELD_ASSIGN(own->sandbox, confine(without_gpu(config)));
      return {};
    }
    make_place_for_generated_code(config);
    MODELD_ASSIGN(own->sandbox, confine(config));
    return {};
  };
  options.sandbox.when_warm = [config, own](supervise::ExecutorKind which) {
    // The fallback's warm runs stay below the work of others, its answers above ordinary programs.
    const bool fallback = which == supervise::ExecutorKind::kFallback;
    ask_for_real_time(fallback ? std::min(kFallbackPriority, config.scheduling.realtime_priority)
                               : config.scheduling.realtime_priority);
    if (config.scheduling.lock_memory) ask_for_locked_memory();
    return own->sandbox->seal();
  };
  return supervise::Spawner::start([options](supervise::ExecutorStart start) {
    return supervise::run_executor(std::move(start), options);
  });
}

int fail(DaemonKind kind, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", std::string(to_string(kind)).c_str(), to_string(error).c_str());
  return exit_code(error.code);
}

Result<std::unique_ptr<Sandbox>> confine(const DaemonConfig& config) {
  const bool by_socket = config.transport.kind == TransportKind::kZmqIpc;
  const std::filesystem::path topics = by_socket ? topic_dir(config) : std::filesystem::path();
  // Made now: afterwards its parent is out of reach. What is wrong with it the transport will say.
  if (by_socket) static_cast<void>(mkdir(topics.c_str(), 0755));
  MODELD_ASSIGN(const auto rings, make_topic_rings(config, ipc::openpilot_prefix()));
  return Sandbox::enter(config, file_rules(config, topics, rings));
}

int run(int argc, char** argv, DaemonKind kind, const MakeService& make) {
  CLI::App app("Runs the " +
                   std::string(kind == DaemonKind::kModeld ? "road" : "driver-monitoring") +
                   " model on camera frames and publishes what it says.",
               std::string(to_string(kind)));
  CommandLine line;
  declare(app, kind, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& answer) {  // help and version come this way too
    return app.exit(answer) == 0 ? kExitOk : kExitUsage;
  }
  const auto config = configure(kind, line);
  if (!config.ok()) return fail(kind, config.error());
  if (const Status logging = set_up_log(to_string(kind), config->log.level); !logging.ok()) {
    return fail(kind, logging.error());
  }
  // Before there is any other thread.
  std::unique_ptr<supervise::Spawner> spawner;
  if (config->device.isolation == Isolation::kProcess) {
    auto started = start_spawner(*config);
    if (!started.ok()) return fail(kind, started.error());
    spawner = std::move(started).value();
  }
  // While this is the only thread: file rules hold for threads started after them.
  const bool isolated = config->device.isolation == Isolation::kProcess;
  const auto sandbox = confine(isolated ? without_gpu(*config) : *config);
  if (!sandbox.ok()) return fail(kind, sandbox.error());
  const auto stop = StopSignal::install();
  if (!stop.ok()) return fail(kind, stop.error());

  const StopSignal& signal = **stop;
  const ServiceEnvironment environment{
      Clock::real(),           [&signal] { return signal.requested(); },
      ipc::openpilot_prefix(), MODELD_VERSION,
      sandbox->get(),          spawner.get()};
  auto service = make(*config, environment);
  const Status ended = service->run();
  if (ended.ok()) return kExitOk;
  if (ended.error().code == ErrorCode::kDeadline) {
    // Something inside still hangs, and would hang its own destruction.
    spdlog::default_logger()->flush();
    _exit(kExitDeadline);
  }
  if (ended.error().code == ErrorCode::kInterrupted) return signal.exit_code();
  return exit_code(ended.error().code);
}

}  // namespace

int daemon_main(int argc, char** argv, DaemonKind kind, const MakeService& make) {
  try {
    return run(argc, argv, kind, make);
  } catch (const std::exception& failure) {
    return fail(kind, Error(ErrorCode::kInternal, failure.what()));
  }
}

}  // namespace modeld
