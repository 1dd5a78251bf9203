#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/artifact/signing.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string name;
  bool json = false;
};

Status keygen(const Options& options) {
  if (std::filesystem::path(options.name).filename().empty()) {
    return Error(ErrorCode::kInvalidArgument, "name of the keys")
        .expecting("a file name without its ending", "'" + options.name + "'");
  }
  const std::filesystem::path private_path = options.name + ".key";
  const std::filesystem::path public_path = options.name + ".pub";
  // Neither file is made if the other cannot be: half a key pair is of no use.
  for (const auto& path : {private_path, public_path}) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
      return Error(ErrorCode::kInvalidArgument,
                   path.string() + " exists; keys are not overwritten");
    }
  }
  MODELD_ASSIGN(const SigningKey key, SigningKey::generate());
  MODELD_ASSIGN(const PublicKey public_key, key.public_key());
  MODELD_TRY(key.save(private_path));
  if (auto saved = save_public_key(public_key, public_path); !saved.ok()) {
    std::error_code ignored;
    std::filesystem::remove(private_path, ignored);
    return std::move(saved).error();
  }
  if (options.json) {
    print_json({{"private_key", private_path.string()},
                {"public_key", public_path.string()},
                {"key_id", key_id(public_key)}});
  } else {
    std::printf("wrote %s (keep it secret) and %s\nkey %s\n", private_path.c_str(),
                public_path.c_str(), key_id(public_key).c_str());
  }
  return {};
}

}  // namespace

void add_keygen(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "keygen", "Make a key pair for signing artifacts");
  command.add_option("NAME", options->name, "Writes NAME.key (mode 0600) and NAME.pub").required();
  command.add_json_flag(options->json);
  command.set_example("modelctl keygen release");
  command.set_action(chosen, [options] { return keygen(*options); });
}

}  // namespace modeld::modelctl
