// modelctl: makes, checks, runs and measures model files.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "runtime/artifact/contract.h"
#include "runtime/base/exit_codes.h"
#include "tools/modelctl/command.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/report.h"

namespace {

std::string version_line() {
  return std::string("modelctl ") + MODELD_VERSION + ", artifact format " +
         std::to_string(modeld::kFormatVersion) + ", runtime ABI " +
         std::to_string(modeld::kRuntimeAbiVersion);
}

int run(int argc, char** argv) {
  CLI::App app("Makes, checks, runs and measures model files for modeld.", "modelctl");
  app.set_version_flag("--version", version_line());
  app.require_subcommand(1);
  app.footer(
      "`modelctl COMMAND --help` shows the options of a command and an example.\n"
      "Exit codes: 0 ok, 1 check failed, 2 usage or configuration, 3 artifact refused,\n"
      "4 device error, 5 deadline or stall, 130 interrupted.");
  modeld::modelctl::Action chosen;
  modeld::modelctl::add_commands(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& answer) {  // help and version come this way too
    return app.exit(answer) == 0 ? modeld::kExitOk : modeld::kExitUsage;
  }
  modeld::Status status = chosen();
  if (status.ok()) status = modeld::modelctl::finish_report();
  if (status.ok()) return modeld::kExitOk;
  std::fflush(stdout);  // so that the reason comes after the report, whoever reads both
  std::fprintf(stderr, "modelctl: %s\n", to_string(status.error()).c_str());
  return modeld::exit_code(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  modeld::modelctl::exit_on_interrupt();
  modeld::modelctl::occupy_standard_streams();
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "modelctl: %s [internal]\n", failure.what());
    return modeld::kExitCheckFailed;
  }
}
