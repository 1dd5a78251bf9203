// Field fault 22: power and link come up late.
#include "daemon/service/device_retry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace modeld {
namespace {

class FieldFault22 : public testing::Test {
 protected:
  // Attempts that take 10 ms each; `at` says what an attempt at that time answers.
  Status run(const std::function<Status(Nanoseconds)>& at) {
    return retry_device(
        policy_, clock_,
        [&] {
          ++attempts_;
          Status answer = at(clock_.monotonic() - begin_);
          clock_.advance(10 * kMillisecond);
          return answer;
        },
        [&](const Error& why, Nanoseconds duration) -> Status {
          told_.push_back(why.message);
          clock_.advance(duration);
          return pause_ends_;
        });
  }

  RetryPolicy policy_;
  ManualClock clock_;
  const Nanoseconds begin_ = clock_.monotonic();
  int attempts_ = 0;
  std::vector<std::string> told_;
  Status pause_ends_;
};

TEST_F(FieldFault22, DeviceThatAppearsAfterThreeSecondsIsUsed) {
  const Status went = run([](Nanoseconds now) -> Status {
    if (now < 3 * kSecond) return Error(ErrorCode::kDevice, "no such device");
    return {};
  });
  EXPECT_TRUE(went.ok());
  EXPECT_EQ(attempts_, 13);
  EXPECT_EQ(told_, std::vector<std::string>(12, "no such device"));
}

TEST_F(FieldFault22, DeviceThatVanishesBetweenProbeAndOpenIsTriedAgain) {
  const Status went = run([&](Nanoseconds) -> Status {
    if (attempts_ == 1) return Error(ErrorCode::kDeviceLost, "gone between probe and open");
    return {};
  });
  EXPECT_TRUE(went.ok());
  EXPECT_EQ(attempts_, 2);
}

TEST_F(FieldFault22, WaitingIsBounded) {
  const Status went =
      run([](Nanoseconds) -> Status { return Error(ErrorCode::kDevice, "no such device"); });
  ASSERT_FALSE(went.ok());
  EXPECT_EQ(went.error().code, ErrorCode::kDevice);
  EXPECT_LE(clock_.monotonic() - begin_, policy_.patience + 10 * kMillisecond);
  EXPECT_EQ(attempts_, 20);
}

TEST_F(FieldFault22, WhatWaitingCannotMendIsNotTriedAgain) {
  for (const ErrorCode code : {ErrorCode::kRefused, ErrorCode::kInvalidArgument,
                               ErrorCode::kCheckFailed, ErrorCode::kDeadline}) {
    attempts_ = 0;
    const Status went = run([&](Nanoseconds) -> Status { return Error(code, "for good"); });
    EXPECT_EQ(went.error().code, code);
    EXPECT_EQ(attempts_, 1);
  }
}

TEST_F(FieldFault22, StopEndsTheWait) {
  pause_ends_ = Error(ErrorCode::kInterrupted, "asked to stop");
  const Status went =
      run([](Nanoseconds) -> Status { return Error(ErrorCode::kDevice, "no such device"); });
  EXPECT_EQ(went.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(attempts_, 1);
}

}  // namespace
}  // namespace modeld
