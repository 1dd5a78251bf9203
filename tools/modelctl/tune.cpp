#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "daemon/health/flight_writer.h"
#include "runtime/base/file.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/kernel_trial.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  ModelOptions model;
  std::string device;
  std::string folder;
  double budget_s = 120;
  bool json = false;
};

// The folder the daemons keep built kernels in, or the one named.
Result<std::filesystem::path> kernel_folder(const Options& options) {
  if (!options.folder.empty()) return std::filesystem::path(options.folder);
  if (const auto state = state_folder({})) return *state / "kernels";
  return Error(ErrorCode::kInvalidArgument, "where to keep what is found")
      .expecting("--kernels-in DIR, or a state folder this user may write to", "neither");
}

Result<opencl::DeviceInfo> chosen_device(const opencl::DeviceWish& wish) {
  const opencl::Discovered found = opencl::discover_devices(opencl::driver_calls());
  MODELD_ASSIGN(const size_t chosen, opencl::select_device(found.devices, wish));
  return found.devices[chosen];
}

// What is there already for this device is kept, but for the same ops.
Status store(const std::filesystem::path& folder, const opencl::DeviceInfo& device,
             const opencl::Tuning& found) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    return Error(ErrorCode::kIo, "folder: " + failure.message()).in(folder.string());
  }
  const auto path = opencl::tuning_file(folder);
  opencl::Tuning all;
  if (auto known = opencl::Tuning::load(path, device); known.ok()) all = std::move(known).value();
  all.merge(found);
  const std::string text = all.text(device);
  return write_file_atomically(path, std::as_bytes(std::span(text)), 0644);
}

Json report_json(const TuningReport& report, const opencl::DeviceInfo& device,
                 const std::filesystem::path& file) {
  Json ops = Json::array();
  for (const TunedOp& op : report.ops) {
    ops.push_back({{"op", op.before.op},
                   {"how", op.before.how},
                   {"kernels", op.before.kernels},
                   {"default_ms", op.before.ms},
                   {"tuned_ms", op.after_ms},
                   {"shape", to_string(op.shape)}});
  }
  Json rejected = Json::array();
  for (const RejectedShape& one : report.rejected) {
    rejected.push_back({{"shape", to_string(one.shape)}, {"reason", one.reason}});
  }
  return {{"device", device.name},
          {"driver", device.platform_name},
          {"driver_version", device.driver_version},
          {"candidates", report.candidates},
          {"tried", report.tried},
          {"out_of_time", report.out_of_time},
          {"rejected", std::move(rejected)},
          {"ops", std::move(ops)},
          {"default_ms", report.default_ms},
          {"tuned_ms", report.tuned_ms},
          {"kept", report.kept},
          {"file", report.kept ? file.string() : ""}};
}

void print_text(const TuningReport& report, const opencl::DeviceInfo& device,
                const std::filesystem::path& file) {
  std::printf("%s, %s: %zu of %zu shapes tried%s\n", device.name.c_str(),
              device.platform_name.c_str(), report.tried, report.candidates,
              report.out_of_time ? " (the budget ended)" : "");
  for (const RejectedShape& one : report.rejected) {
    std::printf("rejected  %s: %s\n", to_string(one.shape).c_str(), one.reason.c_str());
  }
  for (const TunedOp& op : report.ops) {
    std::printf("%8.3f -> %8.3f ms  %s (%s)  %s\n", op.before.ms, op.after_ms, op.before.op.c_str(),
                op.before.how.c_str(), to_string(op.shape).c_str());
  }
  if (report.kept) {
    std::printf("a replay  %s -> %s ms; kept in %s\n", format_number(report.default_ms).c_str(),
                format_number(report.tuned_ms).c_str(), file.c_str());
  } else if (report.ops.empty()) {
    std::printf("the defaults are best: nothing to keep\n");
  } else {
    std::printf("a replay  %s -> %s ms: no gain worth keeping\n",
                format_number(report.default_ms).c_str(), format_number(report.tuned_ms).c_str());
  }
}

Status tune(const Options& options) {
  MODELD_ASSIGN(const auto folder, kernel_folder(options));
  const opencl::DeviceWish wish{options.device, /*software=*/true};
  MODELD_ASSIGN(const opencl::DeviceInfo device, chosen_device(wish));
  MODELD_ASSIGN(const LoadedModel loaded, load_model(options.model, /*make_references=*/true));
  note_interrupts();
  const opencl::Traits defaults = opencl::default_traits(device);
  KernelTrial bench(loaded.model, wish, defaults);
  Progress progress;
  TunerOptions search;
  search.budget = static_cast<Nanoseconds>(options.budget_s * kSecond);
  search.progress = [&](double fraction) { progress.show("trying shapes", fraction); };
  MODELD_ASSIGN(const TuningReport report,
                tune_kernels(bench, candidate_shapes(defaults, device), Clock::real(), search));
  if (report.kept) MODELD_TRY(store(folder, device, report.tuning));
  if (options.json) {
    print_json(report_json(report, device, opencl::tuning_file(folder)));
  } else {
    print_text(report, device, opencl::tuning_file(folder));
  }
  return {};
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "tune",
                     "Try other shapes of this model's OpenCL kernels and keep the faster ones for"
                     " this device");
  add_model_options(command, options->model);
  command.add_option("--device", options->device,
                     "Part of \"platform: device name\" (default: the best device there is)");
  command.add_option("--kernels-in", options->folder,
                     "Folder that keeps kernels (default: the daemons' state folder)");
  command.add_option("--budget", options->budget_s, "No trial begins after so long, s")
      .in_range(0.0, 86400.0)
      .with_default();
  command.add_json_flag(options->json);
  command.set_example("modelctl tune driving.model --budget 300");
  command.set_action(chosen, [options] { return tune(*options); });
}

}  // namespace modeld::modelctl
