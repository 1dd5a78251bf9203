// What the artifact tests share: a signed tiny model on disk, ways to damage it, and the check
// that a refusal is one (kind, text, time).
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/artifact_writer.h"
#include "runtime/base/file.h"
#include "runtime/base/thread_time.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {

using Bytes = std::vector<std::byte>;

inline Bytes read_bytes(const std::filesystem::path& path) {
  auto bytes = read_file(path, uint64_t{1} << 30);
  if (!bytes.ok()) throw std::runtime_error(to_string(bytes.error()));
  return std::move(bytes).value();
}

inline void write_bytes(const std::filesystem::path& path, const Bytes& bytes) {
  const auto written = write_file_atomically(path, bytes);
  if (!written.ok()) throw std::runtime_error(to_string(written.error()));
}

template <typename T>
void put(Bytes& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof value; ++i) bytes[at + i] = std::byte(value >> (8 * i));
}

inline uint64_t get_u64(const Bytes& bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= std::to_integer<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

// Where fields lie, by FORMAT.md (written down again here: the tests must not follow the code).
constexpr size_t kVersionField = 8;
constexpr size_t kAbiField = 12;
constexpr size_t kFlagsField = 16;
constexpr size_t kHeaderBytesField = 20;
constexpr size_t kFileBytesField = 24;
constexpr size_t kSignatureSectionField = 32;
constexpr size_t kManifestSectionField = 48;
constexpr size_t kWeightsSectionField = 64;
constexpr size_t kManifestHashField = 80;
constexpr size_t kSignatureStart = 256;
constexpr size_t kManifestStart = 384;

class ArtifactTest : public testing::Test {
 protected:
  ArtifactTest() : key_(make_key()), path_(folder_ / "tiny.model") {
    trust_.keys = {key_.public_key().value()};
    write(tiny_model());
  }

  static SigningKey make_key() {
    auto key = SigningKey::generate();
    if (!key.ok()) throw std::runtime_error(to_string(key.error()));
    return std::move(key).value();
  }

  void write(const Model& model) {
    const auto written = write_artifact(path_, model, &key_);
    if (!written.ok()) throw std::runtime_error(to_string(written.error()));
  }

  // Opens and reads everything, as a daemon does.
  Status load(const Requirements& requirements = {}) const {
    MODELD_ASSIGN(const Artifact artifact, Artifact::open(path_, trust_, requirements));
    return artifact.verify_weights();
  }

  // A refusal within a second of this thread's work (of the clock's it takes more on a machine that
  // does other things, too), naming both sides. Returns its line for closer looks.
  std::string refusal(const Requirements& requirements = {}) const {
    const Nanoseconds before = ThreadTime::real().used();
    const Status status = load(requirements);
    const Nanoseconds took = ThreadTime::real().used() - before;
    if (status.ok()) return "accepted";
    EXPECT_EQ(status.error().code, ErrorCode::kRefused) << to_string(status.error());
    EXPECT_FALSE(status.error().expected.empty()) << to_string(status.error());
    EXPECT_FALSE(status.error().found.empty()) << to_string(status.error());
    EXPECT_LT(took, kSecond);
    return to_string(status.error());
  }

  TempDir folder_;
  SigningKey key_;
  std::filesystem::path path_;
  TrustPolicy trust_;
};

}  // namespace modeld::test
