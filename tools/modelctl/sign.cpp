#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/artifact_writer.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string artifact;
  std::string key;
  bool json = false;
};

Status sign(const Options& options) {
  MODELD_ASSIGN(const SigningKey key, SigningKey::load(options.key));
  MODELD_ASSIGN(const PublicKey public_key, key.public_key());
  MODELD_TRY(resign_artifact(options.artifact, key));
  const TrustPolicy own{.keys = {public_key}};
  MODELD_ASSIGN(const Artifact artifact, Artifact::open(options.artifact, own));
  const std::string digest = to_hex(artifact.digest());
  if (options.json) {
    print_json(
        {{"artifact", options.artifact}, {"digest", digest}, {"key_id", key_id(public_key)}});
  } else {
    std::printf("signed %s\ndigest %s\nkey %s\n", options.artifact.c_str(), digest.c_str(),
                key_id(public_key).c_str());
  }
  return {};
}

}  // namespace

void add_sign(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "sign", "Sign an artifact, replacing the signature it has");
  command.add_option("ARTIFACT", options->artifact, "A .model file; its hashes are checked first")
      .required();
  command.add_option("--key", options->key, "Private key, as keygen wrote it").required();
  command.add_json_flag(options->json);
  command.set_example("modelctl sign driving.model --key release.key");
  command.set_action(chosen, [options] { return sign(*options); });
}

}  // namespace modeld::modelctl
