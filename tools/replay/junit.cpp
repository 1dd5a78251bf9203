#include "tools/replay/junit.h"

#include <cstdio>

namespace modeld::replay {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        // Other control characters are not allowed in XML at all.
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string case_xml(const CaseResult& each) {
  std::string text = "    <testcase classname=\"replay\" name=\"" + escaped(each.name) +
                     "\" time=\"" + seconds(each.seconds) + "\"";
  if (each.verdict == CaseVerdict::kPassed) return text + "/>\n";
  const std::string element = each.verdict == CaseVerdict::kFailed ? "failure" : "error";
  return text + ">\n      <" + element + " message=\"" + escaped(each.text) +
         "\"/>\n    </testcase>\n";
}

}  // namespace

std::string junit_xml(const SuiteResults& results) {
  double total = 0;
  std::string cases;
  for (const CaseResult& each : results.cases) {
    total += each.seconds;
    cases += case_xml(each);
  }
  const std::string counts = " tests=\"" + std::to_string(results.cases.size()) + "\" failures=\"" +
                             std::to_string(results.count(CaseVerdict::kFailed)) + "\" errors=\"" +
                             std::to_string(results.count(CaseVerdict::kError)) + "\" time=\"" +
                             seconds(total) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts +
         ">\n  <testsuite name=\"replay\"" + counts + ">\n" + cases +
         "  </testsuite>\n</testsuites>\n";
}

}  // namespace modeld::replay
