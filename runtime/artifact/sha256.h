// SHA-256 (FIPS 180-4) by OpenSSL libcrypto, which uses the processor's SHA instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace modeld {

using Sha256 = std::array<uint8_t, 32>;

// 64 lower-case hex digits.
std::string to_hex(std::span<const uint8_t> bytes);

// Hashes in pieces. Not thread-safe.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;

  void update(std::span<const std::byte> bytes);
  // The hash of everything so far; the hasher starts anew afterwards.
  Sha256 finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Sha256 sha256(std::span<const std::byte> bytes);

}  // namespace modeld
