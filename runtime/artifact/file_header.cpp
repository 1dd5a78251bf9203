#include "runtime/artifact/file_header.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <string>

#include "runtime/artifact/contract.h"
#include "runtime/base/checked.h"

namespace modeld {
namespace {

// The first byte is not ASCII and the last two are a line end: a file mangled by a text transfer
// is no longer a model file.
constexpr std::array<uint8_t, 8> kMagic = {0x89, 'M', 'O', 'D', 'E', 'L', '\r', '\n'};

constexpr size_t kFormatAt = 8;
constexpr size_t kAbiAt = 12;
constexpr size_t kFlagsAt = 16;
constexpr size_t kHeaderBytesAt = 20;
constexpr size_t kFileBytesAt = 24;
constexpr size_t kSectionsAt = 32;  // offset and length of signature, manifest, weights
constexpr size_t kManifestHashAt = 80;
constexpr size_t kReservedAt = 112;

constexpr size_t kSchemeAt = 0;
constexpr size_t kSchemeReservedAt = 4;
constexpr size_t kKeyAt = 8;
constexpr size_t kSignatureAt = 40;
constexpr size_t kSignatureReservedAt = 104;
constexpr uint32_t kSchemeNone = 0;
constexpr uint32_t kSchemeEd25519 = 1;

template <std::unsigned_integral T>
void store(std::span<std::byte> out, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out[at + i] = static_cast<std::byte>(value >> (8 * i));
}

template <std::unsigned_integral T>
T load(std::span<const std::byte> in, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(std::to_integer<T>(in[at + i]) << (8 * i));
  }
  return value;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

Error refused(std::string message) {
  return {ErrorCode::kRefused, std::move(message)};
}

Status expect(std::string_view field, uint64_t want, uint64_t have) {
  if (want == have) return {};
  return refused(std::string(field)).expecting(std::to_string(want), std::to_string(have));
}

struct Section {
  std::string_view name;
  uint64_t offset = 0;
  uint64_t length = 0;
};

Status check_magic(std::span<const std::byte> start) {
  std::array<uint8_t, kMagic.size()> found{};
  const size_t present = std::min(start.size(), found.size());
  if (present > 0) std::memcpy(found.data(), start.data(), present);
  if (present == found.size() && found == kMagic) return {};
  return refused("not a model file")
      .expecting("magic " + to_hex(kMagic),
                 present == 0 ? "an empty file" : to_hex(std::span(found).first(present)));
}

Status check_versions(std::span<const std::byte> start) {
  MODELD_TRY(expect("format version", kFormatVersion, load<uint32_t>(start, kFormatAt)));
  MODELD_TRY(expect("runtime ABI version", kRuntimeAbiVersion, load<uint32_t>(start, kAbiAt)));
  MODELD_TRY(expect("header flags", 0, load<uint32_t>(start, kFlagsAt)));
  return expect("header length in bytes", kHeaderBytes, load<uint32_t>(start, kHeaderBytesAt));
}

Status check_section(const Section& section, uint64_t offset, uint64_t file_bytes) {
  const std::string name = std::string(section.name) + " section";
  if (!range_fits(section.offset, section.length, file_bytes)) {
    return refused(name + " lies outside the file")
        .expecting(
            "at most " + std::to_string(file_bytes) + " bytes",
            std::to_string(section.length) + " bytes at offset " + std::to_string(section.offset));
  }
  return expect(name + " offset", offset, section.offset);
}

}  // namespace

uint64_t FileHeader::weights_offset() const {
  return align_up(kManifestOffset + manifest_bytes, kWeightAlignment);
}

uint64_t FileHeader::weight_blocks() const {
  return align_up(weights_bytes, kWeightBlockBytes) / kWeightBlockBytes;
}

HeaderBytes encode_header(const FileHeader& header) {
  HeaderBytes bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  store<uint32_t>(bytes, kFormatAt, kFormatVersion);
  store<uint32_t>(bytes, kAbiAt, kRuntimeAbiVersion);
  store<uint32_t>(bytes, kHeaderBytesAt, kHeaderBytes);
  store<uint64_t>(bytes, kFileBytesAt, header.file_bytes());
  const std::array<uint64_t, 6> sections = {kSignatureOffset,        kSignatureBytes,
                                            kManifestOffset,         header.manifest_bytes,
                                            header.weights_offset(), header.weights_bytes};
  for (size_t i = 0; i < sections.size(); ++i) store(bytes, kSectionsAt + 8 * i, sections[i]);
  std::memcpy(bytes.data() + kManifestHashAt, header.manifest_hash.data(), sizeof(Sha256));
  return bytes;
}

Result<FileHeader> decode_header(std::span<const std::byte> start, uint64_t file_bytes) {
  MODELD_TRY(check_magic(start));
  if (start.size() < kHeaderBytes) {
    return refused("truncated header")
        .expecting(std::to_string(kHeaderBytes) + " bytes",
                   std::to_string(start.size()) + " bytes");
  }
  MODELD_TRY(check_versions(start));
  const auto declared = load<uint64_t>(start, kFileBytesAt);
  if (declared != file_bytes) {
    return refused(file_bytes < declared ? "truncated file" : "file longer than declared")
        .expecting(std::to_string(declared) + " bytes", std::to_string(file_bytes) + " bytes");
  }
  std::array<Section, 3> sections = {Section{"signature"}, Section{"manifest"}, Section{"weights"}};
  for (size_t i = 0; i < sections.size(); ++i) {
    sections[i].offset = load<uint64_t>(start, kSectionsAt + 16 * i);
    sections[i].length = load<uint64_t>(start, kSectionsAt + 16 * i + 8);
  }
  FileHeader header;
  header.manifest_bytes = sections[1].length;
  header.weights_bytes = sections[2].length;
  MODELD_TRY(check_section(sections[0], kSignatureOffset, file_bytes));
  MODELD_TRY(expect("signature section length", kSignatureBytes, sections[0].length));
  MODELD_TRY(check_section(sections[1], kManifestOffset, file_bytes));
  if (header.manifest_bytes == 0 || header.manifest_bytes > kMaxManifestBytes) {
    return refused("manifest section length")
        .expecting("1 to " + std::to_string(kMaxManifestBytes) + " bytes",
                   std::to_string(header.manifest_bytes) + " bytes");
  }
  MODELD_TRY(check_section(sections[2], header.weights_offset(), file_bytes));
  if (header.weights_bytes > kMaxWeightsBytes) {
    return refused("weights section length")
        .expecting("at most " + std::to_string(kMaxWeightsBytes) + " bytes",
                   std::to_string(header.weights_bytes) + " bytes");
  }
  MODELD_TRY(expect("end of the weights section", file_bytes, header.file_bytes()));
  if (!all_zero(start.subspan(kReservedAt, kHeaderBytes - kReservedAt))) {
    return refused("reserved bytes of the header").expecting("zero", "other bytes");
  }
  std::memcpy(header.manifest_hash.data(), start.data() + kManifestHashAt, sizeof(Sha256));
  return header;
}

SignatureSectionBytes encode_signature(const SignatureSection& section) {
  SignatureSectionBytes bytes{};
  if (!section.is_signed) return bytes;
  store<uint32_t>(bytes, kSchemeAt, kSchemeEd25519);
  std::memcpy(bytes.data() + kKeyAt, section.key.data(), section.key.size());
  std::memcpy(bytes.data() + kSignatureAt, section.signature.data(), section.signature.size());
  return bytes;
}

Result<SignatureSection> decode_signature(std::span<const std::byte, kSignatureBytes> bytes) {
  const auto scheme = load<uint32_t>(bytes, kSchemeAt);
  if (scheme == kSchemeNone) {
    if (all_zero(bytes)) return SignatureSection{};
    return refused("signature section of an unsigned file").expecting("zero", "other bytes");
  }
  if (scheme != kSchemeEd25519) {
    return refused("signature scheme").expecting("0 (none) or 1 (Ed25519)", std::to_string(scheme));
  }
  if (load<uint32_t>(bytes, kSchemeReservedAt) != 0 ||
      !all_zero(bytes.subspan(kSignatureReservedAt))) {
    return refused("reserved bytes of the signature section").expecting("zero", "other bytes");
  }
  SignatureSection section;
  section.is_signed = true;
  std::memcpy(section.key.data(), bytes.data() + kKeyAt, section.key.size());
  std::memcpy(section.signature.data(), bytes.data() + kSignatureAt, section.signature.size());
  return section;
}

}  // namespace modeld
