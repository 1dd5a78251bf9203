#include "runtime/artifact/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

namespace modeld {
namespace {

// libcrypto's digest calls fail only when memory or the library itself is broken; a wrong hash
// must never be the answer then.
void require(int ok) {
  if (ok != 1) std::abort();
}

}  // namespace

struct Sha256Hasher::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256Hasher::Sha256Hasher() : context_(std::make_unique<Context>()) {
  require(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr));
}

Sha256Hasher::~Sha256Hasher() = default;

void Sha256Hasher::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()));
}

Sha256 Sha256Hasher::finish() {
  Sha256 hash{};
  require(EVP_DigestFinal_ex(context_->evp, hash.data(), nullptr));
  require(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr));
  return hash;
}

Sha256 sha256(std::span<const std::byte> bytes) {
  Sha256Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

std::string to_hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace modeld
