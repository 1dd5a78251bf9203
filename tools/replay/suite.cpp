#include "tools/replay/suite.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

namespace modeld::replay {
namespace {

namespace fs = std::filesystem;

fs::path expected_in(const fs::path& folder) {
  for (const char* name : {"expected.zst", "expected.bz2", "expected"}) {
    std::error_code failure;
    if (fs::is_regular_file(folder / name, failure)) return folder / name;
  }
  return {};
}

}  // namespace

Result<std::vector<SuiteCase>> find_suite(const fs::path& folder) {
  std::vector<SuiteCase> cases;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    const std::string name = at->path().filename().string();
    std::error_code unreadable;
    if (!at->is_directory(unreadable) || name.starts_with('.')) continue;
    cases.push_back({name, at->path(), expected_in(at->path())});
    if (cases.size() > kMaxSuiteCases) {
      return Error(ErrorCode::kExhausted, "too many cases").in(folder.string());
    }
  }
  if (failure) return errno_error("listing " + folder.string(), failure.value());
  if (cases.empty()) {
    return Error(ErrorCode::kNotFound, "no cases in " + folder.string())
        .expecting("a folder for each route, with its expected.zst", "none");
  }
  std::sort(cases.begin(), cases.end(),
            [](const SuiteCase& a, const SuiteCase& b) { return a.name < b.name; });
  return cases;
}

Result<Shard> parse_shard(const std::string& text) {
  Shard shard;
  char rest = 0;
  const int fields = std::sscanf(text.c_str(), "%6u/%6u%c", &shard.number, &shard.count, &rest);
  if (fields == 2 && shard.number >= 1 && shard.number <= shard.count &&
      shard.count <= kMaxShards) {
    return shard;
  }
  return Error(ErrorCode::kInvalidArgument, "--shard")
      .expecting("I/N with 1 <= I <= N <= " + std::to_string(kMaxShards), text);
}

}  // namespace modeld::replay
