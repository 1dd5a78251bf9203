#include "tools/demo/demo_verdict.h"

#include <cstdio>

namespace modeld {
namespace {

std::string share(const char* what, uint64_t part, uint64_t whole, double wanted) {
  char text[160];
  const double percent =
      whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(text, sizeof text, "%s: %llu of %llu (expected at least %.0f %%, found %.1f %%)",
                what, static_cast<unsigned long long>(part), static_cast<unsigned long long>(whole),
                100 * wanted, percent);
  return text;
}

bool enough(uint64_t part, uint64_t whole, double wanted) {
  return whole != 0 && static_cast<double>(part) >= wanted * static_cast<double>(whole);
}

}  // namespace

DaemonVerdict judge(const SentFrames& sent, const HeardDaemon& heard) {
  DaemonVerdict verdict;
  verdict.sent = sent.count();
  Nanoseconds warm = 0;
  for (const auto& [id, answer] : heard.answers) {
    if (warm == 0) warm = answer.heard + kWarmUp;
    if (answer.heard >= warm) {
      ++verdict.judged;
      if (answer.valid) ++verdict.valid;
    }
    if (id >= sent.first && id <= sent.last) ++verdict.answered;
  }
  const uint64_t all = heard.answers.size();
  verdict.unheard = heard.health.published > all ? heard.health.published - all : 0;
  const auto fail = [&](const std::string& text) {
    verdict.failures.push_back(heard.name + ": " + text);
  };
  if (!enough(verdict.answered, verdict.sent, kAnsweredShare)) {
    fail(share("frames answered", verdict.answered, verdict.sent, kAnsweredShare));
  }
  if (!enough(verdict.valid, verdict.judged, kValidShare)) {
    fail(share("valid answers", verdict.valid, verdict.judged, kValidShare));
  }
  const uint64_t companions = heard.companions_per_answer * heard.answers.size();
  if (companions != 0 && !enough(heard.companions, companions, kAnsweredShare)) {
    fail(share("drivingModelData and cameraOdometry beside modelV2", heard.companions, companions,
               kAnsweredShare));
  }
  if (heard.not_finite != 0) {
    fail(std::to_string(heard.not_finite) + " messages with numbers that are not finite, first " +
         heard.first_not_finite);
  }
  if (heard.undecodable != 0) {
    fail(std::to_string(heard.undecodable) + " messages that do not decode");
  }
  return verdict;
}

}  // namespace modeld
