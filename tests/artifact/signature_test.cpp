// Who signed, and what a signature covers.
#include <gmock/gmock.h>

#include "tests/artifact/artifact_test_support.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class SignatureTest : public ArtifactTest {};

TEST_F(SignatureTest, StateIsReported) {
  auto trusted = Artifact::open(path_, trust_);
  ASSERT_TRUE(trusted.ok());
  EXPECT_EQ(trusted->signature(), SignatureState::kTrusted);

  const TrustPolicy lenient{.keys = {}, .allow_unsigned = true};
  auto unknown = Artifact::open(path_, lenient);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->signature(), SignatureState::kUnknownKey);

  ASSERT_TRUE(write_artifact(path_, tiny_model()).ok());
  auto unsigned_file = Artifact::open(path_, lenient);
  ASSERT_TRUE(unsigned_file.ok());
  EXPECT_EQ(unsigned_file->signature(), SignatureState::kUnsigned);
}

TEST_F(SignatureTest, UnsignedIsRefused) {
  ASSERT_TRUE(write_artifact(path_, tiny_model()).ok());
  EXPECT_THAT(refusal(), HasSubstr("unsigned file (expected a signature by ed25519:"));
}

TEST_F(SignatureTest, WrongKeyIsRefusedNamingBoth) {
  const PublicKey own = key_.public_key().value();
  const PublicKey other = make_key().public_key().value();
  trust_.keys = {other};
  EXPECT_THAT(refusal(), HasSubstr("signed by an unknown key (expected " + key_id(other) +
                                   ", found " + key_id(own) + ")"));
  trust_.keys = {other, own};
  EXPECT_TRUE(load().ok());
}

TEST_F(SignatureTest, NoKeysAcceptNothing) {
  trust_.keys.clear();
  EXPECT_THAT(refusal(), HasSubstr("a trusted key (none is configured)"));
}

TEST_F(SignatureTest, SignatureOfAnotherFileIsRefused) {
  const Bytes first = read_bytes(path_);
  Model other = tiny_model();
  other.contract.checkpoint = "checkpoint/2";
  write(other);
  Bytes second = read_bytes(path_);
  std::copy_n(first.begin() + kSignatureStart, 128, second.begin() + kSignatureStart);
  write_bytes(path_, second);
  EXPECT_THAT(refusal(), HasSubstr("signature does not match"));
  trust_.allow_unsigned = true;  // a broken signature is worse than none
  EXPECT_THAT(refusal(), HasSubstr("signature does not match"));
}

TEST_F(SignatureTest, KeySwappedForATrustedOneIsRefused) {
  const PublicKey other = make_key().public_key().value();
  trust_.keys = {other};
  Bytes bytes = read_bytes(path_);
  for (size_t i = 0; i < other.size(); ++i) bytes[kSignatureStart + 8 + i] = std::byte{other[i]};
  write_bytes(path_, bytes);
  EXPECT_THAT(refusal(), HasSubstr("signature does not match"));
}

TEST_F(SignatureTest, UnknownSchemeAndHalfErasedSections) {
  const Bytes whole = read_bytes(path_);
  Bytes bytes = whole;
  put<uint32_t>(bytes, kSignatureStart, 2);
  write_bytes(path_, bytes);
  EXPECT_THAT(refusal(), HasSubstr("signature scheme"));
  bytes = whole;
  put<uint32_t>(bytes, kSignatureStart, 0);
  write_bytes(path_, bytes);
  EXPECT_THAT(refusal(), HasSubstr("signature section of an unsigned file"));
  bytes = whole;
  bytes[kSignatureStart + 127] = std::byte{1};
  write_bytes(path_, bytes);
  EXPECT_THAT(refusal(), HasSubstr("reserved bytes of the signature section"));
}

TEST_F(SignatureTest, EqualModelsGiveEqualBytes) {
  const Bytes first = read_bytes(path_);
  write(tiny_model());
  EXPECT_EQ(read_bytes(path_), first);
}

TEST_F(SignatureTest, SigningChangesOnlyTheSignatureSection) {
  const Bytes signed_bytes = read_bytes(path_);
  ASSERT_TRUE(write_artifact(path_, tiny_model()).ok());
  const Bytes unsigned_bytes = read_bytes(path_);
  ASSERT_EQ(signed_bytes.size(), unsigned_bytes.size());
  for (size_t i = 0; i < signed_bytes.size(); ++i) {
    if (i >= kSignatureStart && i < kManifestStart) continue;
    ASSERT_EQ(signed_bytes[i], unsigned_bytes[i]) << "byte " << i;
  }
  const Sha256 before = Artifact::open(path_, {.keys = {}, .allow_unsigned = true})->digest();
  ASSERT_TRUE(resign_artifact(path_, key_).ok());
  EXPECT_EQ(read_bytes(path_), signed_bytes);
  EXPECT_EQ(Artifact::open(path_, trust_)->digest(), before);
}

TEST_F(SignatureTest, AcceptancesAreAddedAndSigned) {
  const std::vector<Acceptance> acceptances = {
      {"cpu", DeviceClass::kCpu, "another processor", 20.25, 1'800'000'000}};
  ASSERT_TRUE(resign_artifact(path_, key_, &acceptances).ok());
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok()) << to_string(artifact.error());
  EXPECT_EQ(artifact->model().contract.acceptances, acceptances);
  EXPECT_TRUE(artifact->verify_weights().ok());
}

TEST_F(SignatureTest, ADamagedFileIsNotSignedAgain) {
  Bytes bytes = read_bytes(path_);
  bytes.back() ^= std::byte{1};
  write_bytes(path_, bytes);
  const Status status = resign_artifact(path_, key_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_EQ(read_bytes(path_), bytes);
}

}  // namespace
}  // namespace modeld::test
