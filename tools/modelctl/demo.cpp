#include "tools/demo/demo.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/message_text.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  DemoOptions demo;
  std::string pictures;
  bool json = false;
};

std::string list(const std::vector<std::pair<std::string, uint64_t>>& counters) {
  std::string text;
  for (const auto& [name, count] : counters) {
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  }
  return text.empty() ? "none" : text;
}

void print_daemon(const HeardDaemon& heard, const DaemonVerdict& verdict, double stop_ms) {
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("\n%s\n", heard.name.c_str());
  std::printf("  frames sent %llu, answered %llu; of %llu answers after the first 2 s %llu valid\n",
              number(verdict.sent), number(verdict.answered), number(verdict.judged),
              number(verdict.valid));
  std::printf("  by its own count: received %llu, published %llu, valid %llu\n",
              number(heard.health.received), number(heard.health.published),
              number(heard.health.valid));
  if (verdict.unheard != 0) {
    std::printf("  not heard of those %llu%s\n", number(verdict.unheard),
                verdict.answered == verdict.sent
                    ? ": from before the listener's connection, which takes up to 0.5 s"
                    : "");
  }
  std::printf("  drops: %s\n  invalid: %s\n", list(heard.health.drops).c_str(),
              list(heard.health.invalids).c_str());
  std::printf("  state %s (%s), %llu frames over %.0f ms, stopped in %.0f ms\n",
              heard.health.state.c_str(), heard.health.reason.c_str(),
              number(heard.health.deadline_misses), heard.health.deadline_ms, stop_ms);
  std::printf("  %-16s %7s %9s %9s %9s %9s\n", "phase (ms)", "frames", "p50", "p99", "p99.9",
              "max");
  for (const auto& phase : heard.health.phases) {
    if (phase.count == 0) continue;
    std::printf("  %-16s %7llu %9.2f %9.2f %9.2f %9.2f\n", phase.name.c_str(), number(phase.count),
                phase.p50_ms, phase.p99_ms, phase.p999_ms, phase.max_ms);
  }
}

Json counters_json(const std::vector<std::pair<std::string, uint64_t>>& counters) {
  Json object = Json::object();
  for (const auto& [name, count] : counters) object[name] = count;
  return object;
}

Json daemon_json(const HeardDaemon& heard, const DaemonVerdict& verdict, double stop_ms) {
  Json phases = Json::object();
  for (const auto& phase : heard.health.phases) {
    phases[phase.name] = {{"count", phase.count},
                          {"p50", phase.p50_ms},
                          {"p99", phase.p99_ms},
                          {"p999", phase.p999_ms},
                          {"max", phase.max_ms}};
  }
  return {{"daemon", heard.name},
          {"sent", verdict.sent},
          {"answered", verdict.answered},
          {"judged", verdict.judged},
          {"valid", verdict.valid},
          {"received", heard.health.received},
          {"published", heard.health.published},
          {"unheard", verdict.unheard},
          {"dropped", counters_json(heard.health.drops)},
          {"invalid", counters_json(heard.health.invalids)},
          {"state", heard.health.state},
          {"reason", heard.health.reason},
          {"deadline_ms", heard.health.deadline_ms},
          {"deadline_misses", heard.health.deadline_misses},
          {"phases_ms", phases},
          {"stop_ms", stop_ms},
          {"failures", verdict.failures}};
}

std::vector<std::string> failures_of(const DemoResult& result) {
  std::vector<std::string> failures = result.driving.failures;
  failures.insert(failures.end(), result.monitoring.failures.begin(),
                  result.monitoring.failures.end());
  if (result.last_model.empty()) failures.emplace_back("modeld: no valid modelV2 was heard");
  return failures;
}

Status print_text(const DemoResult& result) {
  print_daemon(result.driving_heard, result.driving, result.driving_stop_ms);
  print_daemon(result.monitoring_heard, result.monitoring, result.monitoring_stop_ms);
  if (!result.last_model.empty()) {
    MODELD_ASSIGN(const std::string text, summarise_model(result.last_model));
    std::printf("\nthe last modelV2 (made-up weights: the numbers mean nothing)\n%s", text.c_str());
  }
  if (!result.folder.empty()) std::printf("\nkept: %s\n", result.folder.c_str());
  return {};
}

Status demonstrate(const Options& options) {
  note_interrupts();
  DemoOptions demo = options.demo;
  if (!options.pictures.empty()) demo.pictures = options.pictures;
  const auto tell = [&](std::string_view what) {
    std::fprintf(stderr, "%.*s ...\n", static_cast<int>(what.size()), what.data());
  };
  MODELD_ASSIGN(const DemoResult result, run_demo(demo, Clock::real(), interrupted, tell));
  const std::vector<std::string> failures = failures_of(result);
  if (options.json) {
    print_json(
        {{"pictures", result.pictures},
         {"driving", daemon_json(result.driving_heard, result.driving, result.driving_stop_ms)},
         {"monitoring",
          daemon_json(result.monitoring_heard, result.monitoring, result.monitoring_stop_ms)},
         {"passed", failures.empty()}});
  } else {
    MODELD_TRY(print_text(result));
  }
  if (failures.empty()) {
    if (!options.json) std::printf("\npassed\n");
    return {};
  }
  std::string all;
  for (const std::string& failure : failures) all += (all.empty() ? "" : "; ") + failure;
  return Error(ErrorCode::kCheckFailed, all);
}

}  // namespace

void add_demo(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "demo",
                     "Make networks, run both daemons on moving pictures, and say how they did");
  command
      .add_option("--seconds", options->demo.seconds,
                  "How long frames count, s, from when both daemons see their cameras")
      .in_range(3.0, 3600.0)
      .with_default();
  command
      .add_option("--start-seconds", options->demo.start_seconds,
                  "How long the daemons may take to start, s")
      .in_range(1.0, 3600.0)
      .with_default();
  command.add_option("--backend", options->demo.backend, "What the daemons compute on")
      .with_default();
  command
      .add_option("--threads", options->demo.threads,
                  "Threads of each daemon (0: the daemon's choice)")
      .with_default();
  command
      .add_option("--realtime", options->demo.realtime_priority,
                  "Real-time priority asked for by daemons and cameras (0: none); where the system"
                  " does not allow it they run without")
      .in_range(0u, 50u)
      .with_default();
  command.add_flag("--isolated", options->demo.isolated,
                   "Device work in executor processes, with a warm fallback");
  command.add_option("--pictures", options->pictures,
                     "Folder with road-frames/tici_road_1928x1208.jpg and"
                     " portraits/astronaut.png (default: recorded ones if they are beside the"
                     " checkout, else drawn ones)");
  command.add_flag("--keep", options->demo.keep, "Leave the temporary folder, logs in it");
  command.add_json_flag(options->json);
  command.set_example("modelctl demo --seconds 15");
  command.set_action(chosen, [options] { return demonstrate(*options); });
}

}  // namespace modeld::modelctl
