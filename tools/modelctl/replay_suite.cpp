#include "tools/modelctl/replay_suite.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "runtime/base/file.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/replay_report.h"
#include "tools/replay/junit.h"
#include "tools/replay/log_writer.h"
#include "tools/replay/replay_route.h"
#include "tools/replay/suite.h"
#include "tools/replay/suite_results.h"

namespace modeld::modelctl {
namespace {

using replay::CaseResult;
using replay::CaseVerdict;
using replay::SuiteCase;
using replay::SuiteResults;

Result<replay::ReplayOutcome> replay_case(const SuiteCase& each, const SuiteOptions& options,
                                          const ReplayModels& models, CaseResult& result) {
  replay::ReplayRequest request;
  request.route = each.route;
  request.version = options.version;
  request.options.stop = interrupted;
  MODELD_ASSIGN(auto opened, models.open());
  MODELD_ASSIGN(auto outcome, replay::replay_route(request, std::move(opened)));
  for (const replay::RoleReport& role : outcome.report.roles) {
    result.frames += role.frames;
    result.published += role.published;
    result.invalid += role.invalid;
  }
  return outcome;
}

Status judge(const SuiteCase& each, const SuiteOptions& options,
             const replay::ReplayOutcome& outcome, CaseResult& result) {
  result.verdict = CaseVerdict::kPassed;
  if (options.update) return replay::write_log(each.route / "expected.zst", outcome.log);
  if (each.expected.empty()) {
    return Error(ErrorCode::kNotFound, "no expected.zst (make it with --update)");
  }
  MODELD_ASSIGN(const auto reference, replay::read_reference(each.expected));
  const replay::Comparison comparison = replay::compare_logs(
      reference, outcome.log, replay::compare_options(outcome.report, {}, options.tolerance));
  if (comparison.messages == 0) {
    return Error(ErrorCode::kNotFound, "nothing of the expected answers is of the models' roles");
  }
  if (comparison.same()) return {};
  result.verdict = CaseVerdict::kFailed;
  result.text = describe_mismatches(comparison);
  return {};
}

Result<CaseResult> run_case(const SuiteCase& each, const SuiteOptions& options,
                            const ReplayModels& models) {
  CaseResult result;
  result.name = each.name;
  const Nanoseconds begin = Clock::real().monotonic();
  const auto outcome = replay_case(each, options, models, result);
  const Status judged =
      outcome.ok() ? judge(each, options, *outcome, result) : Status(outcome.error());
  if (!judged.ok()) {
    if (judged.error().code == ErrorCode::kInterrupted) return judged.error();
    result.verdict = CaseVerdict::kError;
    result.text = to_string(judged.error());
  }
  result.seconds = static_cast<double>(Clock::real().monotonic() - begin) / kSecond;
  return result;
}

// What an earlier attempt at the same shard of the same run has done. Anything else is not mixed.
Result<SuiteResults> earlier(const SuiteOptions& options, const SuiteResults& fresh) {
  std::error_code failure;
  if (options.results.empty() || !std::filesystem::exists(options.results, failure)) return fresh;
  MODELD_ASSIGN(SuiteResults found, replay::load_results(options.results));
  const bool same = found.identity == fresh.identity && found.suite == fresh.suite &&
                    found.shard.number == fresh.shard.number &&
                    found.shard.count == fresh.shard.count;
  if (same) return found;
  return Error(ErrorCode::kInvalidArgument,
               "the results file is of another run: " + options.results)
      .expecting("the same models, suite and shard, or no file", "others");
}

Json results_json(const SuiteResults& results) {
  Json failures = Json::array();
  for (const CaseResult& each : results.cases) {
    if (each.verdict == CaseVerdict::kPassed) continue;
    failures.push_back({{"name", each.name},
                        {"verdict", std::string(to_string(each.verdict))},
                        {"text", each.text}});
  }
  return {
      {"suite", results.suite.size()},
      {"shard", std::to_string(results.shard.number) + "/" + std::to_string(results.shard.count)},
      {"cases", results.cases.size()},
      {"passed", results.count(CaseVerdict::kPassed)},
      {"failed", results.count(CaseVerdict::kFailed)},
      {"errors", results.count(CaseVerdict::kError)},
      {"failures", failures}};
}

Status report(const SuiteResults& results, const SuiteOptions& options) {
  if (!options.junit.empty()) {
    const std::string xml = replay::junit_xml(results);
    MODELD_TRY(write_file_atomically(options.junit, std::as_bytes(std::span(xml))));
  }
  const size_t passed = results.count(CaseVerdict::kPassed);
  if (options.json) {
    print_json(results_json(results));
  } else {
    for (const CaseResult& each : results.cases) {
      std::printf("%-7s %s (%.1f s, %llu frames)%s%s\n",
                  std::string(to_string(each.verdict)).c_str(), each.name.c_str(), each.seconds,
                  static_cast<unsigned long long>(each.frames), each.text.empty() ? "" : ": ",
                  each.text.c_str());
    }
    std::printf("%zu of %zu passed\n", passed, results.cases.size());
  }
  if (passed == results.cases.size()) return {};
  return Error(ErrorCode::kCheckFailed, "not every case passed")
      .expecting(std::to_string(results.cases.size()), std::to_string(passed));
}

}  // namespace

Status run_suite(const SuiteOptions& options) {
  MODELD_ASSIGN(const auto cases, replay::find_suite(options.folder));
  MODELD_ASSIGN(const replay::Shard shard, replay::parse_shard(options.shard));
  MODELD_ASSIGN(const ReplayModels models, ReplayModels::load(options.models));
  note_interrupts();
  SuiteResults fresh;
  fresh.identity = models.identity();
  fresh.shard = shard;
  for (const SuiteCase& each : cases) fresh.suite.push_back(each.name);
  MODELD_ASSIGN(const SuiteResults done, earlier(options, fresh));
  SuiteResults& results = fresh;
  {
    Progress progress;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!shard.holds(i)) continue;
      progress.show("replaying " + cases[i].name,
                    static_cast<double>(i) / static_cast<double>(cases.size()));
      if (const CaseResult* const known = done.find(cases[i].name)) {
        results.cases.push_back(*known);
        continue;
      }
      MODELD_ASSIGN(CaseResult result, run_case(cases[i], options, models));
      results.cases.push_back(std::move(result));
      // After every case: whoever is killed loses the case in hand and no other.
      if (!options.results.empty()) MODELD_TRY(replay::save_results(options.results, results));
    }
  }
  if (!options.results.empty()) MODELD_TRY(replay::save_results(options.results, results));
  return report(results, options);
}

Status merge_suite(const std::vector<std::string>& files, const SuiteOptions& options) {
  std::vector<SuiteResults> shards;
  for (const std::string& file : files) {
    MODELD_ASSIGN(SuiteResults results, replay::load_results(file));
    shards.push_back(std::move(results));
  }
  MODELD_ASSIGN(const SuiteResults merged, replay::merge_results(shards));
  if (!options.results.empty()) MODELD_TRY(replay::save_results(options.results, merged));
  return report(merged, options);
}

}  // namespace modeld::modelctl
