#include "runtime/artifact/artifact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/artifact/block_weights.h"
#include "runtime/artifact/file_header.h"
#include "runtime/artifact/manifest_codec.h"
#include "runtime/base/file.h"
#include "runtime/base/unique_fd.h"
#include "runtime/program/verify.h"

namespace modeld {
namespace {

Error refused(std::string message) {
  return {ErrorCode::kRefused, std::move(message)};
}

Status check_private(const struct stat& info) {
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    constexpr mode_t kPermissions = 07777;
    char mode[16];
    std::snprintf(mode, sizeof mode, "mode %04o",
                  static_cast<unsigned>(info.st_mode & kPermissions));
    return refused("file can be written by group or others").expecting("mode 0644 or less", mode);
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return refused("owner of the file")
        .expecting("root or user " + std::to_string(::geteuid()),
                   "user " + std::to_string(info.st_uid));
  }
  return {};
}

struct OpenFile {
  UniqueFd fd;
  uint64_t bytes = 0;
};

Result<OpenFile> open_file(const std::filesystem::path& path, bool require_private) {
  // O_NONBLOCK: a FIFO by that name must not make us wait; it is refused below.
  OpenFile file{UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), 0};
  if (!file.fd.valid()) return errno_error("opening the model file", errno);
  struct stat info {};
  if (::fstat(file.fd.get(), &info) != 0) return errno_error("opening the model file", errno);
  if (!S_ISREG(info.st_mode)) {
    return refused("not a model file").expecting("a regular file", "a folder, device or pipe");
  }
  if (require_private) MODELD_TRY(check_private(info));
  file.bytes = static_cast<uint64_t>(info.st_size);
  return file;
}

// A file that turns out shorter than it was when opened is refused like any other altered file.
Status read_part(const OpenFile& file, uint64_t offset, std::span<std::byte> out,
                 std::string_view part) {
  auto read = read_exactly(file.fd.get(), offset, out);
  if (read.ok()) return {};
  Error error = std::move(read).error();
  if (error.code == ErrorCode::kCorrupt) error.code = ErrorCode::kRefused;
  return std::move(error).in(part);
}

Result<FileHeader> read_header(const OpenFile& file, HeaderBytes& bytes) {
  const auto start = std::span(bytes).first(std::min<uint64_t>(file.bytes, bytes.size()));
  MODELD_TRY(read_part(file, 0, start, "header"));
  return decode_header(start, file.bytes);
}

Status check_padding(const OpenFile& file, const FileHeader& header) {
  const uint64_t start = kManifestOffset + header.manifest_bytes;
  std::vector<std::byte> padding(header.weights_offset() - start);
  MODELD_TRY(read_part(file, start, padding, "padding"));
  if (std::all_of(padding.begin(), padding.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return {};
  }
  return refused("padding before the weights").expecting("zero", "other bytes");
}

// Header and manifest as one string of bytes: what is hashed for the digest and signed.
struct Covered {
  std::vector<std::byte> bytes;
  std::span<const std::byte> manifest() const { return std::span(bytes).subspan(kHeaderBytes); }
};

Result<Covered> read_covered(const OpenFile& file, const FileHeader& header,
                             const HeaderBytes& header_bytes) {
  Covered covered;
  covered.bytes.resize(kHeaderBytes + header.manifest_bytes);
  std::copy(header_bytes.begin(), header_bytes.end(), covered.bytes.begin());
  MODELD_TRY(
      read_part(file, kManifestOffset, std::span(covered.bytes).subspan(kHeaderBytes), "manifest"));
  const Sha256 found = sha256(covered.manifest());
  if (found != header.manifest_hash) {
    return refused("manifest was altered")
        .expecting("SHA-256 " + to_hex(header.manifest_hash), to_hex(found));
  }
  return covered;
}

std::string describe(const std::vector<PublicKey>& keys) {
  std::string text;
  for (const PublicKey& key : keys) text += (text.empty() ? "" : " or ") + key_id(key);
  return keys.empty() ? "a trusted key (none is configured)" : text;
}

Result<SignatureState> check_signature(const OpenFile& file, const Covered& covered,
                                       const TrustPolicy& trust) {
  SignatureSectionBytes bytes{};
  MODELD_TRY(read_part(file, kSignatureOffset, bytes, "signature section"));
  MODELD_ASSIGN(const SignatureSection section, decode_signature(bytes));
  if (!section.is_signed) {
    if (trust.allow_unsigned) return SignatureState::kUnsigned;
    return refused("unsigned file").expecting("a signature by " + describe(trust.keys), "none");
  }
  MODELD_ASSIGN(const bool matches,
                verify_signature(section.key, section.signature, covered.bytes));
  if (!matches) {
    return refused("signature does not match")
        .expecting("a signature of this header and manifest by " + key_id(section.key),
                   "one of other bytes");
  }
  if (std::find(trust.revoked.begin(), trust.revoked.end(), section.key) != trust.revoked.end()) {
    return refused("signed by a revoked key").expecting(describe(trust.keys), key_id(section.key));
  }
  if (std::find(trust.keys.begin(), trust.keys.end(), section.key) != trust.keys.end()) {
    return SignatureState::kTrusted;
  }
  if (trust.allow_unsigned) return SignatureState::kUnknownKey;
  return refused("signed by an unknown key").expecting(describe(trust.keys), key_id(section.key));
}

std::string describe(const std::vector<DeviceClass>& classes) {
  std::string text;
  for (const DeviceClass device_class : classes) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(device_class));
  }
  return text.empty() ? "none" : text;
}

