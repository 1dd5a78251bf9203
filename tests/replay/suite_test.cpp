// Suites: shards, results, merging.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "runtime/base/file.h"
#include "tests/support/temp_dir.h"
#include "tools/replay/junit.h"
#include "tools/replay/suite.h"
#include "tools/replay/suite_results.h"

namespace modeld::test {
namespace {

using replay::CaseResult;
using replay::CaseVerdict;
using replay::SuiteResults;
using testing::HasSubstr;

TEST(Suite, CasesAreTheFoldersByName) {
  const TempDir folder;
  for (const char* name : {"b", "a", "c", ".hidden"}) {
    std::filesystem::create_directory(folder / name);
  }
  std::ofstream(folder / "b/expected.bz2") << "x";
  std::ofstream(folder / "c/expected.zst") << "x";
  std::ofstream(folder / "notes.txt") << "x";
  const auto cases = replay::find_suite(folder.path());
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 3u);
  EXPECT_EQ((*cases)[0].name, "a");
  EXPECT_TRUE((*cases)[0].expected.empty());
  EXPECT_EQ((*cases)[1].expected, folder / "b/expected.bz2");
  EXPECT_EQ((*cases)[2].expected, folder / "c/expected.zst");
  EXPECT_FALSE(replay::find_suite(folder / "a").ok());
}

TEST(Suite, EveryCaseIsInExactlyOneShard) {
  for (const uint32_t count : {1u, 2u, 3u, 7u, 50u}) {
    for (size_t index = 0; index < 100; ++index) {
      int holders = 0;
      for (uint32_t number = 1; number <= count; ++number) {
        holders += replay::Shard{number, count}.holds(index) ? 1 : 0;
      }
      EXPECT_EQ(holders, 1);
    }
  }
}

TEST(Suite, ShardsAreWrittenAsAFraction) {
  const auto shard = replay::parse_shard("2/4");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->number, 2u);
  EXPECT_EQ(shard->count, 4u);
  for (const char* text : {"", "2", "0/4", "5/4", "1/0", "1/4x", "-1/4", "a/b"}) {
    EXPECT_FALSE(replay::parse_shard(text).ok()) << text;
  }
}

class Results : public testing::Test {
 protected:
  Results() {
    for (uint32_t number = 1; number <= 2; ++number) {
      SuiteResults shard;
      shard.identity = "cpu 1234";
      shard.suite = {"a", "b", "c"};
      shard.shard = {number, 2};
      shards_.push_back(shard);
    }
    shards_[0].cases = {one("a", CaseVerdict::kPassed), one("c", CaseVerdict::kFailed)};
    shards_[1].cases = {one("b", CaseVerdict::kError)};
  }
  static CaseResult one(const std::string& name, CaseVerdict verdict) {
    CaseResult result;
    result.name = name;
    result.verdict = verdict;
    result.text = verdict == CaseVerdict::kPassed ? "" : "x < 1 & \"y\"";
    result.seconds = 1.5;
    result.frames = 10;
    return result;
  }
  void expect_refused(const std::string& words) {
    const auto merged = replay::merge_results(shards_);
    ASSERT_FALSE(merged.ok());
    EXPECT_EQ(merged.error().code, ErrorCode::kCheckFailed);
    EXPECT_THAT(to_string(merged.error()), HasSubstr(words));
  }
  std::vector<SuiteResults> shards_;
};

TEST_F(Results, ShardsMakeOneRunInTheOrderOfTheSuite) {
  std::swap(shards_[0], shards_[1]);
  const auto merged = replay::merge_results(shards_);
  ASSERT_TRUE(merged.ok()) << to_string(merged.error());
  ASSERT_EQ(merged->cases.size(), 3u);
  EXPECT_EQ(merged->cases[0].name, "a");
  EXPECT_EQ(merged->cases[2].name, "c");
  EXPECT_EQ(merged->count(CaseVerdict::kPassed), 1u);
}

TEST_F(Results, NothingIsLostOrDoubled) {
  auto good = shards_;
  shards_.pop_back();
  expect_refused("shard 2/2 is missing");
  shards_ = good;
  shards_.push_back(good[0]);
  expect_refused("shard 1/2 is there twice");
  shards_ = good;
  shards_[1].cases.push_back(one("a", CaseVerdict::kPassed));
  expect_refused("case a is there twice");
  shards_ = good;
  shards_[1].cases.clear();
  expect_refused("case b is missing");
  shards_ = good;
  shards_[1].cases.push_back(one("d", CaseVerdict::kPassed));
  expect_refused("cases the suite has not");
  shards_ = good;
  shards_[1].identity = "cpu 5678";
  expect_refused("models or backends differ");
  shards_ = good;
  shards_[1].suite.push_back("e");
  expect_refused("the suites differ");
  shards_.clear();
  expect_refused("there are none");
}

TEST_F(Results, FilesComeBackAsTheyWere) {
  const TempDir folder;
  ASSERT_TRUE(replay::save_results(folder / "r.json", shards_[0]).ok());
  const auto loaded = replay::load_results(folder / "r.json");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.error());
  EXPECT_EQ(loaded->identity, "cpu 1234");
  EXPECT_EQ(loaded->suite, shards_[0].suite);
  EXPECT_EQ(loaded->shard.count, 2u);
  ASSERT_EQ(loaded->cases.size(), 2u);
  EXPECT_EQ(loaded->cases[1].verdict, CaseVerdict::kFailed);
  EXPECT_EQ(loaded->cases[1].text, shards_[0].cases[1].text);
  EXPECT_EQ(loaded->cases[1].frames, 10u);
  for (const char* bad : {"", "{}", "[1]", "{\"format\": \"modeld replay results 1\"}",
                          "{\"format\": \"modeld replay results 1\", \"identity\": 3}"}) {
    std::ofstream(folder / "bad.json") << bad;
    const auto refused = replay::load_results(folder / "bad.json");
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  }
}

TEST_F(Results, JunitCountsAndEscapes) {
  const std::string xml = replay::junit_xml(*replay::merge_results(shards_));
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\" time=\"4.500\""));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"replay\" name=\"a\" time=\"1.500\"/>"));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"x &lt; 1 &amp; &quot;y&quot;\"/>"));
  EXPECT_THAT(xml, HasSubstr("<error message="));
}

}  // namespace
}  // namespace modeld::test
