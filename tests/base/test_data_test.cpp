// What tests do where the handed data is missing.
#include "tests/support/test_data.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>

namespace modeld {
namespace {

class WithoutData : public ::testing::Test {
 protected:
  void SetUp() override {
    keep("MODELD_SHARED", shared_);
    keep("CI", ci_);
    setenv("MODELD_SHARED", "/nonexistent", 1);
  }
  void TearDown() override {
    restore("MODELD_SHARED", shared_);
    restore("CI", ci_);
  }

  static void need() { MODELD_NEED_SHARED("data/models/x.onnx"); }

 private:
  struct Setting {
    bool was_set = false;
    std::string value;
  };
  static void keep(const char* name, Setting& setting) {
    const char* value = std::getenv(name);
    setting.was_set = value != nullptr;
    if (value != nullptr) setting.value = value;
  }
  static void restore(const char* name, const Setting& setting) {
    if (setting.was_set) {
      setenv(name, setting.value.c_str(), 1);
    } else {
      unsetenv(name);
    }
  }

  Setting shared_;
  Setting ci_;
};

TEST_F(WithoutData, ATestFailsInCi) {
  setenv("CI", "true", 1);
  EXPECT_FATAL_FAILURE(need(), "test data missing in CI: \"/nonexistent/data/models/x.onnx\"");
}

TEST_F(WithoutData, ATestIsSkippedByNameElsewhere) {
  unsetenv("CI");
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    need();
  }
  ASSERT_EQ(results.size(), 1);
  EXPECT_TRUE(results.GetTestPartResult(0).skipped());
  EXPECT_NE(std::string(results.GetTestPartResult(0).message())
                .find("test data not present: \"/nonexistent/data/models/x.onnx\""),
            std::string::npos);
}

}  // namespace
}  // namespace modeld
