#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/artifact/artifact.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string artifact;
  std::string trust;
  bool allow_unsigned = false;
  std::string role;
  std::string device_class;
  bool json = false;
};

Result<Requirements> requirements_of(const Options& options) {
  Requirements requirements;
  if (!options.role.empty()) {
    requirements.role = parse_model_role(options.role);
    if (!requirements.role) {
      return Error(ErrorCode::kInvalidArgument, "--role")
          .expecting("driving, monitoring or other", options.role);
    }
  }
  if (!options.device_class.empty()) {
    requirements.device_class = parse_device_class(options.device_class);
    if (!requirements.device_class) {
      return Error(ErrorCode::kInvalidArgument, "--device-class")
          .expecting("cpu, gpu or accelerator", options.device_class);
    }
  }
  return requirements;
}

Result<Artifact> open_whole(const Options& options, const TrustPolicy& policy,
                            const Requirements& requirements) {
  MODELD_ASSIGN(Artifact artifact, Artifact::open(options.artifact, policy, requirements));
  auto weights = artifact.verify_weights();
  if (!weights.ok()) return std::move(weights).error().in(options.artifact);
  return artifact;
}

void report_refusal(const Options& options, const Error& error) {
  print_json({{"artifact", options.artifact},
              {"verified", false},
              {"reason", error.message},
              {"expected", error.expected},
              {"found", error.found}});
}

void report(const Options& options, const Artifact& artifact) {
  const std::string digest = to_hex(artifact.digest());
  const std::string signature(to_string(artifact.signature()));
  const Contract& contract = artifact.model().contract;
  if (options.json) {
    print_json({{"artifact", options.artifact},
                {"verified", true},
                {"digest", digest},
                {"signature", signature},
                {"name", contract.name},
                {"role", to_string(contract.role)},
                {"bytes", artifact.file_bytes()}});
  } else {
    std::printf("%s is intact\nname      %s (%s)\ndigest    %s\nsignature %s\nsize      %s\n",
                options.artifact.c_str(), contract.name.c_str(),
                std::string(to_string(contract.role)).c_str(), digest.c_str(), signature.c_str(),
                format_bytes(artifact.file_bytes()).c_str());
  }
}

Status verify_artifact(const Options& options) {
  if (options.trust.empty() && !options.allow_unsigned) {
    return Error(ErrorCode::kInvalidArgument, "whom to trust?")
        .expecting("--trust FILE_OR_DIR or --allow-unsigned", "neither");
  }
  MODELD_ASSIGN(TrustPolicy policy, trust_policy(options.trust));
  policy.allow_unsigned = options.allow_unsigned;
  MODELD_ASSIGN(const Requirements requirements, requirements_of(options));
  auto artifact = open_whole(options, policy, requirements);
  if (!artifact.ok()) {
    if (options.json) report_refusal(options, artifact.error());
    return std::move(artifact).error();
  }
  report(options, *artifact);
  return {};
}

}  // namespace

void add_verify(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(
      app, "verify",
      "Check an artifact as a daemon does: signature, hashes, contract, permissions");
  command.add_option("ARTIFACT", options->artifact, "A .model file").required();
  command.add_option("--trust", options->trust, "Public key file, or folder of *.pub");
  command.add_flag("--allow-unsigned", options->allow_unsigned,
                   "Accept any signature that matches, and none");
  command.add_option("--role", options->role, "Refuse other roles: driving, monitoring, other");
  command.add_option("--device-class", options->device_class,
                     "Refuse artifacts not made for it: cpu, gpu, accelerator");
  command.add_json_flag(options->json);
  command.set_example("modelctl verify driving.model --trust /etc/modeld/keys");
  command.set_action(chosen, [options] { return verify_artifact(*options); });
}

}  // namespace modeld::modelctl
