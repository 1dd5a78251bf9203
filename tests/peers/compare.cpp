// Speed of our backends beside ONNX Runtime on the same networks, inputs and threads, in turns so
// that whatever else the machine does falls on all of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/device/backends.h"
#include "tests/peers/arrays.h"
#include "tests/peers/ort_server.h"
#include "tests/peers/our_run.h"
#include "tests/peers/widened_onnx.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"
#include "tools/samples/sample_network.h"

namespace modeld::test {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kSeed = 42;
constexpr Nanoseconds kReplayDeadline = 300 * kSecond;
constexpr int kExitMissing = 77;  // as tests that are skipped
// At the start of a turn, to find caches and threads again; not counted.
constexpr int kRunsToWake = 2;
// Threads of the one before may spin a while after its last run.
constexpr std::chrono::milliseconds kPause{10};

struct Options {
  std::vector<std::string> backends = {"cpu", "opencl"};
  std::vector<std::string> networks = {"dm-2021-06", "twinlitenet", "yolox_nano", "vit-tracker",
                                       "driving"};
  int rounds = 8;
  int runs = 8;
  int threads = 2;
  bool json = false;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One backend with the network recorded.
class OurTurn {
 public:
  OurTurn(const std::string& backend, const Model& model, const NamedArrays& inputs, int threads) {
    BackendOptions options;
    options.threads = static_cast<uint32_t>(threads);
    device_ = must(open_backend(backend, options));
    CaptureOptions capture;
    capture.threads = options.threads;
    capture_ = must(device_->record(model.program, *model.weights, capture));
    stage(*capture_, inputs);
  }

