#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/backends.h"
#include "runtime/selftest/reference_inputs.h"
#include "tools/modelctl/inspect_json.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/program_text.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  ModelOptions model;
  bool ops = false;
  bool arena = false;
  std::string lowering;
  bool json = false;
};

void print_list(const char* title, const Json& list,
                const std::function<std::string(const Json&)>& line) {
  if (list.empty()) return;
  std::printf("\n%s\n", title);
  for (const Json& item : list) std::printf("  %s\n", line(item).c_str());
}

std::string text(const Json& object, const char* key) {
  const Json& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string tensor_line(const Json& item) {
  std::string line = text(item, "name") + "  " + text(item, "type");
  if (item.contains("role")) line += "  " + text(item, "role");
  if (item.contains("source") && !text(item, "source").empty())
    line += " <- " + text(item, "source");
  if (item.contains("next")) line += "  next: " + text(item, "next");
  return line;
}

std::string camera_line(const Json& item) {
  return text(item, "frame_input") + " through " + text(item, "transform_input") + " to " +
         text(item, "layout") + " " + text(item, "output_size") + ", border " +
         text(item, "border") + ", sizes " + item.at("sizes").dump();
}

void print_slices(const Json& outputs) {
  for (const Json& output : outputs) {
    std::printf("\nslices of %s\n", text(output, "name").c_str());
    for (const Json& slice : output.at("slices")) {
      std::printf("  %s [%s, %s)%s\n", text(slice, "name").c_str(), text(slice, "start").c_str(),
                  text(slice, "stop").c_str(), slice.at("varies").get<bool>() ? " varies" : "");
    }
  }
}

void print_lines(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::printf("\n%s\n", title);
  for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
}

void print_text(const Json& document) {
  for (const char* key : {"name", "role", "digest", "signature", "precision", "device_classes",
                          "compiler_version", "checkpoint", "source_sha256"}) {
    std::printf("%-18s %s\n", key, text(document, key).c_str());
  }
  const Json& program = document.at("program");
  std::printf("%-18s %s ops, %s GMAC, weights %s, arena %s\n", "program",
              text(program, "ops").c_str(),
              format_number(program.at("gmacs").get<double>()).c_str(),
              format_bytes(program.at("weights_bytes").get<uint64_t>()).c_str(),
              format_bytes(program.at("arena_bytes").get<uint64_t>()).c_str());
  print_list("inputs", document.at("inputs"), tensor_line);
  print_list("states", document.at("states"), tensor_line);
  print_list("outputs", document.at("outputs"), tensor_line);
  print_slices(document.at("outputs"));
  print_list("cameras", document.at("cameras"), camera_line);
  print_list("accepted on", document.at("acceptances"), [](const Json& item) {
    return text(item, "backend") + ", " + text(item, "device") + ": worst " +
           text(item, "worst_ms") + " ms";
  });
}

// What a backend really runs: one entry per step of a recording.
Result<Json> lowering_json(const Model& model, const std::string& backend) {
  if (backend != "cpu") {
    return Error(ErrorCode::kInvalidArgument, "--lowering").expecting("cpu", backend);
  }
  MODELD_ASSIGN(const auto device, open_backend(backend));
  MODELD_ASSIGN(const CaptureOptions options, reference_capture_options(model.contract));
  MODELD_ASSIGN(const auto capture, device->record(model.program, *model.weights, options));
  Json steps = Json::array();
  for (const CpuStep& step : cpu_steps(*capture)) {
    steps.push_back(
        {{"op", step.op}, {"implementation", step.implementation}, {"shared", step.shared}});
  }
  return steps;
}

std::string step_line(const Json& item) {
  return text(item, "op") + ": " + text(item, "implementation") +
         (item.at("shared").get<bool>() ? ", shared between threads" : "");
}

Status inspect(const Options& options) {
  MODELD_ASSIGN(const LoadedModel loaded, load_model(options.model, /*make_references=*/false));
  Json document = inspect_json(loaded);
  if (!options.lowering.empty()) {
    MODELD_ASSIGN(document["lowering"], lowering_json(loaded.model, options.lowering));
  }
  if (options.json) {
    print_json(document);
    return {};
  }
  print_text(document);
  if (options.ops) print_lines("ops", program_lines(loaded.model.program));
  if (options.arena) print_lines("arena", arena_lines(loaded.model.program));
  if (document.contains("lowering")) {
    print_list(("steps on " + options.lowering).c_str(), document.at("lowering"), step_line);
  }
  return {};
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "inspect", "Show what a model promises and what it consists of");
  add_model_options(command, options->model);
  command.add_flag("--ops", options->ops,
                   "The program, one op a line with its attributes, MACs and bytes");
  command.add_flag("--arena", options->arena, "Where intermediates lie in memory, and how long");
  command.add_option("--lowering", options->lowering,
                     "Backend (cpu): what really runs each op, step by step");
  command.add_json_flag(options->json);
  command.set_example("modelctl inspect driving.model --ops --lowering cpu");
  command.set_action(chosen, [options] { return inspect(*options); });
}

}  // namespace modeld::modelctl
