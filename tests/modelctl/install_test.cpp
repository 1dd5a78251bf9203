// install and rollback: what a daemon will run changes whole or not at all.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/artifact/artifact_writer.h"
#include "runtime/base/file.h"
#include "runtime/base/unique_fd.h"
#include "tests/modelctl/tool.h"
#include "tests/support/tiny_model.h"
#include "tools/compile/reference_vectors.h"

namespace modeld::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class InstallTest : public ToolTest {
 protected:
  InstallTest() {
    fs::create_directory(path("store"));
    fs::create_directory(path("keys"));
    for (const char* key : {"a", "b"}) {
      EXPECT_EQ(tool({"keygen", key}).exit_code, 0);
      fs::copy_file(path(std::string(key) + ".pub"), path("keys/" + std::string(key) + ".pub"));
    }
  }

  // The tiny model with reference values that are its own.
  static Model tested_model(const std::string& name) {
    Model model = tiny_model();
    model.contract.name = name;
    model.contract.references.clear();
    for (OutputContract& output : model.contract.outputs) {
      for (OutputSlice& slice : output.slices) slice.tolerances.clear();
    }
    EXPECT_TRUE(compile::add_references(model, {model.program, *model.weights}).ok());
    return model;
  }
  // It tells itself from the others by name.
  void make(const std::string& file, const std::string& name, const std::string& key) {
    const Model model = tested_model(name);
    ASSERT_TRUE(write_artifact(folder_ / file, model).ok());
    ASSERT_EQ(tool({"sign", file, "--key", key + ".key"}).exit_code, 0);
  }
  ToolResult install(const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"install", file,        "--dir",     "store", "--trust",
                                          "keys",    "--backend", "reference", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tool(arguments);
  }
  ToolResult roll_back() {
    return tool({"rollback", "monitoring", "--dir", "store", "--trust", "keys", "--backend",
                 "reference", "--json"});
  }
  std::string installed(const std::string& name = "monitoring.model") {
    const auto report = tool({"inspect", "store/" + name, "--json"}).json();
    return report.is_object() ? report.value("name", "?") : "none";
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path("store"))) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(InstallTest, KeepsThePreviousOneAndGoesBackAndForth) {
  make("one.model", "one", "a");
  make("two.model", "two", "b");
  const ToolResult first = install("one.model");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.json()["installed"], "store/monitoring.model");
  EXPECT_TRUE(first.json()["previous"].is_null());
  EXPECT_EQ(installed(), "one");
  EXPECT_EQ(files(), std::vector<std::string>{"monitoring.model"});
  struct stat info {};
  ASSERT_EQ(stat(path("store/monitoring.model").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);

  const ToolResult second = install("two.model");
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.json()["previous"], first.json()["digest"]);
  EXPECT_EQ(installed(), "two");
  EXPECT_EQ(installed("monitoring.model.previous"), "one");

  // Again changes nothing: the previous one is still the one before.
  const ToolResult again = install("two.model");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json()["changed"], false);
  EXPECT_EQ(installed("monitoring.model.previous"), "one");

  // The same model by a new key is another file.
  fs::copy_file(path("two.model"), path("resigned.model"));
  ASSERT_EQ(tool({"sign", "resigned.model", "--key", "a.key"}).exit_code, 0);
  const ToolResult resigned = install("resigned.model");
  ASSERT_EQ(resigned.exit_code, 0) << resigned.err;
  EXPECT_EQ(resigned.json()["changed"], true);
  EXPECT_EQ(resigned.json()["digest"], second.json()["digest"]);
  ASSERT_EQ(install("one.model").exit_code, 0);
  ASSERT_EQ(install("two.model").exit_code, 0);

  const ToolResult back = roll_back();
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_EQ(back.json()["digest"], first.json()["digest"]);
  EXPECT_EQ(installed(), "one");
  EXPECT_EQ(installed("monitoring.model.previous"), "two");
  ASSERT_EQ(roll_back().exit_code, 0);
  EXPECT_EQ(installed(), "two");
  EXPECT_EQ(files(), (std::vector<std::string>{"monitoring.model", "monitoring.model.previous"}));
}

TEST_F(InstallTest, WhatIsRefusedLeavesEverythingAsItWas) {
  make("one.model", "one", "a");
  ASSERT_EQ(install("one.model").exit_code, 0);
  const auto expect_refused = [&](const std::string& file, int code, const char* word) {
    const ToolResult result = install(file);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(word));
    EXPECT_EQ(installed(), "one");
    EXPECT_EQ(files(), std::vector<std::string>{"monitoring.model"});
  };
  write_tiny("unsigned.model");
  expect_refused("unsigned.model", 3, "unsigned file");
  ASSERT_EQ(tool({"keygen", "stranger"}).exit_code, 0);
  make("foreign.model", "foreign", "stranger");
  expect_refused("foreign.model", 3, "signed by an unknown key");
  // Altered in the weights, which opening alone does not read.
  make("altered.model", "altered", "a");
  std::fstream file(path("altered.model"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-3, std::ios::end);
  file.put('!');
  file.close();
  expect_refused("altered.model", 3, "was altered");
  // Signed, and wrong: its reference values are not what it computes.
  Model wrong = tested_model("wrong");
  for (auto& bytes : wrong.contract.references[0].outputs) bytes[2] ^= std::byte{0x7f};
  ASSERT_TRUE(write_artifact(folder_ / "wrong.model", wrong).ok());
  ASSERT_EQ(tool({"sign", "wrong.model", "--key", "a.key"}).exit_code, 0);
  expect_refused("wrong.model", 1, "self-test");
  expect_refused("nothing.model", 2, "nothing.model");
  ASSERT_EQ(mkfifo(path("pipe.model").c_str(), 0644), 0);
  expect_refused("pipe.model", 3, "regular file");
}

