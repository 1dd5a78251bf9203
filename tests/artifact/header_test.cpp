// Refusals that the fixed header alone decides.
#include <gmock/gmock.h>

#include <array>

#include "tests/artifact/artifact_test_support.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class HeaderTest : public ArtifactTest {
 protected:
  HeaderTest() : bytes_(read_bytes(path_)) {}

  std::string refusal_of(const Bytes& bytes) {
    write_bytes(path_, bytes);
    return refusal();
  }
  std::string refusal_with_u32(size_t at, uint32_t value) {
    Bytes bytes = bytes_;
    put(bytes, at, value);
    return refusal_of(bytes);
  }
  std::string refusal_with_u64(size_t at, uint64_t value) {
    Bytes bytes = bytes_;
    put(bytes, at, value);
    return refusal_of(bytes);
  }

  Bytes bytes_;
};

TEST_F(HeaderTest, AnUndamagedFileLoads) {
  const Status status = load();
  EXPECT_TRUE(status.ok()) << to_string(status.error());
}

TEST_F(HeaderTest, LayoutIsWhatFormatMdSays) {
  const std::array<uint8_t, 8> magic = {0x89, 0x4d, 0x4f, 0x44, 0x45, 0x4c, 0x0d, 0x0a};
  for (size_t i = 0; i < magic.size(); ++i) EXPECT_EQ(bytes_[i], std::byte{magic[i]});
  EXPECT_EQ(get_u64(bytes_, kFileBytesField), bytes_.size());
  EXPECT_EQ(get_u64(bytes_, kSignatureSectionField), kSignatureStart);
  EXPECT_EQ(get_u64(bytes_, kSignatureSectionField + 8), 128u);
  EXPECT_EQ(get_u64(bytes_, kManifestSectionField), kManifestStart);
  const uint64_t weights = get_u64(bytes_, kWeightsSectionField);
  EXPECT_EQ(weights % 256, 0u);
  EXPECT_LT(weights - kManifestStart - get_u64(bytes_, kManifestSectionField + 8), 256u);
  EXPECT_EQ(get_u64(bytes_, kWeightsSectionField + 8), kTinyWeightsBytes);
  EXPECT_EQ(weights + kTinyWeightsBytes, bytes_.size());
}

TEST_F(HeaderTest, AnotherKindOfFile) {
  EXPECT_THAT(refusal_of(Bytes(5000, std::byte{0x08})), HasSubstr("not a model file"));
  EXPECT_THAT(refusal_of({}), HasSubstr("not a model file"));
  EXPECT_THAT(refusal_of(Bytes(bytes_.begin(), bytes_.begin() + 5)), HasSubstr("not a model file"));
}

TEST_F(HeaderTest, OtherFormatVersion) {
  EXPECT_THAT(refusal_with_u32(kVersionField, 2),
              HasSubstr("format version (expected 1, found 2)"));
  EXPECT_THAT(refusal_with_u32(kVersionField, 0), HasSubstr("(expected 1, found 0)"));
}

TEST_F(HeaderTest, OtherRuntimeAbi) {
  EXPECT_THAT(refusal_with_u32(kAbiField, 7),
              HasSubstr("runtime ABI version (expected 2, found 7)"));
}

TEST_F(HeaderTest, UnknownFlagsAndHeaderLength) {
  EXPECT_THAT(refusal_with_u32(kFlagsField, 1), HasSubstr("header flags (expected 0, found 1)"));
  EXPECT_THAT(refusal_with_u32(kHeaderBytesField, 512), HasSubstr("(expected 256, found 512)"));
}

TEST_F(HeaderTest, DeclaredLengthDiffersFromTheFile) {
  EXPECT_THAT(refusal_with_u64(kFileBytesField, bytes_.size() + 1), HasSubstr("truncated file"));
  EXPECT_THAT(refusal_with_u64(kFileBytesField, bytes_.size() - 1),
              HasSubstr("file longer than declared"));
  Bytes longer = bytes_;
  longer.push_back(std::byte{0});
  EXPECT_THAT(refusal_of(longer), HasSubstr("file longer than declared"));
}

