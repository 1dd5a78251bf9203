// The folder daemons take their models from: NAME.model is what they run, NAME.model.previous what
// they ran before. Every change is one rename, so whoever opens NAME.model at any moment, a power
// cut included, finds the old or the new file, whole.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/artifact/artifact.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::modelctl {

// Not thread-safe; between processes one at a time (the folder is locked while a store is open).
class ModelStore {
 public:
  // Looks at a whole artifact (weights verified) before it may take its place; an error keeps it
  // out. Usually a self-test.
  using Examine = std::function<Status(const Artifact&)>;

  // kRefused for a folder that group or others can write, or whose owner is neither root nor this
  // user: whoever can write it can put there what they please. kDeadline if another process holds
  // it.
  static Result<ModelStore> open(const std::filesystem::path& folder);

  // "NAME.model": a plain file name. kInvalidArgument for anything else, paths above all.
  static Status check_name(const std::string& name);

  struct Change {
    std::string digest;    // of what runs now
    std::string previous;  // of what ran before; empty if there was nothing
    bool changed = true;   // false: it was installed already
  };
  // Copies `source` into the folder, verifies and examines the copy (not the source, which others
  // may change meanwhile), and puts it in place of `name`, which is kept as the previous one.
  // Nothing has changed after an error.
  Result<Change> install(const std::filesystem::path& source, const std::string& name,
                         const TrustPolicy& trust, const Requirements& requirements,
                         const Examine& examine);

  // Exchanges `name` with the previous one, which is verified and examined first: its key may have
  // been revoked since. kNotFound if there is none.
  Result<Change> roll_back(const std::string& name, const TrustPolicy& trust,
                           const Requirements& requirements, const Examine& examine);

 private:
  ModelStore(std::filesystem::path folder, UniqueFd fd)
      : folder_(std::move(folder)), fd_(std::move(fd)) {}
  Result<Artifact> examine_file(const std::string& name, const TrustPolicy& trust,
                                const Requirements& requirements, const Examine& examine) const;
  // Of what lies there, whoever signed it; empty if nothing does. kRefused for a link or a folder.
  Result<std::string> digest_of(const std::string& name) const;
  // Byte by byte: the digest does not cover the signature, which a new key renews.
  Result<bool> same_file(const std::string& a, const std::string& b) const;
  Status keep_as_previous(const std::string& name) const;
  Status flush() const;

  std::filesystem::path folder_;
  UniqueFd fd_;
};

}  // namespace modeld::modelctl
