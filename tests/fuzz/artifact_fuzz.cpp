// A model file's header, signature section and manifest, each decoded from the same bytes: behind
// hashes and signature no fuzzer would get to the manifest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/file_header.h"
#include "runtime/artifact/manifest_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)modeld::decode_header(bytes.first(std::min<size_t>(size, modeld::kHeaderBytes)), size);
  if (size >= modeld::kSignatureBytes) {
    (void)modeld::decode_signature(bytes.first<modeld::kSignatureBytes>());
  }
  (void)modeld::decode_manifest_head(bytes);
  const auto manifest = modeld::decode_manifest(bytes);
  if (!manifest.ok()) return 0;
  constexpr uint64_t kWeightsBytes = 1 << 16;
  (void)modeld::check_model(manifest->contract, manifest->program, kWeightsBytes);
  return 0;
}
