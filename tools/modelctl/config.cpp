#include <cstdio>
#include <nlohmann/json.hpp>

#include "config/config_loader.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string file;
  std::string daemon = "modeld";
  bool check = false;
  bool json = false;
};

DaemonKind kind_of(const Options& options) {
  return options.daemon == "modeld" ? DaemonKind::kModeld : DaemonKind::kDmonitoringmodeld;
}

void print_problems(const Options& options, const std::vector<Error>& problems) {
  if (options.json) {
    Json list = Json::array();
    for (const Error& problem : problems) {
      list.push_back({{"where", problem.context},
                      {"message", problem.message},
                      {"expected", problem.expected},
                      {"found", problem.found}});
    }
    print_json({{"file", options.file}, {"daemon", options.daemon}, {"problems", list}});
    return;
  }
  for (const Error& problem : problems) std::printf("%s\n", to_string(problem).c_str());
  if (problems.empty())
    std::printf("%s: good for %s\n", options.file.c_str(), options.daemon.c_str());
}

Status check(const Options& options) {
  const ConfigReport report = check_config(options.file, kind_of(options));
  print_problems(options, report.problems);
  if (report.problems.empty()) return {};
  return Error(ErrorCode::kInvalidArgument,
               options.file + " is not a configuration of " + options.daemon)
      .expecting("no problems", std::to_string(report.problems.size()));
}

}  // namespace

void add_config(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "config", "Check a daemon's configuration file");
  command.add_option("FILE", options->file, "The file").required();
  command.add_option("--daemon", options->daemon, "Whose file it is")
      .one_of({"modeld", "dmonitoringmodeld"})
      .with_default();
  command.add_flag("--check", options->check,
                   "List every problem with its line; exit code 2 if there is one");
  command.add_json_flag(options->json);
  command.set_example("modelctl config --check /etc/modeld/modeld.toml");
  // Checking is what there is to do, so the flag that says so may be left out.
  command.set_action(chosen, [options] { return check(*options); });
}

}  // namespace modeld::modelctl
