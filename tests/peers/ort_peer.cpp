#include "tests/peers/ort_peer.h"

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace modeld::test {
namespace {

struct CommandResult {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

CommandResult run_command(const std::vector<std::string>& words) {
  std::string line = "timeout 300";
  for (const auto& word : words) line += " " + quoted(word);
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start: " + line);
  CommandResult result;
  char buffer[4096];
  while (const size_t count = fread(buffer, 1, sizeof buffer, pipe)) {
    result.output.append(buffer, count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  while (result.output.ends_with('\n')) result.output.pop_back();
  return result;
}

std::filesystem::path script(const char* name) {
  return std::filesystem::path(MODELD_SOURCE_ROOT) / "tests/peers" / name;
}

NamedArrays read_outputs(const nlohmann::json& report, const std::filesystem::path& folder,
                         size_t step) {
  NamedArrays outputs;
  for (size_t i = 0; i < report["outputs"].size(); ++i) {
    const auto file = folder / (std::to_string(step) + "_" + std::to_string(i) + ".npy");
    outputs.emplace(report["outputs"][i], must(read_npy(file)));
  }
  return outputs;
}

}  // namespace

OrtPeer::OrtPeer() : folder_(MODELD_PEERS_FOLDER) {
  const auto result = run_command({script("install_onnxruntime.sh").string(), folder_.string()});
  if (result.exit_code != 0) missing_ = result.output.empty() ? "set-up failed" : result.output;
}

const OrtPeer& OrtPeer::instance() {
  static const OrtPeer peer;
  return peer;
}

std::vector<std::string> OrtPeer::command() const {
  return {"node", script("ort_run.js").string(), (folder_ / "node_modules").string()};
}

OrtRun OrtPeer::run(const std::filesystem::path& model, const std::vector<NamedArrays>& steps,
                    int runs, int threads) const {
  const TempDir folder;
  std::vector<std::string> words = command();
  words.insert(words.end(), {model.string(), folder.path().string(), "--threads",
                             std::to_string(threads), "--runs", std::to_string(runs)});
  size_t index = 0;
  for (const NamedArrays& step : steps) {
    if (&step != &steps.front()) words.emplace_back("--next");
    for (const auto& [name, array] : step) {
      const auto file = folder / ("input_" + std::to_string(index++) + ".npy");
      must(write_npy(file, array));
      words.push_back(name + "=" + file.string());
    }
  }
  const auto result = run_command(words);
  if (result.exit_code != 0) throw std::runtime_error("ONNX Runtime: " + result.output);
  const auto report = nlohmann::json::parse(result.output);
  OrtRun run;
  run.ms = report["ms"].get<std::vector<double>>();
  for (size_t step = 0; step < steps.size(); ++step) {
    run.outputs.push_back(read_outputs(report, folder.path(), step));
  }
  return run;
}

std::vector<OrtPeer::BatchAnswer> OrtPeer::run_batch(const std::vector<BatchJob>& jobs) const {
  const TempDir folder;
  std::vector<std::string> lines;
  for (size_t job = 0; job < jobs.size(); ++job) {
    const auto place = folder / std::to_string(job);
    std::filesystem::create_directory(place);
    nlohmann::json words = {jobs[job].model.string(), place.string(), "--threads", "1"};
    size_t index = 0;
    for (const auto& [name, array] : jobs[job].inputs) {
      const auto file = place / ("input_" + std::to_string(index++) + ".npy");
      must(write_npy(file, array));
      words.push_back(name + "=" + file.string());
    }
    lines.push_back(words.dump());
  }
  std::vector<BatchAnswer> answers;
  while (answers.size() < jobs.size()) {
    const size_t first = answers.size();
    std::ofstream list(folder / "list");
    for (size_t job = first; job < jobs.size(); ++job) list << lines[job] << "\n";
    list.close();
    std::vector<std::string> words = command();
    words.insert(words.end(), {"--batch", (folder / "list").string()});
    const auto result = run_command(words);
    std::istringstream reports(result.output);
    for (std::string line; std::getline(reports, line);) {
      if (!line.starts_with("{")) continue;  // warnings of its own
      const auto report = nlohmann::json::parse(line);
      auto& answer = answers.emplace_back();
      if (report.contains("error")) {
        answer.error = report["error"];
      } else {
        answer.outputs = read_outputs(report, folder / std::to_string(answers.size() - 1), 0);
      }
    }
    if (answers.size() == jobs.size()) break;
    if (result.exit_code == 0) throw std::runtime_error("ONNX Runtime: " + result.output);
    answers.push_back({{}, "the process died, exit code " + std::to_string(result.exit_code)});
  }
  return answers;
}

}  // namespace modeld::test
