// The safetensors reader on files of its format (written by hand from its description) and on every
// way of breaking it.
#include "tools/compile/safetensors.h"
#include "runtime/base/sanitized.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>

#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"

namespace modeld::compile {
namespace {

using test::to_bytes;

constexpr const char* kTwo = R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                             R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[24,26]}} )";

Result<SafetensorsIndex> parse(const std::string& header, uint64_t data_bytes,
                               const SafetensorsLimits& limits = {}) {
  return parse_safetensors_header(std::as_bytes(std::span(header.data(), header.size())),
                                  data_bytes, limits);
}

void expect_refusal(const std::string& header, uint64_t data_bytes, const std::string& word,
                    const SafetensorsLimits& limits = {}) {
  const auto index = parse(header, data_bytes, limits);
  ASSERT_FALSE(index.ok()) << header;
  EXPECT_NE(to_string(index.error()).find(word), std::string::npos) << to_string(index.error());
}

std::string one(const std::string& entry) {
  return R"({"w":)" + entry + "}";
}

TEST(SafetensorsHeader, ReadsTypesShapesAndRanges) {
  const auto index = parse(kTwo, 26);
  ASSERT_TRUE(index.ok()) << to_string(index.error());
  ASSERT_EQ(index->size(), 2u);
  EXPECT_EQ(index->at("a").type, (TensorType{DType::kFloat32, {2, 3}}));
  EXPECT_EQ(index->at("b").type, (TensorType{DType::kBool, {2}}));
  EXPECT_EQ(index->at("b").begin, 24u);
  EXPECT_EQ(index->at("b").end, 26u);
  EXPECT_TRUE(parse("{}", 0).ok());
  EXPECT_TRUE(parse(one(R"({"dtype":"F64","shape":[],"data_offsets":[0,8]})"), 8).ok());
  EXPECT_TRUE(parse(one(R"({"dtype":"F16","shape":[0,5],"data_offsets":[0,0]})"), 0).ok());
}

TEST(SafetensorsHeader, WhatIsGivenTwiceIsRefused) {
  expect_refusal(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2, "'w' is given twice");
  expect_refusal(one(R"({"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]})"), 1,
                 "'dtype' is given twice");
  expect_refusal(R"({"__metadata__":{"a":"b","a":"c"}})", 0, "metadata 'a' is given twice");
  expect_refusal(R"({"__metadata__":{},"__metadata__":{}})", 0, "given twice");
}

TEST(SafetensorsHeader, RangesMustCoverTheDataExactlyOnce) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_TRUE(parse(two("[4,8]", "[0,4]"), 8).ok());
  expect_refusal(two("[0,4]", "[3,7]"), 7, "overlap");
  expect_refusal(two("[0,4]", "[0,4]"), 4, "overlap");
  expect_refusal(two("[0,4]", "[5,9]"), 9, "belong to no tensor");
  expect_refusal(two("[0,4]", "[4,8]"), 9, "behind the last tensor");
  expect_refusal(two("[0,4]", "[4,8]"), 7, "outside the file");
  expect_refusal(two("[0,4]", "[8,4]"), 8, "outside the file");
  expect_refusal(two("[0,4]", "[18446744073709551615,3]"), 8, "outside the file");
}

TEST(SafetensorsHeader, ShapesAndTypesAreChecked) {
  expect_refusal(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), 8, "12 bytes");
  expect_refusal(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})"), 8,
                 "impossible shape");
  expect_refusal(one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"), 8,
                 "impossible extent");
  expect_refusal(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,8]})"), 8, "negative");
  expect_refusal(one(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,8]})"), 8, "no integer");
  expect_refusal(one(R"({"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]})"), 8, "F8_E4M3");
  expect_refusal(one(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]})"), 8,
                 "too many axes");
}

TEST(SafetensorsHeader, AnythingElseIsRefused) {
  for (const char* header : {"",
                             " {}",
                             "[]",
                             "{",
                             "{\"w\":",
                             "{}x",
                             "nul",
                             R"({"w":null})",
                             R"({"w":[1]})",
                             R"({"w":{}})",
                             R"({"w":{"dtype":"U8","shape":[1]}})",
                             R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0]}})",
                             R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})",
                             R"({"w":{"dtype":3,"shape":[1],"data_offsets":[0,1]}})",
                             R"({"w":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})",
                             R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})",
                             R"({"w":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}})",
                             R"({"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                             R"({"__metadata__":{"a":1}})",
                             R"({"__metadata__":{"a":{}}})",
                             R"({"__metadata__":"a"})"}) {
    EXPECT_FALSE(parse(header, 1).ok()) << header;
  }
}

