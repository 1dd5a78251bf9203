// The fixed start of a model file: header and signature section (FORMAT.md, "Header").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/artifact/sha256.h"
#include "runtime/artifact/signing.h"
#include "runtime/base/result.h"

namespace modeld {

constexpr uint64_t kHeaderBytes = 256;
constexpr uint64_t kSignatureOffset = kHeaderBytes;
constexpr uint64_t kSignatureBytes = 128;
constexpr uint64_t kManifestOffset = kSignatureOffset + kSignatureBytes;
// Reference outputs are the bulk of a manifest; this is far above any and bounds what a hostile
// file can make a reader allocate.
constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20;
constexpr uint64_t kWeightAlignment = 256;  // of the section in the file, of a weight in it
constexpr uint64_t kWeightBlockBytes = uint64_t{32} << 20;
constexpr uint64_t kMaxWeightsBytes = uint64_t{16} << 30;

using HeaderBytes = std::array<std::byte, kHeaderBytes>;
using SignatureSectionBytes = std::array<std::byte, kSignatureBytes>;

// The fields that differ from file to file; everything else follows from them.
struct FileHeader {
  uint64_t manifest_bytes = 0;
  uint64_t weights_bytes = 0;
  Sha256 manifest_hash{};

  uint64_t weights_offset() const;
  uint64_t file_bytes() const { return weights_offset() + weights_bytes; }
  uint64_t weight_blocks() const;
};

HeaderBytes encode_header(const FileHeader& header);
// `start` is the first kHeaderBytes of the file, or the whole file if it is shorter; `file_bytes`
// what the file system says. Every field is checked; kRefused with expected and found.
Result<FileHeader> decode_header(std::span<const std::byte> start, uint64_t file_bytes);

struct SignatureSection {
  bool is_signed = false;
  PublicKey key{};
  Signature signature{};
};

SignatureSectionBytes encode_signature(const SignatureSection& section);
Result<SignatureSection> decode_signature(std::span<const std::byte, kSignatureBytes> bytes);

}  // namespace modeld
