// A verified model file: the only way a model reaches a daemon.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artifact/model.h"
#include "runtime/artifact/sha256.h"
#include "runtime/artifact/signing.h"
#include "runtime/base/result.h"

namespace modeld {

// Whom to believe. An empty set of keys with `allow_unsigned` false accepts nothing.
struct TrustPolicy {
  std::vector<PublicKey> keys;
  std::vector<PublicKey> revoked = {};  // refused whatever else is allowed
  // Development only, and reported by health: a file without signature, or signed by a key not in
  // `keys`, is accepted; block hashes are checked all the same.
  bool allow_unsigned = false;
  // Refuse files that group or others may write, or whose owner is neither root nor this user.
  bool require_private_file = true;
};

enum class SignatureState : uint8_t { kTrusted, kUnknownKey, kUnsigned };
std::string_view to_string(SignatureState state);

// What the caller can use; anything else is refused with expected and found, before the program
// is even decoded where the manifest's head says so.
struct Requirements {
  std::optional<ModelRole> role;
  std::optional<DeviceClass> device_class;
};

class Artifact {
 public:
  // Opens `path` once and reads everything through that descriptor. Header, section table,
  // manifest hash and signature are verified here; weight blocks when they are read (each at most
  // 32 MiB, verified before a byte of it is handed out). The file may be replaced or truncated
  // meanwhile: a change of the bytes is a kRefused error of the read, never a signal. A file that
  // cannot be opened is kNotFound, kPermission or kIo; all else that is wrong with it is kRefused.
  static Result<Artifact> open(const std::filesystem::path& path, const TrustPolicy& trust,
                               const Requirements& requirements = {});

  const Model& model() const { return model_; }
  SignatureState signature() const { return signature_; }
  // SHA-256 over header and manifest; names the artifact in health and logs.
  const Sha256& digest() const { return digest_; }
  uint64_t file_bytes() const { return file_bytes_; }

  // Reads every weight block once (modelctl verify).
  Status verify_weights() const;

 private:
  Artifact() = default;
  static Result<Artifact> open_unnamed(const std::filesystem::path& path, const TrustPolicy& trust,
                                       const Requirements& requirements);

  Model model_;
  SignatureState signature_ = SignatureState::kUnsigned;
  Sha256 digest_{};
  uint64_t file_bytes_ = 0;
};

// verify(), the alignment of weights and check_contract(): what every model in a file keeps.
Status check_model(const Contract& contract, const Program& program, uint64_t weights_bytes);

// The camera size of a stream against the contract; kRefused naming the sizes known.
Status check_camera_size(const CameraContract& camera, FrameSize found);

}  // namespace modeld
