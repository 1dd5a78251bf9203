// The numbers people and scripts rely on (architecture, section 12).
#include "runtime/base/exit_codes.h"

#include <gtest/gtest.h>

namespace modeld {
namespace {

TEST(ExitCodes, AreTheDocumentedOnes) {
  EXPECT_EQ(exit_code(ErrorCode::kCheckFailed), 1);
  EXPECT_EQ(exit_code(ErrorCode::kInternal), 1);
  EXPECT_EQ(exit_code(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(ErrorCode::kNotFound), 2);
  EXPECT_EQ(exit_code(ErrorCode::kIo), 2);
  EXPECT_EQ(exit_code(ErrorCode::kPermission), 2);
  EXPECT_EQ(exit_code(ErrorCode::kRefused), 3);
  EXPECT_EQ(exit_code(ErrorCode::kCorrupt), 3);
  EXPECT_EQ(exit_code(ErrorCode::kUnsupported), 3);
  EXPECT_EQ(exit_code(ErrorCode::kDevice), 4);
  EXPECT_EQ(exit_code(ErrorCode::kDeviceLost), 4);
  EXPECT_EQ(exit_code(ErrorCode::kExhausted), 4);
  EXPECT_EQ(exit_code(ErrorCode::kDeadline), 5);
  EXPECT_EQ(exit_code(ErrorCode::kInterrupted), 130);
}

}  // namespace
}  // namespace modeld
