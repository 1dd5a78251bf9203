#include "daemon/validate/output_validator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/half.h"

namespace modeld {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

OutputSlice slice(std::string name, int64_t start, int64_t stop, double minimum = -kAny,
                  double maximum = kAny, bool varies = false) {
  OutputSlice made;
  made.name = std::move(name);
  made.start = start;
  made.stop = stop;
  made.minimum = minimum;
  made.maximum = maximum;
  made.varies = varies;
  return made;
}

// Eight values: prob 0:2 in [0, 1], plan 2:6 varies, 6 uncovered, last 7:8.
OutputContract contract(DType dtype = DType::kFloat32) {
  OutputContract made;
  made.name = "outputs";
  made.type = {dtype, {1, 8}};
  made.slices = {slice("prob", 0, 2, 0, 1), slice("plan", 2, 6, -kAny, kAny, true),
                 slice("last", 7, 8, -kAny, kAny, true)};
  return made;
}

class OutputValidatorTest : public testing::Test {
 protected:
  OutputVerdict check() const {
    return validator_.check_output(0, std::as_bytes(std::span(values_)));
  }

  OutputValidator validator_{{contract()}};
  std::vector<float> values_ = {0, 1, -3, 4, 5, 6, 7, 0};
};

TEST_F(OutputValidatorTest, GoodOutputsAreValid) {
  EXPECT_TRUE(check().valid());
}

TEST_F(OutputValidatorTest, FieldFault26NamesTheElementThatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (size_t i = 0; i < values_.size(); ++i) {
      auto values = values_;
      values[i] = bad;
      const auto verdict = validator_.check_output(0, std::as_bytes(std::span(values)));
      EXPECT_EQ(verdict.reason, InvalidReason::kOutputNotFinite);
      EXPECT_EQ(verdict.element, static_cast<int64_t>(i));
      EXPECT_EQ(verdict.slice == OutputVerdict::kNoSlice, i == 6);
    }
  }
}

TEST_F(OutputValidatorTest, RangeIsInclusiveAndPerSlice) {
  values_[1] = 1.0001f;
  const auto verdict = check();
  EXPECT_EQ(verdict.reason, InvalidReason::kOutputOutOfRange);
  EXPECT_EQ(verdict.slice, 0u);
  EXPECT_EQ(verdict.element, 1);
  EXPECT_EQ(validator_.describe(verdict),
            "outputOutOfRange: output outputs, slice prob, element 1 (expected 0 to 1, found "
            "1.0001)");
}

TEST_F(OutputValidatorTest, ConstantSliceThatShouldVary) {
  for (const float same : {0.0f, 2.5f}) {
    for (int i = 2; i < 6; ++i) values_[static_cast<size_t>(i)] = same;
    const auto verdict = check();
    EXPECT_EQ(verdict.reason, InvalidReason::kOutputConstant);
    EXPECT_EQ(verdict.slice, 1u);
    EXPECT_EQ(verdict.element, 2);
  }
}

TEST_F(OutputValidatorTest, ConstantSliceIsFineWhereNothingIsPromised) {
  values_[0] = values_[1] = 1;
  EXPECT_TRUE(check().valid());
}

TEST_F(OutputValidatorTest, HalfPrecisionIsReadAsHalf) {
  const OutputValidator validator({contract(DType::kFloat16)});
  std::vector<uint16_t> halves;
  for (const float value : values_) halves.push_back(float_to_half(value));
  EXPECT_TRUE(validator.check_output(0, std::as_bytes(std::span(halves))).valid());
  halves[3] = 0x7c00;  // infinity
  EXPECT_EQ(validator.check_output(0, std::as_bytes(std::span(halves))).reason,
            InvalidReason::kOutputNotFinite);
  halves[3] = float_to_half(4);
  halves[0] = 0xbc00;  // -1
  EXPECT_EQ(validator.check_output(0, std::as_bytes(std::span(halves))).reason,
            InvalidReason::kOutputOutOfRange);
}

TEST_F(OutputValidatorTest, IntegersHaveRanges) {
  OutputContract integers;
  integers.name = "labels";
  integers.type = {DType::kInt64, {2}};
  integers.slices = {slice("labels", 0, 2, 0, 9)};
  const OutputValidator validator({integers});
  std::vector<int64_t> values = {0, 9};
  EXPECT_TRUE(validator.check_output(0, std::as_bytes(std::span(values))).valid());
  values[1] = 10;
  EXPECT_EQ(validator.check_output(0, std::as_bytes(std::span(values))).reason,
            InvalidReason::kOutputOutOfRange);
}

TEST_F(OutputValidatorTest, ReplayFlagsAreVerdicts) {
  ReplayReport report;
  EXPECT_TRUE(validator_.check_report(report).valid());
  report.integer_division_by_zero = 2;
  EXPECT_EQ(validator_.check_report(report).reason, InvalidReason::kDivisionByZero);
  report.index_out_of_range = 5;
  const auto verdict = validator_.check_report(report);
  EXPECT_EQ(verdict.reason, InvalidReason::kIndexOutOfRange);
  EXPECT_EQ(validator_.describe(verdict), "indexOutOfRange: 5 times in this frame");
}

}  // namespace
}  // namespace modeld
