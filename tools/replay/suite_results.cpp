#include "tools/replay/suite_results.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/file.h"

namespace modeld::replay {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxResultBytes = uint64_t{256} << 20;
constexpr const char* kFormat = "modeld replay results 1";

Json to_json(const CaseResult& result) {
  return {{"name", result.name},      {"verdict", std::string(to_string(result.verdict))},
          {"text", result.text},      {"seconds", result.seconds},
          {"frames", result.frames},  {"published", result.published},
          {"invalid", result.invalid}};
}

CaseVerdict verdict_of(const std::string& text) {
  if (text == "passed") return CaseVerdict::kPassed;
  return text == "failed" ? CaseVerdict::kFailed : CaseVerdict::kError;
}

// Throws what the JSON library throws for a member that is missing or of another type.
SuiteResults from_json(const Json& document) {
  SuiteResults results;
  results.identity = document.at("identity").get<std::string>();
  results.suite = document.at("suite").get<std::vector<std::string>>();
  results.shard.number = document.at("shard").at("number").get<uint32_t>();
  results.shard.count = document.at("shard").at("count").get<uint32_t>();
  for (const Json& each : document.at("cases")) {
    CaseResult result;
    result.name = each.at("name").get<std::string>();
    result.verdict = verdict_of(each.at("verdict").get<std::string>());
    result.text = each.at("text").get<std::string>();
    result.seconds = each.at("seconds").get<double>();
    result.frames = each.at("frames").get<uint64_t>();
    result.published = each.at("published").get<uint64_t>();
    result.invalid = each.at("invalid").get<uint64_t>();
    results.cases.push_back(std::move(result));
  }
  return results;
}

Error refuse(const std::string& what) {
  return Error(ErrorCode::kCheckFailed, "results do not make one run: " + what);
}

std::string name_of(const Shard& shard) {
  return "shard " + std::to_string(shard.number) + "/" + std::to_string(shard.count);
}

Status check_shards(std::span<const SuiteResults> shards) {
  std::set<uint32_t> seen;
  const SuiteResults& first = shards.front();
  for (const SuiteResults& each : shards) {
    if (each.identity != first.identity) return refuse("models or backends differ");
    if (each.suite != first.suite) return refuse("the suites differ");
    if (each.shard.count != first.shard.count) return refuse("the numbers of shards differ");
    if (!seen.insert(each.shard.number).second)
      return refuse(name_of(each.shard) + " is there twice");
  }
  for (uint32_t number = 1; number <= first.shard.count; ++number) {
    if (!seen.contains(number)) return refuse(name_of({number, first.shard.count}) + " is missing");
  }
  return {};
}

}  // namespace

std::string_view to_string(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::kPassed:
      return "passed";
    case CaseVerdict::kFailed:
      return "failed";
    case CaseVerdict::kError:
      return "error";
  }
  return "?";
}

const CaseResult* SuiteResults::find(const std::string& name) const {
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const CaseResult& each) { return each.name == name; });
  return found == cases.end() ? nullptr : &*found;
}

size_t SuiteResults::count(CaseVerdict verdict) const {
  return static_cast<size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult& each) { return each.verdict == verdict; }));
}

Status save_results(const std::filesystem::path& path, const SuiteResults& results) {
  Json cases = Json::array();
  for (const CaseResult& each : results.cases) cases.push_back(to_json(each));
  const Json document = {
      {"format", kFormat},
      {"identity", results.identity},
      {"shard", {{"number", results.shard.number}, {"count", results.shard.count}}},
      {"suite", results.suite},
      {"cases", cases}};
  const std::string text =
      document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

Result<SuiteResults> load_results(const std::filesystem::path& path) {
  MODELD_ASSIGN(const std::string text, read_text_file(path, kMaxResultBytes));
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("format", "") != kFormat) {
    return Error(ErrorCode::kCorrupt, "not a file of results")
        .expecting(kFormat, "something else")
        .in(path.string());
  }
  try {
    return from_json(document);
  } catch (const nlohmann::json::exception& failure) {
    return Error(ErrorCode::kCorrupt, std::string("results do not read: ") + failure.what())
        .in(path.string());
  }
}

Result<SuiteResults> merge_results(std::span<const SuiteResults> shards) {
  if (shards.empty()) return refuse("there are none");
  MODELD_TRY(check_shards(shards));
  SuiteResults merged;
  merged.identity = shards.front().identity;
  merged.suite = shards.front().suite;
  std::map<std::string, const CaseResult*> by_name;
  for (const SuiteResults& shard : shards) {
    for (const CaseResult& each : shard.cases) {
      if (!by_name.emplace(each.name, &each).second)
        return refuse("case " + each.name + " is there twice");
    }
  }
  for (const std::string& name : merged.suite) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return refuse("case " + name + " is missing");
    merged.cases.push_back(*found->second);
  }
  if (by_name.size() != merged.suite.size()) return refuse("there are cases the suite has not");
  return merged;
}

}  // namespace modeld::replay
