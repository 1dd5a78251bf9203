// test_differential [--seed N] [--count N] [--opencl-count N] [--case ID] [options of GoogleTest]
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "tests/differential/fuzz_options.h"

namespace modeld::test {

FuzzOptions& fuzz_options() {
  static FuzzOptions options;
  return options;
}

namespace {

constexpr std::string_view kUsage =
    "Random operators and small graphs: reference against cpu, compiled and not, against opencl,\n"
    "and against ONNX Runtime where it can be had.\n"
    "  --seed N   other cases (default: the number of today, UTC, so that a day repeats itself)\n"
    "  --count N  how many (default 1000)\n"
    "  --opencl-count N  how many of them on opencl too (default 0)\n"
    "  --op NAME  of one op alone\n"
    "  --case ID  one case of an earlier run alone, described in full\n"
    "Example: test_differential --seed 7 --count 20000\n"
    "         test_differential --case Conv/0x3f21\n";

bool parse_number(std::string_view text, uint64_t& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// False if the words make no sense.
bool read_options(int argc, char** argv) {
  FuzzOptions& options = fuzz_options();
  constexpr std::time_t kDay = 24 * 60 * 60;
  options.seed = static_cast<uint64_t>(std::time(nullptr) / kDay);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--seed") {
      if (!parse_number(argv[i + 1], options.seed)) return false;
    } else if (name == "--count") {
      if (!parse_number(argv[i + 1], options.count)) return false;
    } else if (name == "--opencl-count") {
      if (!parse_number(argv[i + 1], options.opencl_count)) return false;
    } else if (name == "--op") {
      options.kind = parse_op_kind(argv[i + 1]);
      if (!options.kind) return false;
    } else if (name == "--case") {
      options.only = parse_case_id(argv[i + 1]);
      if (!options.only) return false;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

}  // namespace
}  // namespace modeld::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);  // takes its own words away
  if (!modeld::test::read_options(argc, argv)) {
    std::fputs(modeld::test::kUsage.data(), stderr);
    return 2;
  }
  return RUN_ALL_TESTS();
}
