// Files that are cut, altered, replaced or not ours to trust.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/artifact/artifact_test_support.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

// A tiny model with the weights of a larger one behind it, so that 4 KiB steps mean something.
Model padded_model(uint64_t weights_bytes) {
  Model model = tiny_model();
  std::vector<std::byte> bytes(weights_bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 131 >> 3);
  model.weights = std::make_shared<MemoryWeights>(std::move(bytes));
  return model;
}

class DamageTest : public ArtifactTest {};

TEST_F(DamageTest, CutAtEverySectionBorder) {
  const Bytes whole = read_bytes(path_);
  const uint64_t manifest_end = kManifestStart + get_u64(whole, kManifestSectionField + 8);
  const uint64_t weights = get_u64(whole, kWeightsSectionField);
  for (const uint64_t border : {uint64_t{8}, uint64_t{kSignatureStart}, uint64_t{kManifestStart},
                                manifest_end, weights, uint64_t{whole.size()}}) {
    for (const uint64_t length : {border - 1, border, border + 1}) {
      if (length >= whole.size()) continue;
      write_bytes(path_, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      EXPECT_NE(refusal(), "accepted") << "cut to " << length;
    }
  }
}

TEST_F(DamageTest, FieldFault35CutAtEvery4KiB) {
  write(padded_model(200'000));
  const Bytes whole = read_bytes(path_);
  for (size_t length = 0; length < whole.size(); length += 4096) {
    write_bytes(path_, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    EXPECT_NE(refusal(), "accepted") << "cut to " << length;
  }
}

// The same cuts under a header that declares the shorter length: only the sections disagree.
TEST_F(DamageTest, CutAtEvery4KiBWithTheLengthAdjusted) {
  write(padded_model(100'000));
  const Bytes whole = read_bytes(path_);
  for (size_t length = 4096; length < whole.size(); length += 4096) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    put<uint64_t>(cut, kFileBytesField, length);
    write_bytes(path_, cut);
    EXPECT_NE(refusal(), "accepted") << "cut to " << length;
  }
}

TEST_F(DamageTest, OneFlippedBitAnywhere) {
  const Bytes whole = read_bytes(path_);
  // Every byte of header and signature section, a spread of manifest and weights.
  for (size_t at = 0; at < whole.size(); at += at < kManifestStart ? 1 : 61) {
    Bytes bytes = whole;
    bytes[at] ^= std::byte(1u << (at % 8));
    write_bytes(path_, bytes);
    EXPECT_NE(refusal(), "accepted") << "bit of byte " << at;
  }
}

TEST_F(DamageTest, FlippedBitsAreNamedBySection) {
  const Bytes whole = read_bytes(path_);
  const auto refusal_at = [&](size_t at) {
    Bytes bytes = whole;
    bytes[at] ^= std::byte{0x10};
    write_bytes(path_, bytes);
    return refusal();
  };
  EXPECT_THAT(refusal_at(kManifestHashField), HasSubstr("manifest was altered"));
  EXPECT_THAT(refusal_at(kManifestStart + 100), HasSubstr("manifest was altered"));
  EXPECT_THAT(refusal_at(kSignatureStart + 8 + 32 + 5), HasSubstr("signature does not match"));
  EXPECT_THAT(refusal_at(get_u64(whole, kWeightsSectionField) + 1000),
              HasSubstr("weight block 0 was altered"));
}

TEST_F(DamageTest, FlippedWeightsAreRefusedInUnsignedFilesToo) {
  ASSERT_TRUE(write_artifact(path_, tiny_model()).ok());
  trust_.allow_unsigned = true;
  ASSERT_TRUE(load().ok());
  Bytes bytes = read_bytes(path_);
  bytes.back() ^= std::byte{1};
  write_bytes(path_, bytes);
  EXPECT_THAT(refusal(), HasSubstr("weight block 0 was altered"));
}

TEST_F(DamageTest, FieldFault35TruncatedWhileBeingRead) {
  write(padded_model(100'000));
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok()) << to_string(artifact.error());
  std::filesystem::resize_file(path_, 50'000);
  const Status status = artifact->verify_weights();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_THAT(to_string(status.error()), HasSubstr("weight block 0: file ends early (expected"));
}

TEST_F(DamageTest, OverwrittenInPlaceWhileBeingRead) {
  write(padded_model(100'000));
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok());
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(90'000);
  file.write("altered", 7);
  file.close();
  const Status status = artifact->verify_weights();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
}

TEST_F(DamageTest, ReplacedByNameWhileBeingRead) {
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok());
  write_bytes(path_, Bytes(10'000, std::byte{1}));
  // The descriptor still is the verified file.
  EXPECT_TRUE(artifact->verify_weights().ok());
  std::vector<std::byte> found(kTinyWeightsBytes);
  ASSERT_TRUE(artifact->model().weights->read(0, found).ok());
  const Model original = tiny_model();
  std::vector<std::byte> expected(kTinyWeightsBytes);
  ASSERT_TRUE(original.weights->read(0, expected).ok());
  EXPECT_EQ(found, expected);
}

TEST_F(DamageTest, WritableByOthers) {
  for (const auto extra :
       {std::filesystem::perms::group_write, std::filesystem::perms::others_write}) {
    std::filesystem::permissions(path_, extra, std::filesystem::perm_options::add);
    EXPECT_THAT(refusal(), HasSubstr("can be written by group or others"));
    std::filesystem::permissions(path_, extra, std::filesystem::perm_options::remove);
  }
  EXPECT_TRUE(load().ok());
  std::filesystem::permissions(path_, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  trust_.require_private_file = false;
  EXPECT_TRUE(load().ok());
}

TEST_F(DamageTest, OwnedBySomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal(), HasSubstr("owner of the file"));
}

TEST_F(DamageTest, NotARegularFile) {
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  auto fifo = Artifact::open(path_, trust_);  // must not wait for a writer
  ASSERT_FALSE(fifo.ok());
  EXPECT_EQ(fifo.error().code, ErrorCode::kRefused);
  auto folder = Artifact::open(folder_.path(), trust_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::kRefused);
  auto missing = Artifact::open(folder_ / "none.model", trust_);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace modeld::test
