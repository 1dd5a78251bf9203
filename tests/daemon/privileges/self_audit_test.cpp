#include "daemon/privileges/self_audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

const AuditFinding& named(const std::vector<AuditFinding>& findings, const std::string& name) {
  return *std::find_if(findings.begin(), findings.end(),
                       [&](const AuditFinding& finding) { return finding.name == name; });
}

// This test process is not confined, so what any process may do must be found out.
TEST(SelfAuditTest, FailsUnconfinedAndNamesWhatWorked) {
  const test::TempDir folder;
  AuditScope scope;
  scope.foreign_folders.push_back(folder.path().string());
  const std::vector<AuditFinding> findings = audit_privileges(scope);
  EXPECT_EQ(named(findings, "execute a program").result, Check::kFailed);
  EXPECT_EQ(named(findings, "socket AF_INET").result, Check::kFailed);
  EXPECT_EQ(named(findings, "make a file in " + folder.path().string()).result, Check::kFailed);
  const Status verdict = audit_verdict(findings);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::kPermission);
  EXPECT_NE(verdict.error().found.find("execute a program"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the audit left something behind";
}

TEST(SelfAuditTest, WhatIsNotThereIsNotApplicable) {
  AuditScope scope;
  scope.foreign_files = {"/dev/shm/no_such_folder_of_modeld/msgq_sendcan"};
  const auto findings = audit_privileges(scope);
  EXPECT_EQ(named(findings, "write " + scope.foreign_files[0]).result, Check::kNotApplicable);
}

TEST(SelfAuditTest, AnExistingForeignTopicFileThatCanBeWrittenIsAFailure) {
  const test::TempDir folder;
  const std::string ring = folder / "msgq_sendcan";
  ASSERT_TRUE(std::filesystem::create_directory(folder / "x"));
  FILE* const file = std::fopen(ring.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  AuditScope scope;
  scope.foreign_files = {ring};
  EXPECT_EQ(named(audit_privileges(scope), "write " + ring).result, Check::kFailed);
}

TEST(SelfAuditTest, LoopbackTcpIsNotAuditedWhereTheConfigurationAsksForIt) {
  AuditScope scope;
  scope.internet = true;
  for (const AuditFinding& finding : audit_privileges(scope)) {
    EXPECT_NE(finding.name, "socket AF_INET");
  }
}

TEST(SelfAuditTest, NothingFoundIsAPass) {
  EXPECT_TRUE(audit_verdict({{"a", Check::kPassed, ""}, {"b", Check::kNotApplicable, ""}}).ok());
  EXPECT_FALSE(audit_verdict({{"a", Check::kUnknown, ""}}).ok()) << "unknown is not passed";
}

}  // namespace
}  // namespace modeld
