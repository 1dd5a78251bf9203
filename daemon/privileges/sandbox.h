// The two stages of a daemon's confinement and what came of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/daemon_config.h"
#include "daemon/health/sandbox_facts.h"
#include "daemon/privileges/file_rules.h"
#include "daemon/privileges/self_audit.h"
#include "runtime/base/result.h"

namespace modeld {

// One per process. What it does cannot be undone, by its destructor neither.
class Sandbox {
 public:
  // Stage 1. Call with one thread, before the artifact is opened. By `config.sandbox.mode`:
  // enforce - kPermission where the kernel or the build cannot do it; best-effort - goes on and the
  // facts say what is missing; off - does nothing but say so.
  static Result<std::unique_ptr<Sandbox>> enter(const DaemonConfig& config, FileRules rules);

  // Stage 2 and the self-audit: when all code there will be has run once, before READY. kPermission
  // in mode enforce when anything the audit tried worked.
  Status seal();

  const SandboxFacts& facts() const { return facts_; }

 private:
  Sandbox(const DaemonConfig& config, AuditScope scope)
      : mode_(config.sandbox.mode), policy_(system_call_policy(config)), scope_(std::move(scope)) {}
  Status confine(const FileRules& rules);
  // An error in mode enforce, a line in the facts otherwise.
  Status missing(Check& fact, const Error& why);

  const SandboxMode mode_;
  const SystemCallPolicy policy_;
  const AuditScope scope_;
  SandboxFacts facts_;
};

}  // namespace modeld
