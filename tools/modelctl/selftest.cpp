#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/selftest/self_test.h"
#include "tools/modelctl/backend_options.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

// Long enough for the reference interpreter, short enough to end.
constexpr Nanoseconds kReplayDeadline = 600 * kSecond;

struct Options {
  ModelOptions model;
  BackendChoice backend;
  uint32_t repeats = 100;
  bool json = false;
};

Json slice_json(const SliceResult& slice) {
  return {{"output", slice.output},
          {"slice", slice.slice},
          {"seed", slice.seed},
          {"passed", slice.passed},
          {"reason", slice.reason},
          {"wrong_elements", slice.wrong_elements},
          {"worst",
           {{"element", slice.worst_element},
            {"expected", slice.expected},
            {"found", slice.found},
            {"difference", slice.difference},
            {"allowed", slice.allowed}}}};
}

Json unsteady_json(const UnsteadyOutput& output) {
  return {{"output", output.output},
          {"seed", output.seed},
          {"distinct", output.distinct},
          {"box", {{"first", output.first}, {"last", output.last}}}};
}

void print_text(const SelfTestReport& report) {
  for (const SliceResult& slice : report.slices) {
    std::printf("%-6s %s / %s, seed %llu: off by %s of %s allowed\n",
                slice.passed ? "ok" : "FAILED", slice.output.c_str(), slice.slice.c_str(),
                static_cast<unsigned long long>(slice.seed),
                format_number(slice.difference).c_str(), format_number(slice.allowed).c_str());
  }
  for (const UnsteadyOutput& output : report.unsteady) {
    std::printf(
        "FAILED %s, seed %llu: %zu distinct outputs in %u runs, differing elements from"
        " %s to %s\n",
        output.output.c_str(), static_cast<unsigned long long>(output.seed), output.distinct,
        report.repeats, to_string(output.first).c_str(), to_string(output.last).c_str());
  }
  if (report.unsteady.empty()) {
    std::printf("ok     1 distinct output in %u runs of every vector\n", report.repeats);
  }
}

size_t most_distinct(const SelfTestReport& report) {
  size_t most = 1;
  for (const UnsteadyOutput& output : report.unsteady) most = std::max(most, output.distinct);
  return most;
}

void report_json(const LoadedModel& loaded, const DeviceCapabilities& device,
                 const SelfTestReport& report) {
  Json slices = Json::array();
  for (const SliceResult& slice : report.slices) slices.push_back(slice_json(slice));
  Json unsteady = Json::array();
  for (const UnsteadyOutput& output : report.unsteady) unsteady.push_back(unsteady_json(output));
  print_json({{"artifact", loaded.artifact},
              {"backend", device.backend},
              {"device", device.name},
              {"passed", report.passed},
              {"repeats", report.repeats},
              {"distinct", most_distinct(report)},
              {"slices", slices},
              {"unsteady", unsteady}});
}

Status selftest(const Options& options) {
  MODELD_ASSIGN(const LoadedModel loaded, load_model(options.model, /*make_references=*/true));
  MODELD_ASSIGN(const auto device, open_device(options.backend));
  note_interrupts();
  SelfTestOptions test;
  test.repeats = options.repeats;
  test.threads = options.backend.threads;
  test.replay_deadline = kReplayDeadline;
  test.stop = interrupted;
  MODELD_ASSIGN(const SelfTestReport report, run_self_test(*device, loaded.model, test));
  if (options.json) {
    report_json(loaded, device->capabilities(), report);
  } else {
    print_text(report);
  }
  if (report.passed) return {};
  return Error(ErrorCode::kCheckFailed, describe_failure(report));
}

}  // namespace

void add_selftest(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(
      app, "selftest",
      "Compare a device with the artifact's reference values, slice by slice, and see"
      " whether it gives the same bits every time");
  add_model_options(command, options->model);
  add_backend_options(command, options->backend);
  constexpr uint32_t kMaxRepeats = 1'000'000;
  command.add_option("--repeats", options->repeats, "Runs of every reference vector")
      .in_range(1u, kMaxRepeats)
      .with_default();
  command.add_json_flag(options->json);
  command.set_example("modelctl selftest driving.model --backend cpu --repeats 100");
  command.set_action(chosen, [options] { return selftest(*options); });
}

}  // namespace modeld::modelctl
