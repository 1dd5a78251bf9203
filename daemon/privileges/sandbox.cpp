#include "daemon/privileges/sandbox.h"

#include <utility>

#include "daemon/privileges/landlock.h"
#include "runtime/base/sanitized.h"

namespace modeld {

Result<std::unique_ptr<Sandbox>> Sandbox::enter(const DaemonConfig& config, FileRules rules) {
  std::unique_ptr<Sandbox> sandbox(new Sandbox(config, audit_scope(config, rules)));
  // Sanitizers trace their own process at its end and write reports where they please.
  if (sandbox->mode_ == SandboxMode::kOff || kSanitized) {
    sandbox->facts_.text =
        kSanitized ? "a sanitizer build does not confine itself" : "switched off by configuration";
    return sandbox;
  }
  MODELD_TRY(sandbox->confine(rules));
  return sandbox;
}

Status Sandbox::missing(Check& fact, const Error& why) {
  fact = Check::kFailed;
  facts_.text += (facts_.text.empty() ? "" : "; ") + to_string(why);
  if (mode_ != SandboxMode::kEnforce) return {};
  Error error = why;
  error.code = ErrorCode::kPermission;
  return std::move(error).in("sandbox (configuration: sandbox.mode)");
}

Status Sandbox::confine(const FileRules& rules) {
  const Status files = restrict_files(rules, !policy_.internet);
  if (files.ok()) {
    facts_.files = Check::kPassed;
    facts_.landlock_abi = landlock_abi();
  } else {
    MODELD_TRY(missing(facts_.files, files.error()));
  }
  const Status calls = filter_start_up_calls(policy_);
  if (!calls.ok()) return missing(facts_.system_calls, calls.error());
  return {};
}

Status Sandbox::seal() {
  if (mode_ == SandboxMode::kOff || kSanitized) return {};
  if (facts_.system_calls != Check::kFailed) {
    const Status calls = filter_running_calls();
    if (calls.ok()) {
      facts_.system_calls = Check::kPassed;
    } else {
      MODELD_TRY(missing(facts_.system_calls, calls.error()));
    }
  }
  facts_.findings = audit_privileges(scope_);
  const Status verdict = audit_verdict(facts_.findings);
  if (!verdict.ok()) return missing(facts_.audit, verdict.error());
  facts_.audit = Check::kPassed;
  return {};
}

}  // namespace modeld
