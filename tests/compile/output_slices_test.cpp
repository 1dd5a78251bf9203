// output_slices: the tables of real networks as every pickle protocol writes them, and what must
// be turned away. Expected values: data/vectors/parse/output_slices_pickles.json and Python's own
// pickles of small values (bytes written out below).
#include "tools/compile/output_slices.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/test_data.h"
#include "tools/compile/base64.h"

namespace modeld::compile {
namespace {

using Json = nlohmann::json;

Result<std::vector<NamedSlice>> read(const std::string& pickle) {
  return read_slice_pickle(std::as_bytes(std::span(pickle)));
}

// A literal that may hold zero bytes.
template <size_t N>
std::string raw(const char (&text)[N]) {
  return {text, N - 1};
}

// Protocol 2: {'a': slice(1, 3, None)}
const std::string kSmall =
    raw("\x80\x02}q\x00X\x01\x00\x00\x00"
        "aq\x01"
        "c__builtin__\nslice\nq\x02K\x01K\x03N\x87q\x03Rq\x04s.");

std::optional<int64_t> bound(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<int64_t>();
}

void expect_case(const Json& item) {
  SCOPED_TRACE(item["name"].get<std::string>() + " protocol " +
               std::to_string(item["pickle_protocol"].get<int>()));
  const auto slices = decode_output_slices(item["base64"].get<std::string>());
  ASSERT_TRUE(slices.ok()) << to_string(slices.error());
  ASSERT_EQ(slices->size(), item["slices"].size());
  for (const NamedSlice& slice : *slices) {
    SCOPED_TRACE(slice.name);
    const Json& want = item["slices"].at(slice.name);
    EXPECT_EQ(slice.start, bound(want[0]));
    EXPECT_EQ(slice.stop, bound(want[1]));
    EXPECT_EQ(slice.step, want.size() > 2 ? bound(want[2]) : std::nullopt);
    const auto resolved = resolve_slice(slice, item["total"].get<int64_t>());
    ASSERT_TRUE(resolved.ok());
    if (item.contains("resolved_start_stop_step")) {
      const Json& bounds = item["resolved_start_stop_step"].at(slice.name);
      EXPECT_EQ(resolved->start, bounds[0].get<int64_t>());
      EXPECT_EQ(resolved->stop, bounds[1].get<int64_t>());
      EXPECT_EQ(resolved->step, bounds[2].get<int64_t>());
    } else {
      const Json& bounds = item["resolved"].at(slice.name);
      EXPECT_EQ(resolved->start, bounds[0].get<int64_t>());
      EXPECT_EQ(resolved->stop, bounds[1].get<int64_t>());
    }
  }
}

TEST(OutputSlices, EveryRecordedTableInEveryProtocol) {
  MODELD_NEED_SHARED("data/vectors/parse/output_slices_pickles.json");
  std::ifstream file(test::shared_path("data/vectors/parse/output_slices_pickles.json"));
  const Json cases = Json::parse(file);
  ASSERT_EQ(cases.size(), 26u);
  for (const Json& item : cases) expect_case(item);
}

TEST(OutputSlices, SmallPickle) {
  const auto slices = read(kSmall);
  ASSERT_TRUE(slices.ok()) << to_string(slices.error());
  EXPECT_EQ(*slices, (std::vector<NamedSlice>{{"a", 1, 3, std::nullopt}}));
}

TEST(OutputSlices, EveryTruncationIsRefused) {
  for (size_t length = 0; length < kSmall.size(); ++length) {
    EXPECT_FALSE(read(kSmall.substr(0, length)).ok()) << length;
  }
}

TEST(OutputSlices, NoByteFlipCrashes) {
  for (size_t at = 0; at < kSmall.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = kSmall;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const auto slices = read(changed);
      if (slices.ok()) {
        EXPECT_LE(slices->size(), 1u);
      }
    }
  }
}

void expect_refusal(const std::string& pickle, const std::string& word) {
  const auto slices = read(pickle);
  ASSERT_FALSE(slices.ok()) << word;
  EXPECT_NE(to_string(slices.error()).find(word), std::string::npos) << to_string(slices.error());
}

TEST(OutputSlices, OtherGlobalsAreNamedAndNotCalled) {
  expect_refusal("cos\nsystem\n(S'true'\ntR.", "os.system");
  expect_refusal("cbuiltins\neval\n.", "builtins.eval");
  expect_refusal(raw("\x80\x04\x8c\x05posix\x8c\x06system\x93."), "posix.system");
}

TEST(OutputSlices, OtherOpcodesAreNamed) {
  expect_refusal("ios\nsystem\n.", "0x69 ('i')");    // INST
  expect_refusal("(o.", "0x6f ('o')");               // OBJ
  expect_refusal(raw("\x80\x02\x81."), "0x81");      // NEWOBJ
  expect_refusal("]", "0x5d (']')");                 // EMPTY_LIST
  expect_refusal("P1\n.", "0x50 ('P')");             // PERSID
  expect_refusal(raw("\x80\x02\x82\x01."), "0x82");  // EXT1
  expect_refusal(raw("\x80\x06."), "protocol 6");
}

TEST(OutputSlices, OtherValuesAreRefused) {
  expect_refusal("I1\n.", "something else than a dictionary");
  expect_refusal("}I1\nNs.", "not a named slice");
  expect_refusal("}Va\nI1\ns.", "not a named slice");
  expect_refusal("}}.", "more than one dict");
  expect_refusal("}Va\nc__builtin__\nslice\n(I1\nI2\ntRsVa\nc__builtin__\nslice\n(I1\nI2\ntRs.",
                 "'a' twice");
  expect_refusal("c__builtin__\nslice\n(Va\ntR.", "something else than integers");
  expect_refusal("c__builtin__\nslice\n(I1\nI1\nI1\nI1\ntR.", "more than three");
  expect_refusal("c__builtin__\nslice\n(tR.", "does not make a slice");
}

TEST(OutputSlices, HugeIntegersAndTexts) {
  expect_refusal("I99999999999999999999\n.", "more than 64 bits");
  expect_refusal(raw("\x80\x02\x8a\x09") + std::string(9, '\x01') + ".", "64 bits");
  expect_refusal(raw("\x80\x02\x8b\xff\xff\xff\x7f"), "64 bits");
  expect_refusal("V" + std::string(300, 'x') + "\n.", "too long");
  expect_refusal(raw("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "cut off");
}

TEST(OutputSlices, Bombs) {
  expect_refusal(std::string(100'000, '('), "too deep");
  std::string memo = "Va\n";
  for (int i = 0; i < 20'000; ++i) memo += "p" + std::to_string(i) + "\n";
  expect_refusal(memo, "remembers too much");
  std::string loads = "V" + std::string(200, 'x') + "\np0\n";
  for (int i = 0; i < 100'000; ++i) loads += "g0\n";
  expect_refusal(loads, "too deep");
}

TEST(OutputSlices, NegativeAndOpenBoundsLikePython) {
  const auto bounds = [](NamedSlice slice, int64_t total) {
    return resolve_slice(slice, total).value();
  };
  // As [start, stop, step] of slice.indices() in Python 3.
  EXPECT_EQ(bounds({"a", -3, std::nullopt, std::nullopt}, 10), (SliceBounds{7, 10, 1}));
  EXPECT_EQ(bounds({"a", std::nullopt, -3, std::nullopt}, 10), (SliceBounds{0, 7, 1}));
  EXPECT_EQ(bounds({"a", -30, 30, std::nullopt}, 10), (SliceBounds{0, 10, 1}));
  EXPECT_EQ(bounds({"a", std::nullopt, std::nullopt, -1}, 10), (SliceBounds{9, -1, -1}));
  EXPECT_FALSE(resolve_slice({"a", 0, 1, 0}, 10).ok());
}

TEST(Base64, RoundTripsAndRefusals) {
  const auto text = [](std::string_view base64) {
    const auto bytes = decode_base64(base64);
    if (!bytes.ok()) return std::string("refused");
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  };
  // RFC 4648 section 10.
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("Zg=="), "f");
  EXPECT_EQ(text("Zm8="), "fo");
  EXPECT_EQ(text("Zm9v"), "foo");
  EXPECT_EQ(text("Zm9v\nYmE=\n"), "fooba");
  EXPECT_EQ(text("Zm9vY"), "refused");
  EXPECT_EQ(text("Zg="), "refused");
  EXPECT_EQ(text("Z*=="), "refused");
  EXPECT_EQ(text("Zg==Zg=="), "refused");
}

}  // namespace
}  // namespace modeld::compile
