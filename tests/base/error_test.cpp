#include "runtime/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "runtime/base/result.h"

namespace modeld {
namespace {

Result<int> parse_positive(int value) {
  if (value <= 0) {
    return Error(ErrorCode::kInvalidArgument, "not positive")
        .expecting("a positive number", std::to_string(value));
  }
  return value;
}

Result<int> doubled(int value) {
  MODELD_ASSIGN(const int parsed, parse_positive(value));
  return parsed * 2;
}

Status checked(int value) {
  MODELD_TRY(parse_positive(value));
  return {};
}

TEST(Result, CarriesAValue) {
  auto result = doubled(21);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 42);
  EXPECT_TRUE(checked(1).ok());
}

TEST(Result, CarriesAnErrorThroughBothMacros) {
  EXPECT_EQ(doubled(-3).error().found, "-3");
  EXPECT_EQ(checked(0).error().code, ErrorCode::kInvalidArgument);
}

TEST(Error, SaysExpectedFoundAndWhere) {
  const Error error = Error(ErrorCode::kRefused, "wrong role")
                          .expecting("driving", "monitoring")
                          .in("manifest")
                          .in("a.model");
  EXPECT_EQ(to_string(error),
            "a.model: manifest: wrong role (expected driving, found monitoring) [refused]");
}

TEST(Error, ErrnoKindsAreToldApart) {
  EXPECT_EQ(errno_error("x", ENOENT).code, ErrorCode::kNotFound);
  EXPECT_EQ(errno_error("x", EACCES).code, ErrorCode::kPermission);
  EXPECT_EQ(errno_error("x", EIO).code, ErrorCode::kIo);
}

}  // namespace
}  // namespace modeld
