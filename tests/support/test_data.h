// Where handed test data lies, and what a test does without it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace modeld::test {

// The folder of handed data: $MODELD_SHARED, or `shared` beside the checkout.
inline std::filesystem::path shared_root() {
  if (const char* named = std::getenv("MODELD_SHARED")) return named;
  return std::filesystem::path(MODELD_SOURCE_ROOT).parent_path() / "shared";
}

inline std::filesystem::path shared_path(const std::string& relative) {
  return shared_root() / relative;
}

// In CI the data must be there: absence is a failure, not a skip.
inline bool running_in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

}  // namespace modeld::test

// First line of a test that needs `relative` below the shared folder.
#define MODELD_NEED_SHARED(relative)                            \
  do {                                                          \
    const auto needed_ = ::modeld::test::shared_path(relative); \
    if (!std::filesystem::exists(needed_)) {                    \
      if (::modeld::test::running_in_ci()) {                    \
        FAIL() << "test data missing in CI: " << needed_;       \
      }                                                         \
      GTEST_SKIP() << "test data not present: " << needed_;     \
    }                                                           \
  } while (false)
