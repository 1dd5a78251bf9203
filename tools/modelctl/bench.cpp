#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/artifact/artifact_writer.h"
#include "runtime/device/device.h"
#include "runtime/program/cost.h"
#include "runtime/selftest/reference_inputs.h"
#include "tools/modelctl/backend_options.h"
#include "tools/modelctl/input_bench.h"
#include "tools/modelctl/input_report.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/kernel_times.h"
#include "tools/modelctl/latency_summary.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/output_files.h"
#include "tools/modelctl/peak_flops.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

constexpr Nanoseconds kReplayDeadline = 600 * kSecond;
constexpr uint64_t kInputSeed = 1;

struct Options {
  ModelOptions model;
  BackendChoice backend;
  uint32_t runs = 100;
  uint32_t warmup = 10;
  double deadline_ms = 50;
  uint32_t kernels = 5;
  bool accept = false;
  std::string sign;
  std::string dump_inputs;
  std::string input;   // empty: the device alone
  std::string camera;  // WxH
  bool json = false;
};

// Samples of measured runs.
struct Samples {
  std::vector<Nanoseconds> total;
  std::array<std::vector<Nanoseconds>, kPhaseCount> phases;
};

// Threads this process may run on: what a backend left to choose would take at most.
uint32_t available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&allowed)));
}

double peak_rss_mb() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

