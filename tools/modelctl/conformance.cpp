#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/device/device.h"
#include "tools/modelctl/backend_options.h"
#include "tools/modelctl/conformance_case.h"
#include "tools/modelctl/conformance_run.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string folder;
  BackendChoice backend;
  std::string filter;
  bool json = false;
};

Result<std::vector<CaseResult>> run_all(Device& device, const Options& options) {
  MODELD_ASSIGN(std::vector<std::string> names, list_cases(options.folder));
  std::erase_if(names, [&](const std::string& name) {
    return name.find(options.filter) == std::string::npos;
  });
  if (names.empty()) {
    return Error(ErrorCode::kInvalidArgument, "no cases in " + options.folder)
        .expecting("folders with a model.onnx whose name contains '" + options.filter + "'",
                   "none");
  }
  Progress progress;
  std::vector<CaseResult> results;
  for (const std::string& name : names) {
    progress.show(name, static_cast<double>(results.size()) / static_cast<double>(names.size()));
    results.push_back(run_case(device, options.folder, name, /*optimise=*/true));
  }
  return results;
}

size_t count(const std::vector<CaseResult>& results, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const CaseResult& result) { return result.verdict == verdict; }));
}

void report(const Options& options, const std::vector<CaseResult>& results) {
  Json failures = Json::array();
  for (const CaseResult& result : results) {
    if (result.verdict == Verdict::kPassed) continue;
    const bool unsupported = result.verdict == Verdict::kUnsupported;
    failures.push_back(
        {{"name", result.name}, {"reason", (unsupported ? "unsupported: " : "") + result.reason}});
  }
  if (options.json) {
    print_json({{"total", results.size()},
                {"passed", count(results, Verdict::kPassed)},
                {"failed", count(results, Verdict::kFailed)},
                {"unsupported", count(results, Verdict::kUnsupported)},
                {"failures", failures}});
    return;
  }
  for (const Json& failure : failures) {
    std::printf("%s: %s\n", failure["name"].get<std::string>().c_str(),
                failure["reason"].get<std::string>().c_str());
  }
  std::printf("%zu cases: %zu passed, %zu failed, %zu unsupported\n", results.size(),
              count(results, Verdict::kPassed), count(results, Verdict::kFailed),
              count(results, Verdict::kUnsupported));
}

Status conformance(const Options& options) {
  MODELD_ASSIGN(const auto device, open_device(options.backend));
  MODELD_ASSIGN(const std::vector<CaseResult> results, run_all(*device, options));
  report(options, results);
  const size_t wrong = count(results, Verdict::kFailed);
  const size_t unsupported = count(results, Verdict::kUnsupported);
  if (wrong == 0 && unsupported == 0) return {};
  return Error(ErrorCode::kCheckFailed, "conformance")
      .expecting("every case to pass", std::to_string(wrong) + " failed, " +
                                           std::to_string(unsupported) + " unsupported");
}

}  // namespace

void add_conformance(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "conformance",
                     "Run ONNX node tests: NAME/model.onnx, NAME/test_data_set_K/*.pb");
  command.add_option("DIR", options->folder, "Folder of cases").required();
  add_backend_options(command, options->backend);
  command.add_option("--filter", options->filter, "Only cases whose name contains this");
  command.add_json_flag(options->json);
  command.set_example("modelctl conformance onnx-node --backend reference --filter conv");
  command.set_action(chosen, [options] { return conformance(*options); });
}

}  // namespace modeld::modelctl
