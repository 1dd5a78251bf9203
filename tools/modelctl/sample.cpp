#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"
#include "tools/samples/sample_network.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string kind;
  std::string output;
  bool json = false;
};

std::string kind_names() {
  std::string names;
  for (const std::string_view name : samples::sample_kind_names()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

Status write_sample_network(const Options& options) {
  const auto kind = samples::parse_sample_kind(options.kind);
  if (!kind) {
    return Error(ErrorCode::kInvalidArgument, "unknown sample")
        .expecting("one of " + kind_names(), options.kind);
  }
  MODELD_TRY(samples::write_sample(*kind, options.output));
  std::error_code ignored;
  const uint64_t bytes = std::filesystem::file_size(options.output, ignored);
  if (options.json) {
    print_json({{"sample", options.kind}, {"file", options.output}, {"bytes", bytes}});
  } else {
    std::printf("wrote %s (%s, made-up weights)\n", options.output.c_str(),
                format_bytes(bytes).c_str());
  }
  return {};
}

}  // namespace

void add_sample(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "sample",
                     "Write an ONNX look-alike of a driving network, with made-up weights");
  command.add_option("KIND", options->kind, "One of: " + kind_names()).required();
  command.add_option("-o,--output", options->output, "The .onnx file to write").required();
  command.add_json_flag(options->json);
  command.set_example("modelctl sample driving -o driving.onnx");
  command.set_action(chosen, [options] { return write_sample_network(*options); });
}

}  // namespace modeld::modelctl