// One frame's device work: replay until complete, then commit.
Result<Nanoseconds> run_once(Capture& capture, Samples& samples) {
  const Nanoseconds start = Clock::real().monotonic();
  MODELD_ASSIGN(Submission * submission, capture.replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
  MODELD_TRY(capture.commit());
  const Nanoseconds took = Clock::real().monotonic() - start;
  samples.total.push_back(took);
  const auto durations = phase_durations(submission->report());
  for (size_t i = 0; i < kPhaseCount; ++i) {
    if (durations[i]) samples.phases[i].push_back(*durations[i]);
  }
  return took;
}

Status run_many(Capture& capture, uint32_t count, std::string_view what, Samples& samples) {
  Progress progress;
  for (uint32_t i = 0; i < count; ++i) {
    if (interrupted()) return Error(ErrorCode::kInterrupted, "bench interrupted");
    MODELD_TRY(run_once(capture, samples));
    progress.show(what, static_cast<double>(i + 1) / count);
  }
  return {};
}

Json phases_json(const Samples& samples) {
  Json phases = Json::object();
  for (size_t i = 0; i < kPhaseCount; ++i) {
    if (samples.phases[i].empty()) continue;
    phases[std::string(to_string(static_cast<Phase>(i)))] =
        latency_json(summarise(samples.phases[i]));
  }
  return phases;
}

// What the network is given: the pictures as this device's warps made them, of the frames that are
// measured. Two devices' files can be compared byte by byte.
Status dump_inputs(const LoadedModel& loaded, Device& device, const CaptureOptions& options,
                   const std::string& folder) {
  Program program = loaded.model.program;
  program.outputs.clear();
  for (const Op& op : program.ops) {
    if (op.phase != Phase::kWarp) continue;
    program.outputs.insert(program.outputs.end(), op.outputs.begin(), op.outputs.end());
  }
  if (program.outputs.empty()) {
    return Error(ErrorCode::kInvalidArgument, "--dump-inputs")
        .expecting("a model with a warp in it", "none");
  }
  MODELD_ASSIGN(const auto capture, device.record(program, *loaded.model.weights, options));
  for (size_t i = 0; i < capture->inputs().size(); ++i) {
    fill_reference_input(loaded.model.contract, i, kInputSeed, 0, capture->staging(i));
  }
  MODELD_ASSIGN(Submission * submission, capture->replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
  MODELD_ASSIGN(const Json files, write_outputs(*capture, folder));
  static_cast<void>(files);
  return {};
}

struct Bench {
  const Options& options;
  const LoadedModel& loaded;
  const Device& device;
  Samples samples;
  std::optional<KernelTimes> kernels;
  uint32_t threads = 1;
  double load_ms = 0;
};

Json kernels_json(const KernelTimes& kernels, size_t most, double peak) {
  Json heaviest = Json::array();
  for (size_t i = 0; i < std::min(most, kernels.ops.size()); ++i) {
    const OpTime& op = kernels.ops[i];
    heaviest.push_back({{"op", op.op},
                        {"how", op.how},
                        {"kernels", op.kernels},
                        {"ms", op.ms},
                        {"gflops", op.gflops},
                        {"share_of_peak", peak > 0 ? op.gflops / peak : 0}});
  }
  return {{"count", kernels.kernels},
          {"sum_ms", kernels.kernels_ms},
          {"overhead_ms", kernels.overhead_ms},
          {"heaviest", std::move(heaviest)}};
}

Json bench_json(const Bench& bench) {
  const LatencySummary latency = summarise(bench.samples.total);
  const double deadline = bench.options.deadline_ms;
  const auto misses = std::count_if(
      bench.samples.total.begin(), bench.samples.total.end(),
      [&](Nanoseconds took) { return static_cast<double>(took) > deadline * kMillisecond; });
  const double gmacs = static_cast<double>(program_cost(bench.loaded.model.program).macs) / 1e9;
  const PeakFlops peak = measure_peak_flops(bench.threads);
  Json report = {{"artifact", bench.loaded.artifact},
                 {"backend", bench.device.capabilities().backend},
                 {"device", bench.device.capabilities().name},
                 {"precision", to_string(bench.loaded.model.contract.precision)},
                 {"threads", bench.threads},
                 {"runs", bench.samples.total.size()},
                 {"latency_ms", latency_json(latency)},
                 {"phases_ms", phases_json(bench.samples)},
                 {"deadline_ms", deadline},
                 {"deadline_misses", misses},
                 {"gmacs", gmacs},
                 {"gflops", latency.mean > 0 ? 2 * gmacs / (latency.mean / 1000) : 0},
                 {"peak_gflops", peak.gflops},
                 {"peak_instructions", peak.instructions},
                 {"peak_rss_mb", peak_rss_mb()},
                 {"load_ms", bench.load_ms}};
  if (bench.kernels) {
    report["kernels"] = kernels_json(*bench.kernels, bench.options.kernels, peak.gflops);
  }
  return report;
}

void print_kernels(const Json& kernels) {
  std::printf("kernels      %s, %s ms in all; replay overhead %s ms\n",
              kernels["count"].dump().c_str(),
              format_number(kernels["sum_ms"].get<double>()).c_str(),
              format_number(kernels["overhead_ms"].get<double>()).c_str());
  for (const Json& op : kernels["heaviest"]) {
    std::printf("  %8.3f ms", op["ms"].get<double>());
    if (op["gflops"].get<double>() > 0) {
      std::printf("  %6.1f GFLOPS %3.0f %% of peak", op["gflops"].get<double>(),
                  100 * op["share_of_peak"].get<double>());
    } else {
      std::printf("%28s", "");
    }
    std::printf("  %s (%s)\n", op["op"].get<std::string>().c_str(),
                op["how"].get<std::string>().c_str());
  }
}

void print_text(const Json& report) {
  const Json& latency = report["latency_ms"];
  const auto number = [](const Json& object, const char* key) {
    return format_number(object.at(key).get<double>());
  };
  std::printf("%s on %s, %s, %s threads, %s runs\n", report["backend"].get<std::string>().c_str(),
              report["device"].get<std::string>().c_str(),
              report["precision"].get<std::string>().c_str(), report["threads"].dump().c_str(),
              report["runs"].dump().c_str());
  std::printf("latency      mean %s ms, p50 %s, p90 %s, p99 %s, p99.9 %s, max %s ms\n",
              number(latency, "mean").c_str(), number(latency, "p50").c_str(),
              number(latency, "p90").c_str(), number(latency, "p99").c_str(),
              number(latency, "p999").c_str(), number(latency, "max").c_str());
  for (const auto& [phase, summary] : report["phases_ms"].items()) {
    std::printf("  %-10s p50 %s ms, p99 %s ms\n", phase.c_str(), number(summary, "p50").c_str(),
                number(summary, "p99").c_str());
  }
  const double peak = report["peak_gflops"].get<double>();
  const double share = peak > 0 ? 100 * report["gflops"].get<double>() / peak : 0;
  std::printf("deadline     %s ms, %s misses\n", number(report, "deadline_ms").c_str(),
              report["deadline_misses"].dump().c_str());
  std::printf("work         %s GMAC, %s GFLOPS, %s %% of %s GFLOPS (%s, measured)\n",
              number(report, "gmacs").c_str(), number(report, "gflops").c_str(),
              format_number(share).c_str(), number(report, "peak_gflops").c_str(),
              report["peak_instructions"].get<std::string>().c_str());
  std::printf("memory       %s MB at most\nload         %s ms\n",
              number(report, "peak_rss_mb").c_str(), number(report, "load_ms").c_str());
  if (report.contains("kernels")) print_kernels(report["kernels"]);
}

// One record per backend and device: the newest.
Status accept(const Bench& bench, const SigningKey& key) {
  const DeviceCapabilities& device = bench.device.capabilities();
  std::vector<Acceptance> acceptances = bench.loaded.model.contract.acceptances;
  std::erase_if(acceptances, [&](const Acceptance& old) {
    return old.backend == device.backend && old.device == device.name;
  });
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  acceptances.push_back({device.backend, device.device_class, device.name,
                         summarise(bench.samples.total).max,
                         std::chrono::duration_cast<std::chrono::seconds>(now).count()});
  return resign_artifact(bench.options.model.path, key, &acceptances);
}

Status check_accept(const Options& options) {
  if (options.accept != !options.sign.empty()) {
    return Error(ErrorCode::kInvalidArgument, "accepting changes the artifact")
        .expecting("--accept and --sign KEY together", "one of them");
  }
  return {};
}

Status measure(const Options& options, const SigningKey* key) {
  const Nanoseconds start = Clock::real().monotonic();
  MODELD_ASSIGN(const LoadedModel loaded, load_model(options.model, /*make_references=*/false));
  if (key != nullptr && !loaded.from_file) {
    return Error(ErrorCode::kInvalidArgument, "--accept")
        .expecting("a .model file", "an ONNX file");
  }
  BackendChoice choice = options.backend;
  if (choice.threads == 0) choice.threads = available_threads();
  MODELD_ASSIGN(const auto device, open_device(choice));
  Bench bench{
      .options = options, .loaded = loaded, .device = *device, .samples = {}, .kernels = {}};
  bench.threads = choice.name == "reference" ? 1 : choice.threads;
  MODELD_ASSIGN(CaptureOptions capture_options, reference_capture_options(loaded.model.contract));
  capture_options.threads = choice.threads;
  MODELD_ASSIGN(const auto capture,
                device->record(loaded.model.program, *loaded.model.weights, capture_options));
  bench.load_ms = static_cast<double>(Clock::real().monotonic() - start) / kMillisecond;
  for (size_t i = 0; i < capture->inputs().size(); ++i) {
    fill_reference_input(loaded.model.contract, i, kInputSeed, 0, capture->staging(i));
  }
  note_interrupts();
  if (!options.dump_inputs.empty()) {
    MODELD_TRY(dump_inputs(loaded, *device, capture_options, options.dump_inputs));
  }
  Samples warm;
  MODELD_TRY(run_many(*capture, options.warmup, "warming up", warm));
  MODELD_TRY(run_many(*capture, options.runs, "measuring", bench.samples));
  MODELD_ASSIGN(bench.kernels, measure_kernels(*capture, loaded.model.program));
  const Json report = bench_json(bench);
  if (options.json) {
    print_json(report);
  } else {
    print_text(report);
  }
  return key == nullptr ? Status{} : accept(bench, *key);
}

Result<FrameSize> camera_size(const std::string& text) {
  FrameSize size;
  char end = 0;
  if (text.empty()) return size;
  if (std::sscanf(text.c_str(), "%5ux%5u%c", &size.width, &size.height, &end) == 2 &&
      size.width > 0 && size.height > 0) {
    return size;
  }
  return Error(ErrorCode::kInvalidArgument, "--camera").expecting("WIDTHxHEIGHT", text);
}

// What the ways in for pixels cost, by the daemons' own code for a frame.
Status measure_inputs(const Options& options) {
  InputBenchOptions bench;
  MODELD_ASSIGN(bench.camera, camera_size(options.camera));
  bench.threads = options.backend.threads == 0 ? available_threads() : options.backend.threads;
  bench.warmup = options.warmup;
  bench.runs = options.runs;
  MODELD_ASSIGN(const LoadedModel loaded, load_model(options.model, /*make_references=*/false));
  note_interrupts();
  std::vector<InputCost> costs;
  for (const FrameInput input : {FrameInput::kUpload, FrameInput::kZeroCopy}) {
    if (options.input != "both" && options.input != to_string(input)) continue;
    bench.input = input;
    MODELD_ASSIGN(auto device, open_device(options.backend));
    MODELD_ASSIGN(auto cost, measure_input(loaded.model, std::move(device), bench));
    costs.push_back(std::move(cost));
  }
  if (options.json) {
    print_json({{"artifact", loaded.artifact},
                {"backend", options.backend.name},
                {"inputs", input_costs_json(costs)}});
  } else {
    print_input_costs(costs);
  }
  return {};
}

Status bench_model(const Options& options) {
  MODELD_TRY(check_accept(options));
  if (!options.input.empty()) return measure_inputs(options);
  if (!options.camera.empty()) {
    return Error(ErrorCode::kInvalidArgument, "--camera")
        .expecting("together with --input", "alone");
  }
  if (!options.accept) return measure(options, nullptr);
  MODELD_ASSIGN(const SigningKey key, SigningKey::load(options.sign));
  return measure(options, &key);
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "bench",
                     "Measure latency, memory and the share of the machine's peak a model reaches");
  add_model_options(command, options->model);
  add_backend_options(command, options->backend);
  constexpr uint32_t kMaxRuns = 10'000'000;
  command.add_option("--runs", options->runs, "Measured runs")
      .in_range(1u, kMaxRuns)
      .with_default();
  command.add_option("--warmup", options->warmup, "Runs before measuring")
      .in_range(0u, kMaxRuns)
      .with_default();
  command.add_option("--deadline-ms", options->deadline_ms, "A run that takes longer is a miss")
      .in_range(1e-6, 1e6)
      .with_default();
  command
      .add_option("--kernels", options->kernels,
                  "opencl: how many of the heaviest ops are listed with their share of peak")
      .in_range(0u, 10'000u)
      .with_default();
  command.add_flag("--accept", options->accept,
                   "Write the worst time into the artifact as accepted on this device");
  command.add_option("--dump-inputs", options->dump_inputs,
                     "Folder for what the device's warps make of the frames, one NAME.npy each");
  command.add_option("--sign", options->sign, "Private key for --accept");
  command
      .add_option("--input", options->input,
                  "Bring camera frames in as a daemon does, and say what that costs: upload,"
                  " zerocopy, or both")
      .one_of({"upload", "zerocopy", "both"});
  command.add_option("--camera", options->camera,
                     "With --input: the cameras' size, such as 1928x1208 or 1344x760 (default: the"
                     " first the artifact names)");
  command.add_json_flag(options->json);
  command.set_example("modelctl bench driving.model --backend cpu --runs 1000 --json");
  command.set_action(chosen, [options] { return bench_model(*options); });
}

}  // namespace modeld::modelctl