Status check_requirements(const ManifestHead& head, const Requirements& requirements) {
  if (requirements.role && *requirements.role != head.role) {
    return refused("role of the model")
        .expecting(std::string(to_string(*requirements.role)), std::string(to_string(head.role)));
  }
  if (!requirements.device_class) return {};
  const auto& classes = head.device_classes;
  if (std::find(classes.begin(), classes.end(), *requirements.device_class) == classes.end()) {
    return refused("device class")
        .expecting(std::string(to_string(*requirements.device_class)), describe(classes));
  }
  return {};
}

Status check_alignment(const Program& program) {
  const auto check = [](const std::string& name, const WeightRef& weight) -> Status {
    if (weight.offset % kWeightAlignment == 0) return {};
    return refused("offset of weight '" + name + "'")
        .expecting("a multiple of " + std::to_string(kWeightAlignment),
                   std::to_string(weight.offset));
  };
  for (const Tensor& tensor : program.tensors) {
    if (tensor.weight) MODELD_TRY(check(tensor.name, *tensor.weight));
  }
  for (const StateBinding& state : program.states) {
    if (state.initial) MODELD_TRY(check(program.tensors[state.current].name, *state.initial));
  }
  return {};
}

}  // namespace

std::string_view to_string(SignatureState state) {
  switch (state) {
    case SignatureState::kTrusted:
      return "trusted";
    case SignatureState::kUnknownKey:
      return "unknown key";
    case SignatureState::kUnsigned:
      return "unsigned";
  }
  return "unknown";
}

Status check_model(const Contract& contract, const Program& program, uint64_t weights_bytes) {
  auto verified = verify(program, weights_bytes);
  if (!verified.ok()) {
    Error error = std::move(verified).error();
    error.code = ErrorCode::kRefused;
    return std::move(error).in("program");
  }
  MODELD_TRY(check_alignment(program));
  auto checked = check_contract(contract, program);
  if (!checked.ok()) return std::move(checked).error().in("contract");
  return {};
}

Result<Artifact> Artifact::open(const std::filesystem::path& path, const TrustPolicy& trust,
                                const Requirements& requirements) {
  auto artifact = open_unnamed(path, trust, requirements);
  if (!artifact.ok()) return std::move(artifact).error().in(path.string());
  return artifact;
}

Result<Artifact> Artifact::open_unnamed(const std::filesystem::path& path, const TrustPolicy& trust,
                                        const Requirements& requirements) {
  MODELD_ASSIGN(OpenFile file, open_file(path, trust.require_private_file));
  HeaderBytes header_bytes{};
  MODELD_ASSIGN(const FileHeader header, read_header(file, header_bytes));
  MODELD_ASSIGN(const Covered covered, read_covered(file, header, header_bytes));
  Artifact artifact;
  MODELD_ASSIGN(artifact.signature_, check_signature(file, covered, trust));
  MODELD_TRY(check_padding(file, header));
  MODELD_ASSIGN(const ManifestHead head, decode_manifest_head(covered.manifest()));
  MODELD_TRY(check_requirements(head, requirements));
  MODELD_ASSIGN(Manifest manifest, decode_manifest(covered.manifest()));
  MODELD_TRY(check_model(manifest.contract, manifest.program, header.weights_bytes));
  if (manifest.weight_block_hashes.size() != header.weight_blocks()) {
    return refused("number of weight block hashes")
        .expecting(std::to_string(header.weight_blocks()),
                   std::to_string(manifest.weight_block_hashes.size()));
  }
  artifact.digest_ = sha256(covered.bytes);
  artifact.file_bytes_ = file.bytes;
  artifact.model_ = {std::move(manifest.contract), std::move(manifest.program),
                     std::make_shared<BlockWeights>(std::move(file.fd), header.weights_offset(),
                                                    header.weights_bytes,
                                                    std::move(manifest.weight_block_hashes))};
  return artifact;
}

Status Artifact::verify_weights() const {
  std::byte first{};  // asking for one byte of a block verifies all of it
  for (uint64_t at = 0; at < model_.weights->size(); at += kWeightBlockBytes) {
    MODELD_TRY(model_.weights->read(at, {&first, 1}));
  }
  return {};
}

Status check_camera_size(const CameraContract& camera, FrameSize found) {
  if (std::find(camera.sizes.begin(), camera.sizes.end(), found) != camera.sizes.end()) return {};
  const auto describe_size = [](FrameSize size) {
    return std::to_string(size.width) + "x" + std::to_string(size.height);
  };
  std::string known;
  for (const FrameSize size : camera.sizes) {
    known += (known.empty() ? "" : " or ") + describe_size(size);
  }
  return refused("size of camera '" + camera.frame_input + "'")
      .expecting(known, describe_size(found));
}

}  // namespace modeld