TEST_F(HeaderTest, SectionsOutsideTheFile) {
  for (const size_t section :
       {kSignatureSectionField, kManifestSectionField, kWeightsSectionField}) {
    EXPECT_THAT(refusal_with_u64(section, bytes_.size() + 256), HasSubstr("outside the file"));
    EXPECT_THAT(refusal_with_u64(section + 8, bytes_.size()), HasSubstr("outside the file"));
  }
}

TEST_F(HeaderTest, SectionSizesThatOverflow) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  for (const size_t section :
       {kSignatureSectionField, kManifestSectionField, kWeightsSectionField}) {
    EXPECT_THAT(refusal_with_u64(section, kHuge), HasSubstr("outside the file"));
    EXPECT_THAT(refusal_with_u64(section + 8, kHuge), HasSubstr("outside the file"));
    // Offset and length that wrap to a small sum.
    Bytes bytes = bytes_;
    put<uint64_t>(bytes, section, kHuge - 127);
    put<uint64_t>(bytes, section + 8, 256);
    EXPECT_THAT(refusal_of(bytes), HasSubstr("outside the file"));
  }
}

TEST_F(HeaderTest, OverlappingSections) {
  EXPECT_THAT(refusal_with_u64(kSignatureSectionField, 0), HasSubstr("signature section offset"));
  EXPECT_THAT(refusal_with_u64(kManifestSectionField, kSignatureStart),
              HasSubstr("manifest section offset (expected 384, found 256)"));
  EXPECT_THAT(refusal_with_u64(kWeightsSectionField, kManifestStart),
              HasSubstr("weights section offset"));
}

TEST_F(HeaderTest, GapsAndUnusedBytes) {
  const uint64_t weights = get_u64(bytes_, kWeightsSectionField);
  Bytes gap = bytes_;
  gap.insert(gap.begin() + static_cast<std::ptrdiff_t>(weights), 256, std::byte{0});
  put<uint64_t>(gap, kWeightsSectionField, weights + 256);
  put<uint64_t>(gap, kFileBytesField, gap.size());
  EXPECT_THAT(refusal_of(gap), HasSubstr("weights section offset"));

  Bytes tail = bytes_;
  tail.resize(tail.size() + 512);
  put<uint64_t>(tail, kFileBytesField, tail.size());
  EXPECT_THAT(refusal_of(tail), HasSubstr("end of the weights section"));

  EXPECT_THAT(refusal_with_u64(248, 1), HasSubstr("reserved bytes of the header"));
}

TEST_F(HeaderTest, PaddingBeforeTheWeightsIsZero) {
  const uint64_t weights = get_u64(bytes_, kWeightsSectionField);
  const uint64_t manifest = get_u64(bytes_, kManifestSectionField + 8);
  ASSERT_LT(kManifestStart + manifest, weights) << "the tiny model must end off a 256 boundary";
  for (uint64_t at = kManifestStart + manifest; at < weights; at += 8) {
    Bytes bytes = bytes_;
    bytes[at] = std::byte{1};
    EXPECT_THAT(refusal_of(bytes), HasSubstr("padding before the weights"));
  }
}

TEST_F(HeaderTest, ManifestLargerThanAnyReaderTakes) {
  // A sparse file that really is that long.
  constexpr uint64_t kTooLong = (uint64_t{64} << 20) + 8;
  Bytes bytes(bytes_.begin(), bytes_.begin() + kManifestStart);
  put<uint64_t>(bytes, kManifestSectionField + 8, kTooLong);
  put<uint64_t>(bytes, kFileBytesField, kManifestStart + kTooLong);
  write_bytes(path_, bytes);
  std::filesystem::resize_file(path_, kManifestStart + kTooLong);
  EXPECT_THAT(refusal(), HasSubstr("manifest section length"));
}

}  // namespace
}  // namespace modeld::test
