#include "tools/modelctl/replay_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "tools/modelctl/latency_summary.h"

namespace modeld::modelctl {
namespace {

using Counts = std::map<std::string, uint64_t>;

unsigned long long number(uint64_t value) {
  return value;
}

Json counts_json(const Counts& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}

std::string counts_text(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  }
  return text.empty() ? "none" : text;
}

Json role_json(const replay::RoleReport& role) {
  return {{"role", role.role},
          {"model", role.model},
          {"artifact", role.artifact},
          {"frames", role.frames},
          {"published", role.published},
          {"invalid", role.invalid},
          {"invalid_reasons", counts_json(role.invalid_reasons)},
          {"first_invalid", role.first_invalid},
          {"dropped", counts_json(role.dropped)},
          {"pairs_far_apart", role.pairs_far_apart},
          {"wide_passed_over", role.wide_passed_over},
          {"wide_without_picture", role.wide_without_picture},
          {"latency_ms", latency_json(summarise(role.latency))}};
}

Json log_json(const replay::LogStatistics& log) {
  Json packings = Json::object();
  for (const auto& [segment, packing] : log.packings) {
    packings[segment] = std::string(to_string(packing));
  }
  return {{"files", log.files},
          {"packings", packings},
          {"messages", log.messages},
          {"delivered", log.delivered},
          {"broken", log.broken},
          {"unknown", log.unknown},
          {"too_large", log.losses.too_large},
          {"too_many_segments", log.losses.too_many_segments},
          {"malformed", log.losses.malformed},
          {"skipped_bytes", log.losses.skipped_bytes},
          {"truncated_bytes", log.losses.truncated_bytes},
          {"files_cut_short", log.cut_short}};
}

Json cameras_json(const std::vector<replay::CameraReport>& cameras) {
  Json list = Json::array();
  for (const replay::CameraReport& camera : cameras) {
    list.push_back({{"camera", camera.camera},
                    {"frames", camera.listed},
                    {"repeated_ids", camera.repeated},
                    {"width", camera.size.width},
                    {"height", camera.size.height},
                    {"notes", camera.notes}});
  }
  return list;
}

void print_role(const replay::RoleReport& role) {
  const LatencySummary latency = summarise(role.latency);
  std::printf("%s (%s)\n", role.role.c_str(), role.model.c_str());
  std::printf("  frames %llu, published %llu, of these invalid %llu\n", number(role.frames),
              number(role.published), number(role.invalid));
  std::printf("  dropped: %s\n  invalid: %s\n", counts_text(role.dropped).c_str(),
              counts_text(role.invalid_reasons).c_str());
  if (!role.first_invalid.empty()) std::printf("  first: %s\n", role.first_invalid.c_str());
  if (role.wide_without_picture != 0 || role.wide_passed_over != 0 || role.pairs_far_apart != 0) {
    std::printf("  wide frames without picture %llu, without partner %llu; pairs far apart %llu\n",
                number(role.wide_without_picture), number(role.wide_passed_over),
                number(role.pairs_far_apart));
  }
  std::printf("  latency here: mean %.2f ms, p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", latency.mean,
              latency.p50, latency.p99, latency.max);
}

void print_log(const replay::LogStatistics& log) {
  std::printf("log: %llu files, %llu messages, %llu of them for the daemons\n", number(log.files),
              number(log.messages), number(log.delivered));
  if (log.broken + log.unknown != 0 || log.losses.damaged()) {
    std::printf(
        "  passed over: %llu do not decode, %llu of an unknown kind, %llu too large, %llu with too"
        " many segments, %llu stretches of something else (%llu bytes)\n",
        number(log.broken), number(log.unknown), number(log.losses.too_large),
        number(log.losses.too_many_segments), number(log.losses.malformed),
        number(log.losses.skipped_bytes));
  }
  if (log.losses.truncated_bytes + log.cut_short != 0) {
    std::printf("  cut short: %llu bytes of a last message, %llu packed files\n",
                number(log.losses.truncated_bytes), number(log.cut_short));
  }
}

Json without_partner_json(const std::pair<std::string, uint32_t>& message, const char* where) {
  return {{"field", message.first}, {"frame_id", message.second}, {"only_in", where}};
}

}  // namespace

Json mismatches_json(const replay::Comparison& comparison) {
  Json list = Json::array();
  for (const replay::FieldResult& field : comparison.fields) {
    if (field.differing == 0) continue;
    list.push_back({{"field", field.field},
                    {"values", field.values},
                    {"differing", field.differing},
                    {"frame_id", field.first_frame},
                    {"worst", field.worst},
                    {"reference", field.reference},
                    {"found", field.found}});
  }
  for (const auto& each : comparison.missing) {
    list.push_back(without_partner_json(each, "reference"));
  }
  for (const auto& each : comparison.extra) list.push_back(without_partner_json(each, "replay"));
  return list;
}