TEST_F(InstallTest, HostilePathsAreRefused) {
  make("one.model", "one", "a");
  for (const char* name : {"../x.model", "/tmp/x.model", "a/b.model", ".hidden.model", "x.txt",
                           ".model", "x\n.model", ""}) {
    const ToolResult result = install("one.model", {"--name", name});
    // Empty is no name: the role's is taken.
    EXPECT_EQ(result.exit_code, *name == '\0' ? 0 : 2) << name;
  }
  fs::remove_all(path("store"));
  fs::create_directory(path("store"));
  // A link in the model's place would be written through.
  std::ofstream(path("victim")) << "text";
  fs::create_symlink(path("victim"), path("store/monitoring.model"));
  EXPECT_EQ(install("one.model").exit_code, 3);
  EXPECT_EQ(read_text_file(path("victim"), 100).value(), "text");
  fs::remove(path("store/monitoring.model"));
  // One in the temporary file's place is taken away, not followed.
  fs::create_symlink(path("victim"), path("store/.monitoring.model.new"));
  EXPECT_EQ(install("one.model").exit_code, 0);
  EXPECT_EQ(read_text_file(path("victim"), 100).value(), "text");
  EXPECT_EQ(files(), std::vector<std::string>{"monitoring.model"});
  // A folder others can write is nobody's to trust.
  chmod(path("store").c_str(), 0777);
  const ToolResult open = install("one.model");
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_THAT(open.err, HasSubstr("group or others can write it"));
  chmod(path("store").c_str(), 0755);
  EXPECT_EQ(tool({"install", "one.model", "--dir", "nowhere", "--trust", "keys"}).exit_code, 2);
  EXPECT_EQ(tool({"install", "one.model", "--dir", "store", "--trust", ""}).exit_code, 2);
}

TEST_F(InstallTest, OneAtATime) {
  make("one.model", "one", "a");
  const UniqueFd other(open(path("store").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  const ToolResult result = install("one.model");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("another process"));
}

TEST_F(InstallTest, RollbackNeedsAPreviousOneThatIsStillTrusted) {
  make("one.model", "one", "a");
  make("two.model", "two", "b");
  ASSERT_EQ(install("one.model").exit_code, 0);
  const ToolResult nothing = roll_back();
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to go back to"));
  ASSERT_EQ(install("two.model").exit_code, 0);
  // The first one's key was revoked meanwhile.
  fs::copy_file(path("a.pub"), path("keys/a.revoked"));
  const ToolResult refused = roll_back();
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("revoked"));
  EXPECT_EQ(installed(), "two");
  EXPECT_EQ(tool({"rollback", "--dir", "store", "--trust", "keys"}).exit_code, 2);
}

// Rotation: both keys are trusted for a while, then the old one is revoked.
TEST_F(InstallTest, KeysAreRotatedAndRevoked) {
  make("old.model", "old", "a");
  make("new.model", "new", "b");
  const auto verify = [&](const std::string& file) {
    return tool({"verify", file, "--trust", "keys"});
  };
  EXPECT_EQ(verify("old.model").exit_code, 0);
  EXPECT_EQ(verify("new.model").exit_code, 0);
  // Also while its .pub still lies there: a key once revoked is not trusted by an oversight.
  fs::copy_file(path("a.pub"), path("keys/2026-11-a.revoked"));
  const ToolResult refused = verify("old.model");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("signed by a revoked key"));
  EXPECT_EQ(verify("new.model").exit_code, 0);
  fs::remove(path("keys/a.pub"));
  EXPECT_EQ(verify("old.model").exit_code, 3);
  // Nor by a development switch.
  EXPECT_EQ(tool({"verify", "old.model", "--trust", "keys", "--allow-unsigned"}).exit_code, 3);
  // A revocation that cannot be read must not be passed over.
  std::ofstream(path("keys/broken.revoked")) << "not a key";
  EXPECT_EQ(verify("new.model").exit_code, 3);
  fs::remove(path("keys/broken.revoked"));
  // Nobody is left.
  fs::copy_file(path("b.pub"), path("keys/b.revoked"));
  EXPECT_EQ(verify("new.model").exit_code, 3);
}

}  // namespace
}  // namespace modeld::test
