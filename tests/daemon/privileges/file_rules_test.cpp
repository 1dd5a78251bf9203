#include "daemon/privileges/file_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

bool given(const FileRules& rules, const std::filesystem::path& path, FileAccess access) {
  return std::any_of(rules.begin(), rules.end(), [&](const FileRule& rule) {
    return rule.path == path && rule.access == access;
  });
}

TEST(FileRulesTest, ArtifactAndKeysAreReadNeverWritten) {
  const DaemonConfig config = default_config(DaemonKind::kModeld);
  const FileRules rules = file_rules(config, "/run/modeld");
  EXPECT_TRUE(given(rules, config.artifact.path, FileAccess::kRead));
  EXPECT_TRUE(given(rules, config.artifact.trust, FileAccess::kRead));
  EXPECT_TRUE(given(rules, "/run/modeld", FileAccess::kOwn));
}

// A rule on the folder would give every topic of the system, the car's bus among them.
TEST(FileRulesTest, TopicFilesAreNamedTheirFolderIsNot) {
  const FileRules rules = file_rules(default_config(DaemonKind::kModeld), "",
                                     {"/dev/shm/msgq_modelV2", "/dev/shm/msgq_carState"});
  EXPECT_TRUE(given(rules, "/dev/shm/msgq_modelV2", FileAccess::kReadWrite));
  for (const FileRule& rule : rules) {
    EXPECT_NE(rule.path, "/dev/shm");
    EXPECT_NE(rule.path, "/dev");
    EXPECT_NE(rule.path, "/");
    EXPECT_NE(rule.path, "/etc");
    EXPECT_NE(rule.path, "/proc");
  }
}

TEST(FileRulesTest, AParameterFolderThatIsNotThereYetIsAwaitedInTheNearestOneThatIs) {
  const test::TempDir folder;
  DaemonConfig config = default_config(DaemonKind::kModeld);
  config.inputs.params_dir = folder / "params/d";
  EXPECT_TRUE(given(file_rules(config, ""), folder.path(), FileAccess::kRead));
  config.inputs.params_dir = "/no_such_folder_of_modeld/params/d";
  EXPECT_FALSE(given(file_rules(config, ""), "/", FileAccess::kRead));
}

TEST(FileRulesTest, FieldFault40DevicesAreGivenToTheBackendThatDrivesThem) {
  const test::TempDir state;
  DaemonConfig config = default_config(DaemonKind::kModeld);
  config.state.dir = state.path();
  EXPECT_FALSE(given(file_rules(config, ""), "/dev/dri", FileAccess::kDevice));
  config.device.backend = "opencl";
  const FileRules gpu = file_rules(config, "");
  EXPECT_TRUE(given(gpu, "/dev/dri", FileAccess::kDevice));
  EXPECT_TRUE(given(gpu, "/dev/kgsl-3d0", FileAccess::kDevice));
  EXPECT_FALSE(given(gpu, "/usr", FileAccess::kExecute));
  // PoCL has no device node; it has a compiler.
  config.device.software = true;
  unsetenv("POCL_CACHE_DIR");
  const FileRules software = file_rules(config, "");
  EXPECT_FALSE(given(software, "/dev/dri", FileAccess::kDevice));
  EXPECT_TRUE(given(software, "/usr", FileAccess::kExecute));
  EXPECT_TRUE(given(software, state / "pocl", FileAccess::kOwn));
}

TEST(FileRulesTest, TheAuditDoesNotAskForWhatIsOurs) {
  DaemonConfig config = default_config(DaemonKind::kModeld);
  const AuditScope all = audit_scope(config, file_rules(config, "/run/modeld"));
  EXPECT_EQ(all.foreign_folders, AuditScope().foreign_folders);
  const AuditScope without = audit_scope(config, file_rules(config, "/tmp"));
  EXPECT_EQ(std::count(without.foreign_folders.begin(), without.foreign_folders.end(), "/tmp"), 0);
  config.transport.kind = TransportKind::kZmqTcp;
  EXPECT_TRUE(audit_scope(config, {}).internet);
  EXPECT_TRUE(system_call_policy(config).internet);
}

}  // namespace
}  // namespace modeld