Json replay_json(const replay::ReplayReport& report, const replay::Comparison* comparison) {
  uint64_t frames = 0;
  uint64_t published = 0;
  uint64_t invalid = 0;
  Counts dropped;
  std::vector<Nanoseconds> latency;
  Json roles = Json::array();
  for (const replay::RoleReport& role : report.roles) {
    frames += role.frames;
    published += role.published;
    invalid += role.invalid;
    for (const auto& [name, count] : role.dropped) dropped[name] += count;
    latency.insert(latency.end(), role.latency.begin(), role.latency.end());
    roles.push_back(role_json(role));
  }
  Json document = {
      {"frames", frames},
      {"published", published},
      {"invalid", invalid},
      {"dropped", counts_json(dropped)},
      {"mismatches", comparison == nullptr ? Json::array() : mismatches_json(*comparison)},
      {"latency_ms", latency_json(summarise(latency))},
      {"roles", roles},
      {"cameras", cameras_json(report.cameras)},
      {"log", log_json(report.log)},
      {"actuator_delay_s", report.actuator_delay},
      {"actuator_delay_known", report.actuator_delay_known}};
  if (comparison != nullptr) {
    document["compared_messages"] = comparison->messages;
    document["undecodable_messages"] = comparison->broken;
  }
  return document;
}

void print_replay(const replay::ReplayReport& report) {
  for (const replay::RoleReport& role : report.roles) print_role(role);
  for (const replay::CameraReport& camera : report.cameras) {
    std::printf("camera %s: %llu frames of %ux%u\n", camera.camera.c_str(), number(camera.listed),
                camera.size.width, camera.size.height);
    for (const std::string& note : camera.notes) std::printf("  %s\n", note.c_str());
  }
  print_log(report.log);
  const bool driving = std::any_of(report.roles.begin(), report.roles.end(),
                                   [](const auto& role) { return role.role == "driving"; });
  if (driving && !report.actuator_delay_known) {
    std::printf("no carParams in the log: longitudinal actuator delay taken as 0 s\n");
  }
}

void print_comparison(const replay::Comparison& comparison) {
  const auto differing =
      std::count_if(comparison.fields.begin(), comparison.fields.end(),
                    [](const replay::FieldResult& field) { return field.differing != 0; });
  std::printf(
      "\ncompared %llu messages: %zu fields, %td of them differ; %zu messages only in the"
      " reference, %zu only in the replay\n",
      number(comparison.messages), comparison.fields.size(), differing, comparison.missing.size(),
      comparison.extra.size());
  if (differing != 0) {
    std::printf("%-44s %9s %9s %9s %11s  %s\n", "field", "values", "differ", "frame", "worst",
                "reference -> found");
  }
  for (const replay::FieldResult& field : comparison.fields) {
    if (field.differing == 0) continue;
    std::printf("%-44s %9llu %9llu %9u %11s  %s -> %s\n", field.field.c_str(), number(field.values),
                number(field.differing), field.first_frame, format_number(field.worst).c_str(),
                field.reference.c_str(), field.found.c_str());
  }
  constexpr size_t kListed = 10;
  const auto list = [&](const auto& messages, const char* where) {
    for (size_t i = 0; i < std::min(messages.size(), kListed); ++i) {
      std::printf("%s of frame %u: only in the %s\n", messages[i].first.c_str(), messages[i].second,
                  where);
    }
    if (messages.size() > kListed) std::printf("... and %zu more\n", messages.size() - kListed);
  };
  list(comparison.missing, "reference");
  list(comparison.extra, "replay");
}

std::string describe_mismatches(const replay::Comparison& comparison) {
  if (comparison.same()) return "";
  std::string text;
  size_t differing = 0;
  for (const replay::FieldResult& field : comparison.fields) {
    if (field.differing == 0) continue;
    if (differing++ == 0) {
      text = field.field + " of frame " + std::to_string(field.first_frame) + " (reference " +
             field.reference + ", found " + field.found + ")";
    }
  }
  if (differing > 1) text += " and " + std::to_string(differing - 1) + " more fields";
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (!comparison.missing.empty()) {
    add(std::to_string(comparison.missing.size()) + " messages only in the reference");
  }
  if (!comparison.extra.empty()) {
    add(std::to_string(comparison.extra.size()) + " messages only in the replay");
  }
  if (comparison.broken != 0) add(std::to_string(comparison.broken) + " messages do not decode");
  return text;
}

}  // namespace modeld::modelctl
