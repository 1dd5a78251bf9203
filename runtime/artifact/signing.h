// Ed25519 keys (OpenSSL libcrypto) and their files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace modeld {

using PublicKey = std::array<uint8_t, 32>;
using Signature = std::array<uint8_t, 64>;

// The private half; wiped from memory when it goes.
class SigningKey {
 public:
  static Result<SigningKey> generate();
  // PEM (PKCS#8), as `NAME.key`; refused if group or others can read it.
  static Result<SigningKey> load(const std::filesystem::path& path);
  ~SigningKey();
  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&& other) noexcept;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  Status save(const std::filesystem::path& path) const;  // mode 0600, never overwrites
  Result<PublicKey> public_key() const;
  Result<Signature> sign(std::span<const std::byte> message) const;

 private:
  SigningKey() = default;
  std::array<uint8_t, 32> seed_{};
};

Status save_public_key(const PublicKey& key, const std::filesystem::path& path);  // PEM
struct TrustedKeys {
  std::vector<PublicKey> keys;     // without the revoked ones
  std::vector<PublicKey> revoked;  // never to be believed again
};
// A `.pub` file, or every `*.pub` (at least one) and `*.revoked` of a folder: both hold a public
// key in PEM, and a revoked key is not trusted whatever `*.pub` says. One file that cannot be used
// is an error: a revocation must not be passed over.
Result<TrustedKeys> load_trusted_keys(const std::filesystem::path& file_or_folder);
Result<bool> verify_signature(const PublicKey& key, const Signature& signature,
                              std::span<const std::byte> message);
// "ed25519:" and the first 16 hex digits of the key's SHA-256: for people.
std::string key_id(const PublicKey& key);

}  // namespace modeld
