#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/selftest/self_test.h"
#include "tools/modelctl/backend_options.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/model_store.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

constexpr const char* kFolder = "/var/lib/modeld";
constexpr const char* kTrust = "/etc/modeld/keys";
// Long enough for the reference interpreter, short enough to end.
constexpr Nanoseconds kReplayDeadline = 600 * kSecond;

struct Options {
  std::string artifact;
  std::string folder = kFolder;
  std::string name;
  std::string role;
  std::string trust = kTrust;
  BackendChoice backend;
  uint32_t repeats = 3;
  bool json = false;
};

std::string unit_of(ModelRole role) {
  return role == ModelRole::kMonitoring ? "dmonitoringmodeld" : "modeld";
}

// What the shipped configurations of the daemons look for.
Result<std::string> name_of(ModelRole role) {
  if (role == ModelRole::kDriving) return std::string("driving.model");
  if (role == ModelRole::kMonitoring) return std::string("monitoring.model");
  return Error(ErrorCode::kInvalidArgument, "no daemon runs a model of this role")
      .expecting("driving, monitoring or --name", std::string(to_string(role)));
}

ModelStore::Examine self_test(const Options& options) {
  return [&options](const Artifact& artifact) -> Status {
    MODELD_ASSIGN(const auto device, open_device(options.backend));
    note_interrupts();
    SelfTestOptions test;
    test.repeats = options.repeats;
    test.threads = options.backend.threads;
    test.replay_deadline = kReplayDeadline;
    test.stop = interrupted;
    MODELD_ASSIGN(const auto report, run_self_test(*device, artifact.model(), test));
    if (report.passed) return {};
    return Error(ErrorCode::kCheckFailed, describe_failure(report)).in("self-test");
  };
}

void report(const Options& options, const std::string& name, ModelRole role,
            const ModelStore::Change& change) {
  const std::string path = (std::filesystem::path(options.folder) / name).string();
  if (options.json) {
    print_json({{"installed", path},
                {"digest", change.digest},
                {"previous", change.previous.empty() ? Json() : Json(change.previous)},
                {"changed", change.changed}});
    return;
  }
  std::printf("%s is %s%s\n", path.c_str(), change.digest.c_str(),
              change.changed ? "" : " already, nothing was changed");
  if (!change.changed) return;
  if (!change.previous.empty()) {
    std::printf("before  %s (modelctl rollback)\n", change.previous.c_str());
  }
  std::printf("takes effect with: systemctl restart %s\n", unit_of(role).c_str());
}

// Unlike on a desk, what a daemon will run is signed.
Result<TrustPolicy> stated_trust(const Options& options) {
  if (options.trust.empty()) {
    return Error(ErrorCode::kInvalidArgument, "whom to trust?")
        .expecting("--trust FILE_OR_DIR", "an empty path");
  }
  return trust_policy(options.trust);
}

Status install(const Options& options) {
  MODELD_ASSIGN(const TrustPolicy trust, stated_trust(options));
  // The daemon's own rules hold for the copy; the file that is brought may be anybody's.
  TrustPolicy brought = trust;
  brought.require_private_file = false;
  MODELD_ASSIGN(const Artifact artifact, Artifact::open(options.artifact, brought));
  Requirements requirements;
  requirements.role = artifact.model().contract.role;
  std::string name = options.name;
  if (name.empty()) {
    MODELD_ASSIGN(name, name_of(*requirements.role));
  }
  MODELD_ASSIGN(ModelStore store, ModelStore::open(options.folder));
  MODELD_ASSIGN(const auto change,
                store.install(options.artifact, name, trust, requirements, self_test(options)));
  report(options, name, *requirements.role, change);
  return {};
}

Status roll_back(const Options& options) {
  MODELD_ASSIGN(const TrustPolicy trust, stated_trust(options));
  Requirements requirements;
  std::string name = options.name;
  if (name.empty()) {
    requirements.role = parse_model_role(options.role);
    if (!requirements.role) {
      return Error(ErrorCode::kInvalidArgument, "which model?")
          .expecting("driving, monitoring or --name", "'" + options.role + "'");
    }
    MODELD_ASSIGN(name, name_of(*requirements.role));
  }
  MODELD_ASSIGN(ModelStore store, ModelStore::open(options.folder));
  MODELD_ASSIGN(const auto change, store.roll_back(name, trust, requirements, self_test(options)));
  report(options, name, requirements.role.value_or(ModelRole::kDriving), change);
  return {};
}

void add_store_options(Subcommand& command, Options& options) {
  command.add_option("--dir", options.folder, "Folder of the daemons' models").with_default();
  command.add_option("--name", options.name,
                     "File name in it; without, driving.model or monitoring.model by role");
  command
      .add_option("--trust", options.trust,
                  "Public key file, or folder of *.pub and *.revoked: refuse others and unsigned")
      .with_default();
  add_backend_options(command, options.backend);
  constexpr uint32_t kMaxRepeats = 1'000'000;
  command.add_option("--repeats", options.repeats, "Runs of every reference vector")
      .in_range(1u, kMaxRepeats)
      .with_default();
  command.add_json_flag(options.json);
}

}  // namespace

void add_install(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "install",
                     "Verify an artifact, run its self-test here and put it where the daemons look;"
                     " the one before is kept");
  command.add_option("ARTIFACT", options->artifact, "A signed .model file").required();
  add_store_options(command, *options);
  command.set_example("modelctl install driving.model --trust /etc/modeld/keys --backend cpu");
  command.set_action(chosen, [options] { return install(*options); });
}

void add_rollback(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "rollback",
                     "Exchange an installed model with the one before it, verified and tested");
  command.add_option("ROLE", options->role, "driving or monitoring");
  add_store_options(command, *options);
  command.set_example("modelctl rollback driving");
  command.set_action(chosen, [options] { return roll_back(*options); });
}

}  // namespace modeld::modelctl
