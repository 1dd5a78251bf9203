#include <cstdio>
#include <optional>

#include "tools/modelctl/command.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/replay_models.h"
#include "tools/modelctl/replay_report.h"
#include "tools/modelctl/replay_suite.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"
#include "tools/replay/log_writer.h"
#include "tools/replay/replay_route.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string version;  // of this program
  std::string route;
  ReplayModelOptions models;
  std::string out;
  std::string compare;
  std::string log;
  replay::PerCamera<std::string> pictures;
  double start = 0;
  double duration = 0;
  double rate = 0;
  double tolerance = 0;
  double actuator_delay = -1;  // s; negative: not given
  bool json = false;
  // Suites.
  SuiteOptions suite;
  std::vector<std::string> merge;
};

replay::ReplayRequest request_of(const Options& options, Progress& progress) {
  replay::ReplayRequest request;
  request.route = options.route;
  request.choice.log = options.log;
  for (const replay::Camera camera : replay::kCameras) {
    request.choice.pictures[index_of(camera)] = options.pictures[index_of(camera)];
  }
  request.version = options.version;
  request.options.start = options.start;
  request.options.duration = options.duration;
  request.options.rate = options.rate;
  if (options.actuator_delay >= 0) {
    request.options.actuator_delay = static_cast<float>(options.actuator_delay);
  }
  request.options.stop = interrupted;
  request.options.progress = [&](double fraction) { progress.show("replaying", fraction); };
  return request;
}

Result<replay::Comparison> compare(const Options& options, const replay::ReplayRequest& request,
                                   const replay::ReplayOutcome& outcome) {
  MODELD_ASSIGN(const auto reference, replay::read_reference(options.compare));
  return replay::compare_logs(
      reference, outcome.log,
      replay::compare_options(outcome.report, request.options, options.tolerance));
}

Status report(const Options& options, const replay::ReplayReport& report,
              const std::optional<replay::Comparison>& comparison) {
  if (options.json) {
    print_json(replay_json(report, comparison ? &*comparison : nullptr));
  } else {
    print_replay(report);
    if (comparison) print_comparison(*comparison);
  }
  if (!comparison || comparison->same()) return {};
  return Error(ErrorCode::kCheckFailed, "the replay differs from " + options.compare + ": " +
                                            describe_mismatches(*comparison));
}

Status replay_one(const Options& options) {
  if (options.out.empty()) {
    return Error(ErrorCode::kInvalidArgument, "where to write the answers")
        .expecting("--out LOG", "none");
  }
  MODELD_ASSIGN(const ReplayModels models, ReplayModels::load(options.models));
  note_interrupts();
  std::optional<replay::ReplayOutcome> outcome;
  const auto progress = std::make_unique<Progress>();
  const replay::ReplayRequest request = request_of(options, *progress);
  {
    MODELD_ASSIGN(auto opened, models.open());
    MODELD_ASSIGN(outcome, replay::replay_route(request, std::move(opened)));
  }
  MODELD_TRY(replay::write_log(options.out, outcome->log));
  std::optional<replay::Comparison> comparison;
  if (!options.compare.empty()) {
    MODELD_ASSIGN(comparison, compare(options, request, *outcome));
  }
  return report(options, outcome->report, comparison);
}

Status replay_any(Options options) {
  SuiteOptions& suite = options.suite;
  suite.version = options.version;
  suite.models = options.models;
  suite.tolerance = options.tolerance;
  suite.json = options.json;
  const int kinds = (options.route.empty() ? 0 : 1) + (suite.folder.empty() ? 0 : 1) +
                    (options.merge.empty() ? 0 : 1);
  if (kinds != 1) {
    return Error(ErrorCode::kInvalidArgument, "what to replay")
        .expecting("one of ROUTE, --expect DIR and --merge FILE...", std::to_string(kinds));
  }
  if (!options.merge.empty()) return merge_suite(options.merge, suite);
  if (!suite.folder.empty()) return run_suite(suite);
  return replay_one(options);
}

}  // namespace

void add_replay(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "replay",
                     "Run a recorded route through the daemons' code, and compare the answers");
  options->version = command.program_version();
  command.add_option("ROUTE", options->route,
                     "A log, a segment's folder, or a folder of segments ROUTE--N");
  command.add_option("--out", options->out,
                     "Log to write: plain, or packed where the name ends in .zst or .bz2");
  command.add_option("--compare", options->compare,
                     "Log or route to compare with, field by field but for clocks and execution"
                     " times; exit code 1 on a difference");
  command
      .add_option("--tolerance", options->tolerance,
                  "Largest difference of a number, absolute or relative")
      .in_range(0.0, 1e6)
      .with_default();
  add_replay_model_options(command, options->models);
  command.add_option("--log", options->log, "Log to read instead of the one found");
  command.add_option("--narrow", options->pictures[0],
                     "Video, or folder of pictures, of the narrow road camera");
  command.add_option("--wide", options->pictures[1], "The same of the wide road camera");
  command.add_option("--cabin", options->pictures[2], "The same of the cabin camera");
  command.add_option("--start", options->start, "Begin so long after the first frame, s")
      .in_range(0.0, 1e6)
      .with_default();
  command.add_option("--duration", options->duration, "How long, s (0: to the end)")
      .in_range(0.0, 1e6)
      .with_default();
  command
      .add_option("--rate", options->rate,
                  "Speed, of the route's own (0: as fast as possible); the answers are the same")
      .in_range(0.0, 1e3)
      .with_default();
  command
      .add_option("--actuator-delay", options->actuator_delay,
                  "Longitudinal actuator delay, s (default: from the log's carParams)")
      .in_range(0.0, 10.0);
  command.add_option("--expect", options->suite.folder,
                     "Replay a suite instead: a folder with a folder for each route, its"
                     " expected.zst in it");
  command
      .add_option("--shard", options->suite.shard,
                  "I/N: of the suite, every N-th case from the I-th on, by name")
      .with_default();
  command.add_option("--results", options->suite.results,
                     "Results file, written after each case; what it holds is not done again");
  command.add_option("--junit", options->suite.junit, "JUnit XML of the results");
  command.add_flag("--update", options->suite.update,
                   "Write the answers of the suite's routes as their expected.zst");
  command.add_option("--merge", options->merge,
                     "Make one of the results files of all shards; with --results and --junit");
  command.add_json_flag(options->json);
  command.set_example(
      "modelctl replay 0000002b--2686b5a2d0--1 --artifact driving.model --out out.zst"
      " --compare 0000002b--2686b5a2d0--1/rlog.zst");
  command.set_action(chosen, [options] { return replay_any(*options); });
}

}  // namespace modeld::modelctl