  void run(int count, std::vector<double>* ms) {
    for (int i = 0; i < count; ++i) {
      const Nanoseconds start = Clock::real().monotonic();
      Submission* const submission = must(capture_->replay());
      must(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
      must(capture_->commit());
      const auto took = static_cast<double>(Clock::real().monotonic() - start);
      if (ms != nullptr) ms->push_back(took / kMillisecond);
    }
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Capture> capture_;
};

// Of one network: ours by backend, in milliseconds.
struct Row {
  std::string network;
  double onnxruntime_ms = 0;
  std::map<std::string, double> ours_ms;

  double speed(const std::string& backend) const { return onnxruntime_ms / ours_ms.at(backend); }
};

std::filesystem::path network_file(const std::string& name, const TempDir& folder) {
  if (name != "driving") return shared_path("data/models/" + name + ".onnx");
  const auto half = folder / "driving-half.onnx";
  must(samples::write_sample(samples::SampleKind::kDriving, half));
  write_widened(half, folder / "driving.onnx");
  return folder / "driving.onnx";
}

Row compare(const std::string& network, const Options& options) {
  const TempDir folder;
  const auto path = network_file(network, folder);
  const NamedArrays inputs = seeded_arrays(graph_inputs(path), kSeed);
  const Model model = compiled(path);
  OrtServer peer(OrtPeer::instance(), path, inputs, options.threads);
  std::vector<std::unique_ptr<OurTurn>> ours;
  for (const std::string& backend : options.backends) {
    ours.push_back(std::make_unique<OurTurn>(backend, model, inputs, options.threads));
  }
  std::vector<double> peer_ms;
  std::vector<std::vector<double>> ours_ms(ours.size());
  for (int round = 0; round < options.rounds; ++round) {
    const std::vector<double> turn = peer.run(kRunsToWake + options.runs);
    peer_ms.insert(peer_ms.end(), turn.begin() + kRunsToWake, turn.end());
    std::this_thread::sleep_for(kPause);
    for (size_t i = 0; i < ours.size(); ++i) {
      ours[i]->run(kRunsToWake, nullptr);
      ours[i]->run(options.runs, &ours_ms[i]);
      std::this_thread::sleep_for(kPause);
    }
  }
  Row row{network, median(peer_ms), {}};
  for (size_t i = 0; i < ours.size(); ++i) row.ours_ms[options.backends[i]] = median(ours_ms[i]);
  return row;
}

double geomean(const std::vector<Row>& rows, const std::string& backend) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(row.speed(backend));
  return std::exp(sum / static_cast<double>(rows.size()));
}

void print_text(const Options& options, const std::vector<Row>& rows) {
  std::printf("%-14s %12s", "median ms", "onnxruntime");
  for (const auto& backend : options.backends) std::printf(" %10s  speed", backend.c_str());
  for (const Row& row : rows) {
    std::printf("\n%-14s %12.2f", row.network.c_str(), row.onnxruntime_ms);
    for (const auto& backend : options.backends) {
      std::printf(" %10.2f  %5.2f", row.ours_ms.at(backend), row.speed(backend));
    }
  }
  std::printf("\n%-14s %12s", "geomean", "");
  for (const auto& backend : options.backends)
    std::printf(" %10s  %5.2f", "", geomean(rows, backend));
  std::printf("\nspeed: that of ONNX Runtime is 1; %d threads each, %d runs\n", options.threads,
              options.rounds * options.runs);
}

void print_json(const Options& options, const std::vector<Row>& rows) {
  Json report = {{"threads", options.threads}, {"runs", options.rounds * options.runs}};
  for (const Row& row : rows) {
    Json backends = Json::object();
    for (const auto& backend : options.backends) {
      backends[backend] = {{"p50_ms", row.ours_ms.at(backend)},
                           {"speed_vs_onnxruntime", row.speed(backend)}};
    }
    report["networks"].push_back({{"network", row.network},
                                  {"onnxruntime_p50_ms", row.onnxruntime_ms},
                                  {"backends", std::move(backends)}});
  }
  for (const auto& backend : options.backends) {
    report["geomean_vs_onnxruntime"][backend] = geomean(rows, backend);
  }
  std::printf("%s\n", report.dump(2).c_str());
}

int run(const Options& options) {
  // PoCL takes every processor unless told; the driver reads this when it is loaded.
  const std::string threads = std::to_string(options.threads);
  ::setenv("POCL_MAX_PTHREAD_COUNT", threads.c_str(), 0);
  ::setenv("POCL_CPU_MAX_CU_COUNT", threads.c_str(), 0);
  if (const std::string& missing = OrtPeer::instance().missing(); !missing.empty()) {
    std::fprintf(stderr, "compare: no ONNX Runtime: %s\n", missing.c_str());
    return kExitMissing;
  }
  std::vector<Row> rows;
  for (const std::string& network : options.networks) rows.push_back(compare(network, options));
  options.json ? print_json(options, rows) : print_text(options, rows);
  return 0;
}

}  // namespace
}  // namespace modeld::test

int main(int argc, char** argv) {
  modeld::test::Options options;
  CLI::App app{"Compare the speed of our backends with ONNX Runtime's on its CPU provider"};
  app.option_defaults()->always_capture_default();
  app.add_option("--backend", options.backends, "cpu, opencl or both")
      ->check(CLI::IsMember({"cpu", "opencl"}));
  app.add_option(
      "--network", options.networks,
      "Names of files in the shared models without .onnx; driving: the look-alike in float32");
  app.add_option("--rounds", options.rounds, "Turns of each")->check(CLI::Range(1, 10000));
  app.add_option("--runs", options.runs, "Counted runs of a turn")->check(CLI::Range(1, 10000));
  app.add_option("--threads", options.threads, "Host threads of each")->check(CLI::Range(1, 1024));
  app.add_flag("--json", options.json, "Print one JSON document instead of text");
  app.footer(
      "Exit code 77: no ONNX Runtime here (npm fetches it on first use).\nExample:\n  compare "
      "--backend opencl --network dm-2021-06 --rounds 20 --json");
  CLI11_PARSE(app, argc, argv);
  try {
    return modeld::test::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare: %s\n", error.what());
    return 1;
  }
}
