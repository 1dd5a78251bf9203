// Keys and their files. Known answer: RFC 8032, section 7.1, TEST 2 (key files made from its seed
// with the DER prefixes of RFC 8410).
#include "runtime/artifact/signing.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/artifact/sha256.h"
#include "runtime/base/file.h"
#include "tests/support/temp_dir.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

constexpr const char* kRfcPrivatePem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";

std::filesystem::path write_text(const std::filesystem::path& path, const std::string& text,
                                 mode_t mode) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(Sha256, KnownAnswers) {  // FIPS 180-4 examples
  const std::string abc = "abc";
  EXPECT_EQ(to_hex(sha256(std::as_bytes(std::span(abc)))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256Hasher hasher;
  EXPECT_EQ(to_hex(hasher.finish()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  hasher.update(std::as_bytes(std::span(abc)).first(1));
  hasher.update(std::as_bytes(std::span(abc)).subspan(1));
  EXPECT_EQ(to_hex(hasher.finish()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Signing, Rfc8032KnownAnswer) {
  const TempDir folder;
  auto key = SigningKey::load(write_text(folder / "rfc.key", kRfcPrivatePem, 0600));
  ASSERT_TRUE(key.ok()) << to_string(key.error());
  EXPECT_EQ(to_hex(key->public_key().value()),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const std::byte message[] = {std::byte{0x72}};
  const Signature signature = key->sign(message).value();
  EXPECT_EQ(to_hex(signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(verify_signature(key->public_key().value(), signature, message).value());
  const std::byte other[] = {std::byte{0x73}};
  EXPECT_FALSE(verify_signature(key->public_key().value(), signature, other).value());
}

TEST(Signing, KeyFilesSurviveAndKeepTheirModes) {
  const TempDir folder;
  const auto key = SigningKey::generate();
  ASSERT_TRUE(key.ok());
  ASSERT_TRUE(key->save(folder / "a.key").ok());
  ASSERT_TRUE(save_public_key(key->public_key().value(), folder / "a.pub").ok());
  EXPECT_EQ(mode_of(folder / "a.key"), 0600u);
  EXPECT_EQ(mode_of(folder / "a.pub"), 0644u);
  auto loaded = SigningKey::load(folder / "a.key");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->public_key().value(), key->public_key().value());
  auto trusted = load_trusted_keys(folder / "a.pub");
  ASSERT_TRUE(trusted.ok());
  EXPECT_EQ(trusted->keys, std::vector<PublicKey>{key->public_key().value()});
  auto all = load_trusted_keys(folder.path());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->keys.size(), 1u);
}

TEST(Signing, NeverOverwrites) {
  const TempDir folder;
  const auto key = SigningKey::generate();
  write_text(folder / "a.key", "precious", 0600);
  write_text(folder / "a.pub", "precious", 0644);
  EXPECT_FALSE(key->save(folder / "a.key").ok());
  EXPECT_FALSE(save_public_key(key->public_key().value(), folder / "a.pub").ok());
  EXPECT_EQ(read_text_file(folder / "a.key", 100).value(), "precious");
  EXPECT_EQ(read_text_file(folder / "a.pub", 100).value(), "precious");
}

TEST(Signing, KeysOthersCanReadOrWriteAreRefused) {
  const TempDir folder;
  for (const mode_t mode : {0640, 0604, 0620}) {
    auto key = SigningKey::load(write_text(folder / "open.key", kRfcPrivatePem, mode));
    ASSERT_FALSE(key.ok());
    EXPECT_EQ(key.error().code, ErrorCode::kRefused);
    EXPECT_THAT(to_string(key.error()), HasSubstr("expected mode 0600, found mode 06"));
  }
  const auto key = SigningKey::generate();
  ASSERT_TRUE(save_public_key(key->public_key().value(), folder / "a.pub").ok());
  ::chmod((folder / "a.pub").c_str(), 0664);
  auto trusted = load_trusted_keys(folder / "a.pub");
  ASSERT_FALSE(trusted.ok());
  EXPECT_THAT(to_string(trusted.error()), HasSubstr("group or others can write it"));
}

TEST(Signing, AFolderOthersCanWriteIsNoTrust) {
  const TempDir folder;
  const auto key = SigningKey::generate();
  ASSERT_TRUE(save_public_key(key->public_key().value(), folder / "a.pub").ok());
  ASSERT_TRUE(load_trusted_keys(folder.path()).ok());
  ASSERT_EQ(::chmod(folder.path().c_str(), 0775), 0);
  auto trusted = load_trusted_keys(folder.path());
  ASSERT_FALSE(trusted.ok());
  EXPECT_EQ(trusted.error().code, ErrorCode::kRefused);
}

TEST(Signing, RevokedKeysAreTakenFromTheTrustedOnes) {
  const TempDir folder;
  const auto a = SigningKey::generate()->public_key().value();
  const auto b = SigningKey::generate()->public_key().value();
  ASSERT_TRUE(save_public_key(a, folder / "a.pub").ok());
  ASSERT_TRUE(save_public_key(b, folder / "b.pub").ok());
  ASSERT_TRUE(save_public_key(a, folder / "lost-laptop.revoked").ok());
  const auto trusted = load_trusted_keys(folder.path());
  ASSERT_TRUE(trusted.ok());
  EXPECT_EQ(trusted->keys, std::vector<PublicKey>{b});
  EXPECT_EQ(trusted->revoked, std::vector<PublicKey>{a});
  // A single file is what it says.
  EXPECT_EQ(load_trusted_keys(folder / "a.pub")->keys, std::vector<PublicKey>{a});
  write_text(folder / "other.revoked", "no key", 0644);
  EXPECT_FALSE(load_trusted_keys(folder.path()).ok());
}

TEST(Signing, OtherFilesAreNoKeys) {
  const TempDir folder;
  const std::string rsa_like =
      "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC "
      "KEY-----\n";
  for (const std::string& text : {std::string(), std::string("hello"), rsa_like}) {
    auto key = SigningKey::load(write_text(folder / "x.key", text, 0600));
    ASSERT_FALSE(key.ok());
    EXPECT_EQ(key.error().code, ErrorCode::kRefused);
    auto trusted = load_trusted_keys(write_text(folder / "x.pub", text, 0644));
    ASSERT_FALSE(trusted.ok());
    EXPECT_EQ(trusted.error().code, ErrorCode::kRefused);
  }
  EXPECT_EQ(load_trusted_keys(folder / "none.pub").error().code, ErrorCode::kNotFound);
  const TempDir empty;
  EXPECT_EQ(load_trusted_keys(empty.path()).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(load_trusted_keys("/dev/null").ok());
}

TEST(Signing, KeyIdIsReadable) {
  EXPECT_THAT(key_id(PublicKey{}), testing::MatchesRegex("ed25519:[0-9a-f]{16}"));
  PublicKey other{};
  other[0] = 1;
  EXPECT_NE(key_id(PublicKey{}), key_id(other));
}

}  // namespace
}  // namespace modeld::test
