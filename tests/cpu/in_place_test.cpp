// Plans before and after results take the places of operands, by hand.
#include "runtime/cpu/in_place.h"

#include <gtest/gtest.h>

namespace modeld::cpu {
namespace {

class InPlace : public testing::Test {
 protected:
  ValueId value(uint64_t bytes, Home home = Home::kArena) {
    Value made;
    made.bytes = bytes;
    made.home = home;
    made.root = static_cast<ValueId>(plan_.values.size());
    plan_.values.push_back(made);
    return made.root;
  }
  ValueId view(ValueId of, uint64_t bytes, uint64_t offset) {
    const ValueId id = value(bytes, plan_.values[of].home);
    plan_.values[id].root = plan_.values[of].root;
    plan_.values[id].offset = plan_.values[of].offset + offset;
    return id;
  }
  // A step that may overwrite any of what it reads.
  void step(std::vector<ValueId> reads, ValueId write, bool element_wise = true) {
    StepRecord record;
    if (element_wise) record.in_place = reads;
    record.reads = std::move(reads);
    record.writes = {write};
    plan_.steps.push_back(std::move(record));
  }
  ValueId root(ValueId id) const { return plan_.values[id].root; }

  Plan plan_;
};

TEST_F(InPlace, AChainLiesInOnePlace) {
  const ValueId input = value(400, Home::kInput);
  const ValueId a = value(400);
  const ValueId b = value(400);
  const ValueId c = value(400);
  step({input}, a);
  step({a}, b);
  step({b}, c);
  share_in_place(plan_);
  EXPECT_EQ(root(a), a);  // not in the caller's bytes
  EXPECT_EQ(root(b), a);
  EXPECT_EQ(root(c), a);
}

TEST_F(InPlace, TheSecondOperandWhereTheFirstLivesOn) {
  const ValueId a = value(400);
  const ValueId b = value(400);
  const ValueId sum = value(400);
  const ValueId later = value(400);
  step({a, b}, sum);
  step({a}, later, false);
  share_in_place(plan_);
  EXPECT_EQ(root(sum), b);
}

TEST_F(InPlace, NotWhileAnythingReadsTheOperandUnderAnyName) {
  const ValueId a = value(400);
  const ValueId part = view(a, 100, 300);
  const ValueId b = value(400);
  const ValueId c = value(100);
  step({a}, b);
  step({part}, c, false);
  share_in_place(plan_);
  EXPECT_EQ(root(b), b);
}

TEST_F(InPlace, NotInConstantsInputsStatesOrOfAnotherSize) {
  for (const Home home : {Home::kConstant, Home::kInput, Home::kStateCurrent}) {
    const ValueId a = value(400, home);
    const ValueId b = value(400);
    step({a}, b);
    share_in_place(plan_);
    EXPECT_EQ(root(b), b);
  }
  const ValueId bytes = value(100);
  const ValueId floats = value(400);
  step({bytes}, floats);
  share_in_place(plan_);
  EXPECT_EQ(root(floats), floats);
}

TEST_F(InPlace, NotResultsThatTheCallerReads) {
  for (const Home home : {Home::kOutput, Home::kStateNext}) {
    const ValueId a = value(400);
    const ValueId b = value(400, home);
    step({a}, b);
    share_in_place(plan_);
    EXPECT_EQ(root(b), b);
  }
}

TEST_F(InPlace, NotWhereTheStepReadsOutOfOrder) {
  const ValueId a = value(400);
  const ValueId b = value(400);
  step({a}, b, false);
  share_in_place(plan_);
  EXPECT_EQ(root(b), b);
}

// x - first row of x: the row would be gone before the others need it.
TEST_F(InPlace, NotOverAnotherOperandsBytes) {
  const ValueId a = value(400);
  const ValueId row = view(a, 100, 0);
  const ValueId b = value(400);
  step({a, row}, b);
  share_in_place(plan_);
  EXPECT_EQ(root(b), b);
}

// The last quarter of a value: the result lies there, and its own views move along.
TEST_F(InPlace, PartsKeepTheirOffsets) {
  const ValueId whole = value(400);
  const ValueId part = view(whole, 100, 300);
  const ValueId result = value(100);
  const ValueId half = view(result, 50, 50);
  step({part}, result);
  step({half}, value(50), false);
  share_in_place(plan_);
  EXPECT_EQ(root(result), whole);
  EXPECT_EQ(plan_.values[result].offset, 300u);
  EXPECT_EQ(root(half), whole);
  EXPECT_EQ(plan_.values[half].offset, 350u);
}

}  // namespace
}  // namespace modeld::cpu