TEST(SafetensorsHeader, DeepNestingAndManyTensorsAreRefusedQuickly) {
  const auto before = std::clock();
  expect_refusal(one(std::string(1 << 20, '[')), 1, "unexpected list");
  std::string many = "{";
  for (int i = 0; i < 100'001; ++i) {
    many += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  expect_refusal(many + "}", 0, "too many tensors");
  EXPECT_LT(std::clock() - before, (kSanitized ? 20 : 1) * CLOCKS_PER_SEC);
}

TEST(SafetensorsHeader, EveryTruncationAndEveryChangedByteIsReadOrRefused) {
  const std::string whole = kTwo;
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_FALSE(parse(whole.substr(0, length), 26).ok()) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '"', '9', '{', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      const auto index = parse(changed, 26);
      if (!index.ok()) continue;
      uint64_t total = 0;
      for (const auto& [name, entry] : *index) total += entry.end - entry.begin;
      EXPECT_EQ(total, 26u);
    }
  }
}

class SafetensorsFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& header, const std::vector<std::byte>& data,
                              std::optional<uint64_t> length = std::nullopt) {
    const uint64_t bytes = length.value_or(header.size());
    std::string prefix(sizeof bytes, '\0');
    std::memcpy(prefix.data(), &bytes, sizeof bytes);
    std::ofstream(path_, std::ios::binary)
        << prefix << header << std::string(reinterpret_cast<const char*>(data.data()), data.size());
    return path_;
  }
  void expect_refused(const std::string& word) {
    const auto file = Safetensors::open(path_);
    ASSERT_FALSE(file.ok());
    EXPECT_NE(to_string(file.error()).find(word), std::string::npos) << to_string(file.error());
  }

  test::TempDir folder_;
  std::filesystem::path path_ = folder_ / "w.safetensors";
};

TEST_F(SafetensorsFile, ReadsContents) {
  std::vector<std::byte> data = to_bytes(DType::kFloat32, std::vector<double>{1, 2, 3, 4, 5, 6});
  data.push_back(std::byte{0});
  data.push_back(std::byte{7});  // a bool is 0 or 1, whatever the file says
  const auto file = Safetensors::open(write(kTwo, data));
  ASSERT_TRUE(file.ok()) << to_string(file.error());
  const auto a = file->read(file->index().at("a"));
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(test::to_doubles(DType::kFloat32, a->bytes), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file->read(file->index().at("b"))->bytes,
            (std::vector<std::byte>{std::byte{0}, std::byte{1}}));
  EXPECT_EQ(file->sha256()->size(), 64u);
}

TEST_F(SafetensorsFile, LengthsOfTheHeaderAreChecked) {
  std::ofstream(path_) << "short";
  expect_refused("too short");
  write("{}", {}, 3);
  expect_refused("ends beyond the file");
  write("{}", {}, ~uint64_t{0});
  expect_refused("too long");
  write("{}", {}, 0);
  expect_refused("does not begin");
  write("{}", {std::byte{1}});
  expect_refused("behind the last tensor");
}

TEST_F(SafetensorsFile, OnlyRegularFiles) {
  std::filesystem::create_directory(path_);
  expect_refused("not a regular file");
  std::filesystem::remove(path_);
  expect_refused("cannot open");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_refused("not a regular file");  // and does not wait for a writer
}

TEST_F(SafetensorsFile, ChangedAfterTheCheckIsRefused) {
  const std::string header = one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})");
  const std::vector<std::byte> data(4);
  const auto changed = [&](const std::function<void()>& change) {
    write(header, data);
    const auto file = Safetensors::open(path_);
    ASSERT_TRUE(file.ok());
    change();
    EXPECT_FALSE(file->read(file->index().at("w")).ok());
    EXPECT_FALSE(file->sha256().ok());
  };
  changed([&] { std::filesystem::resize_file(path_, 20); });
  changed([&] {
    std::filesystem::last_write_time(
        path_, std::filesystem::last_write_time(path_) + std::chrono::seconds(1));
  });
  // Another file under the name is another file: the one opened is still there.
  write(header, data);
  const auto file = Safetensors::open(path_);
  std::filesystem::remove(path_);
  EXPECT_TRUE(file->read(file->index().at("w")).ok());
}

}  // namespace
}  // namespace modeld::compile
