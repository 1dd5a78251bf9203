#include "runtime/artifact/artifact_writer.h"

#include <algorithm>
#include <functional>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/file_header.h"
#include "runtime/artifact/manifest_codec.h"
#include "runtime/base/file.h"
#include "runtime/base/new_file.h"

namespace modeld {
namespace {

// Everything before the weights.
struct Preface {
  HeaderBytes header{};
  SignatureSectionBytes signature{};
  std::vector<std::byte> manifest;  // padded to the weights' offset
};

Status for_each_block(WeightSource& weights,
                      const std::function<Status(std::span<const std::byte>)>& use) {
  std::vector<std::byte> block;
  for (uint64_t at = 0; at < weights.size(); at += block.size()) {
    block.resize(std::min(kWeightBlockBytes, weights.size() - at));
    MODELD_TRY(weights.read(at, block));
    MODELD_TRY(use(block));
  }
  return {};
}

Result<std::vector<Sha256>> hash_blocks(WeightSource& weights) {
  std::vector<Sha256> hashes;
  MODELD_TRY(for_each_block(weights, [&](std::span<const std::byte> block) -> Status {
    hashes.push_back(sha256(block));
    return {};
  }));
  return hashes;
}

Result<Preface> make_preface(const Model& model, const SigningKey* key) {
  MODELD_TRY(check_model(model.contract, model.program, model.weights->size()));
  MODELD_ASSIGN(std::vector<Sha256> hashes, hash_blocks(*model.weights));
  Preface preface;
  MODELD_ASSIGN(preface.manifest,
                encode_manifest({model.contract, model.program, std::move(hashes)}));
  // A reader applies limits that a model in memory need not keep (lengths and bytes of names).
  MODELD_TRY(decode_manifest(preface.manifest));
  const FileHeader header{.manifest_bytes = preface.manifest.size(),
                          .weights_bytes = model.weights->size(),
                          .manifest_hash = sha256(preface.manifest)};
  preface.header = encode_header(header);
  if (key != nullptr) {
    std::vector<std::byte> covered(preface.header.begin(), preface.header.end());
    covered.insert(covered.end(), preface.manifest.begin(), preface.manifest.end());
    SignatureSection section{.is_signed = true, .key = {}, .signature = {}};
    MODELD_ASSIGN(section.key, key->public_key());
    MODELD_ASSIGN(section.signature, key->sign(covered));
    preface.signature = encode_signature(section);
  }
  preface.manifest.resize(header.weights_offset() - kManifestOffset);
  return preface;
}

Status write_content(int fd, const Preface& preface, WeightSource& weights) {
  MODELD_TRY(write_all(fd, preface.header));
  MODELD_TRY(write_all(fd, preface.signature));
  MODELD_TRY(write_all(fd, preface.manifest));
  return for_each_block(weights,
                        [&](std::span<const std::byte> block) { return write_all(fd, block); });
}

}  // namespace

Status write_artifact(const std::filesystem::path& path, const Model& model,
                      const SigningKey* key) {
  auto preface = make_preface(model, key);
  if (!preface.ok()) return std::move(preface).error().in("writing " + path.string());
  constexpr unsigned kMode = 0644;
  MODELD_ASSIGN(NewFile file, NewFile::create(path));
  Status written = write_content(file.fd(), *preface, *model.weights);
  if (written.ok()) written = file.keep(kMode);
  if (!written.ok()) return std::move(written).error().in("writing " + path.string());
  return {};
}

Status resign_artifact(const std::filesystem::path& path, const SigningKey& key,
                       const std::vector<Acceptance>* acceptances) {
  const TrustPolicy any{.keys = {}, .allow_unsigned = true, .require_private_file = false};
  MODELD_ASSIGN(const Artifact artifact, Artifact::open(path, any));
  Model model = artifact.model();
  if (acceptances != nullptr) model.contract.acceptances = *acceptances;
  // Equal models give equal bytes, so writing it anew changes nothing but what was asked for; the
  // weights are verified against the old manifest while they are copied.
  return write_artifact(path, model, &key);
}

}  // namespace modeld
