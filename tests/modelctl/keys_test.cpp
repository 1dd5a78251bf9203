// keygen, sign, verify: keys and signatures from a user's side.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/file.h"
#include "tests/modelctl/tool.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class KeysTest : public ToolTest {
 protected:
  std::string content(const std::string& name) const {
    return read_text_file(path(name), 1 << 20).value();
  }
};

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST_F(KeysTest, KeygenWritesAPrivateAndAPublicFile) {
  const mode_t before = ::umask(0);
  const ToolResult result = tool({"keygen", "release", "--json"});
  ::umask(before);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(mode_of(path("release.key")), 0600u);
  EXPECT_EQ(mode_of(path("release.pub")), 0644u);
  EXPECT_THAT(content("release.key"), HasSubstr("BEGIN PRIVATE KEY"));
  EXPECT_THAT(content("release.pub"), HasSubstr("BEGIN PUBLIC KEY"));
  const auto report = result.json();
  EXPECT_EQ(report["private_key"], "release.key");
  EXPECT_EQ(report["public_key"], "release.pub");
  EXPECT_THAT(report["key_id"].get<std::string>(), testing::StartsWith("ed25519:"));
}

TEST_F(KeysTest, KeygenNeverOverwrites) {
  ASSERT_EQ(tool({"keygen", "release"}).exit_code, 0);
  const std::string key = content("release.key");
  const std::string pub = content("release.pub");
  const ToolResult again = tool({"keygen", "release"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("release.key exists"));
  EXPECT_EQ(content("release.key"), key);
  EXPECT_EQ(content("release.pub"), pub);

  std::filesystem::remove(path("release.key"));
  EXPECT_EQ(tool({"keygen", "release"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("release.key"))) << "half a pair was made";
  EXPECT_EQ(content("release.pub"), pub);
}

TEST_F(KeysTest, SignThenVerify) {
  write_tiny("tiny.model");
  ASSERT_EQ(tool({"keygen", "a"}).exit_code, 0);
  const ToolResult signed_file = tool({"sign", "tiny.model", "--key", "a.key", "--json"});
  ASSERT_EQ(signed_file.exit_code, 0) << signed_file.err;
  const ToolResult verified = tool({"verify", "tiny.model", "--trust", "a.pub", "--json"});
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  const auto report = verified.json();
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["signature"], "trusted");
  EXPECT_EQ(report["role"], "monitoring");
  EXPECT_EQ(report["digest"], signed_file.json()["digest"]);
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(path("tiny.model")));
  // A folder of keys, and without JSON.
  const ToolResult folder = tool({"verify", "tiny.model", "--trust", "."});
  EXPECT_EQ(folder.exit_code, 0) << folder.err;
  EXPECT_THAT(folder.out, HasSubstr("trusted"));
}

TEST_F(KeysTest, UnsignedAndWronglySignedAreExitCodeThree) {
  write_tiny("tiny.model");
  ASSERT_EQ(tool({"keygen", "a"}).exit_code, 0);
  ASSERT_EQ(tool({"keygen", "b"}).exit_code, 0);
  const ToolResult unsigned_file = tool({"verify", "tiny.model", "--trust", "a.pub"});
  EXPECT_EQ(unsigned_file.exit_code, 3);
  EXPECT_THAT(unsigned_file.err, HasSubstr("unsigned file (expected a signature by ed25519:"));
  EXPECT_EQ(tool({"verify", "tiny.model", "--allow-unsigned"}).exit_code, 0);

  ASSERT_EQ(tool({"sign", "tiny.model", "--key", "b.key"}).exit_code, 0);
  const ToolResult wrong = tool({"verify", "tiny.model", "--trust", "a.pub", "--json"});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("signed by an unknown key"));
  const auto report = wrong.json();
  EXPECT_EQ(report["verified"], false);
  EXPECT_THAT(report["expected"].get<std::string>(), testing::StartsWith("ed25519:"));
  EXPECT_THAT(report["found"].get<std::string>(), testing::StartsWith("ed25519:"));
  EXPECT_NE(report["expected"], report["found"]);
}

TEST_F(KeysTest, DamageAndOpenPermissionsAreExitCodeThree) {
  write_tiny("tiny.model");
  std::filesystem::permissions(path("tiny.model"), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(tool({"verify", "tiny.model", "--allow-unsigned"}).exit_code, 3);
  std::filesystem::permissions(path("tiny.model"), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::remove);
  EXPECT_EQ(tool({"verify", "tiny.model", "--allow-unsigned"}).exit_code, 0);
  std::fstream file(path("tiny.model"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-3, std::ios::end);
  file.put('!');
  file.close();
  const ToolResult result = tool({"verify", "tiny.model", "--allow-unsigned"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("weight block 0 was altered"));
}

TEST_F(KeysTest, RequirementsAreChecked) {
  write_tiny("tiny.model");
  const std::vector<std::string> base = {"verify", "tiny.model", "--allow-unsigned"};
  const auto with = [&](const std::string& option, const std::string& value) {
    auto arguments = base;
    arguments.insert(arguments.end(), {option, value});
    return tool(arguments);
  };
  EXPECT_EQ(with("--role", "monitoring").exit_code, 0);
  const ToolResult role = with("--role", "driving");
  EXPECT_EQ(role.exit_code, 3);
  EXPECT_THAT(role.err, HasSubstr("(expected driving, found monitoring)"));
  EXPECT_EQ(with("--role", "flying").exit_code, 2);
  EXPECT_EQ(with("--device-class", "cpu").exit_code, 0);
  EXPECT_EQ(with("--device-class", "accelerator").exit_code, 3);
}

TEST_F(KeysTest, TrustMustBeStated) {
  write_tiny("tiny.model");
  const ToolResult result = tool({"verify", "tiny.model"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--trust FILE_OR_DIR or --allow-unsigned"));
  EXPECT_EQ(tool({"verify", "tiny.model", "--trust", "nobody.pub"}).exit_code, 2);
}

TEST_F(KeysTest, AKeyOthersCanReadIsRefused) {
  write_tiny("tiny.model");
  ASSERT_EQ(tool({"keygen", "a"}).exit_code, 0);
  ::chmod(path("a.key").c_str(), 0644);
  const ToolResult result = tool({"sign", "tiny.model", "--key", "a.key"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("expected mode 0600, found mode 0644"));
}

}  // namespace
}  // namespace modeld::test
