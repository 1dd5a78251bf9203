#include "daemon/privileges/sandbox.h"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/syscall.h>

#include <cerrno>

#include "daemon/privileges/landlock.h"
#include "runtime/base/sanitized.h"
#include "tests/daemon/privileges/confined.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

using test::in_child;

DaemonConfig configured(SandboxMode mode) {
  DaemonConfig config = default_config(DaemonKind::kModeld);
  config.sandbox.mode = mode;
  return config;
}

// Enters and seals in this process; the facts in words, or the error.
std::string confine(SandboxMode mode, const std::filesystem::path& own) {
  const DaemonConfig config = configured(mode);
  auto sandbox = Sandbox::enter(config, file_rules(config, own));
  if (!sandbox.ok()) return to_string(sandbox.error());
  const Status sealed = (*sandbox)->seal();
  if (!sealed.ok()) return to_string(sealed.error());
  const SandboxFacts& facts = (*sandbox)->facts();
  if (facts.complete()) return "complete";
  return "incomplete: " + facts.text;
}

// A kernel without Landlock, as far as this process can tell.
void hide_landlock() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SYS_landlock_create_ruleset, 0);
  seccomp_load(filter);
  seccomp_release(filter);
}

TEST(SandboxTest, ConfinedProcessPassesItsOwnAudit) {
  if (kSanitized) GTEST_SKIP() << "sanitizers cannot live confined; the plain build tests this";
  if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const test::TempDir folder;
  EXPECT_EQ(in_child([&] { return confine(SandboxMode::kEnforce, folder.path()); }), "complete");
}

TEST(SandboxTest, WithoutLandlockEnforceRefusesAndSaysHowToGoOn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers cannot live confined; the plain build tests this";
  const test::TempDir folder;
  const std::string answer = in_child([&] {
    hide_landlock();
    return confine(SandboxMode::kEnforce, folder.path());
  });
  EXPECT_NE(answer.find("Landlock"), std::string::npos) << answer;
  EXPECT_NE(answer.find("sandbox.mode"), std::string::npos) << answer;
}

TEST(SandboxTest, WithoutLandlockBestEffortGoesOnAndSaysWhatIsMissing) {
  if (kSanitized) GTEST_SKIP() << "sanitizers cannot live confined; the plain build tests this";
  const test::TempDir folder;
  const std::string answer = in_child([&] {
    hide_landlock();
    return confine(SandboxMode::kBestEffort, folder.path());
  });
  EXPECT_EQ(answer.find("incomplete: "), 0U) << answer;
  EXPECT_NE(answer.find("Landlock"), std::string::npos) << answer;
}

TEST(SandboxTest, OffDoesNothingAndSaysSo) {
  if (kSanitized) GTEST_SKIP() << "sanitizers cannot live confined; the plain build tests this";
  const test::TempDir folder;
  EXPECT_EQ(in_child([&] { return confine(SandboxMode::kOff, folder.path()); }),
            "incomplete: switched off by configuration");
}

}  // namespace
}  // namespace modeld
