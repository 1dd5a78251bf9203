#include "runtime/npy/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/base/file.h"
#include "tests/support/npz.h"
#include "tests/support/test_data.h"

namespace modeld {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// A file as NumPy would lay it out, header text as given.
std::vector<std::byte> file_with(std::string_view header, std::string_view data, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file.push_back(static_cast<char>(version));
  file.push_back('\0');
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xff));
  }
  file.append(header).append(data);
  return bytes_of(file);
}

ErrorCode code_of(std::string_view header, std::string_view data, int version = 1) {
  const auto parsed = parse_npy(file_with(header, data, version));
  return parsed.ok() ? ErrorCode::kInternal : parsed.error().code;
}

constexpr std::string_view kTwoFloats =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";

TEST(Npy, ReadsEveryVersion) {
  for (int version = 1; version <= 3; ++version) {
    const auto parsed = parse_npy(file_with(kTwoFloats, std::string(8, '\1'), version));
    ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
    EXPECT_EQ(parsed->type, NpyType::kF4);
    EXPECT_EQ(parsed->shape, std::vector<uint64_t>{2});
    EXPECT_EQ(parsed->bytes, bytes_of(std::string(8, '\1')));
  }
  EXPECT_EQ(code_of(kTwoFloats, std::string(8, '\1'), 4), ErrorCode::kUnsupported);
}

TEST(Npy, ReadsOtherSpellingsOfTheHeader) {
  const auto scalar =
      parse_npy(file_with("{\"shape\":(),\"fortran_order\":False,\"descr\":\"<u1\"}", "x"));
  ASSERT_TRUE(scalar.ok()) << to_string(scalar.error());
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->type, NpyType::kU1);
  const auto matrix = parse_npy(file_with(
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3,)}  \n", std::string(12, '\0')));
  ASSERT_TRUE(matrix.ok()) << to_string(matrix.error());
  EXPECT_EQ(matrix->shape, (std::vector<uint64_t>{2, 3}));
}

TEST(Npy, RefusesWhatItCannotHold) {
  const std::string data(8, '\0');
  EXPECT_EQ(code_of("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", data),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", data),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", data),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", data),
            ErrorCode::kUnsupported);
}

TEST(Npy, RefusesHostileHeaders) {
  const std::string data(8, '\0');
  const std::string_view bad[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 'y'}",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} 1",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '|b1', 'fortran_order': False, 'shape': (7,)}",
  };
  for (const auto header : bad) EXPECT_EQ(code_of(header, data), ErrorCode::kCorrupt) << header;

  std::string deep = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 33; ++i) deep += "1, ";
  EXPECT_EQ(code_of(deep + ")}", std::string(4, '\0')), ErrorCode::kCorrupt);
}

TEST(Npy, RefusesBooleansThatAreNeither) {
  const std::string_view header = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_TRUE(parse_npy(file_with(header, std::string_view("\1\0", 2))).ok());
  EXPECT_EQ(code_of(header, "\1\2"), ErrorCode::kCorrupt);
}

TEST(Npy, RefusesEveryTruncation) {
  const auto whole = file_with(kTwoFloats, std::string(8, '\0'));
  ASSERT_TRUE(parse_npy(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = parse_npy(std::span(whole).first(size));
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorrupt) << size;
  }
}

TEST(Npy, RefusesAHeaderLengthBeyondTheFile) {
  auto file = file_with(kTwoFloats, std::string(8, '\0'), 2);
  for (int i = 8; i < 12; ++i) file[static_cast<size_t>(i)] = std::byte{0xff};
  const auto parsed = parse_npy(file);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().found, "4294967295 bytes");
}

TEST(Npy, RefusesAboveTheLimit) {
  const auto file = file_with(kTwoFloats, std::string(8, '\0'));
  EXPECT_TRUE(parse_npy(file, 8).ok());
  const auto parsed = parse_npy(file, 7);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kRefused);
  EXPECT_EQ(parsed.error().expected, "at most 7 bytes");
  EXPECT_EQ(parsed.error().found, "8 bytes");
}

TEST(Npy, WritesWhatItReads) {
  const NpyType types[] = {NpyType::kF2, NpyType::kF4, NpyType::kF8, NpyType::kI1,
                           NpyType::kU1, NpyType::kI2, NpyType::kU2, NpyType::kI4,
                           NpyType::kU4, NpyType::kI8, NpyType::kU8, NpyType::kB1};
  const std::vector<uint64_t> shapes[] = {{}, {6}, {2, 3}, {1, 0, 4}};
  for (const NpyType type : types) {
    for (const auto& shape : shapes) {
      NpyArray array{type, shape, {}};
      array.bytes.assign(*npy_element_count(shape) * npy_type_size(type), std::byte{1});
      const auto file = format_npy(array);
      ASSERT_TRUE(file.ok());
      // NumPy's writer aligns the data to 64 bytes.
      EXPECT_EQ((file->size() - array.bytes.size()) % 64, 0u);
      const auto back = parse_npy(*file);
      ASSERT_TRUE(back.ok()) << to_string(back.error());
      EXPECT_EQ(back->type, type);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->bytes, array.bytes);
    }
  }
}

TEST(Npy, WritesTheBytesOfTheFormat) {
  NpyArray array{NpyType::kU1, {3}, bytes_of("abc")};
  const auto file = format_npy(array);
  ASSERT_TRUE(file.ok());
  std::string want("\x93NUMPY\x01\x00\x76\x00", 10);
  want += "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  want.resize(127, ' ');
  want += "\nabc";
  EXPECT_EQ(*file, bytes_of(want));
}

TEST(Npy, RefusesToWriteAMismatch) {
  EXPECT_FALSE(format_npy({NpyType::kF4, {2}, std::vector<std::byte>(7)}).ok());
  EXPECT_FALSE(format_npy({NpyType::kF4, {~uint64_t{0}, 3}, {}}).ok());
}

TEST(Npy, FilesAndTheirErrors) {
  const auto path = std::filesystem::path(testing::TempDir()) / "npy_test.npy";
  ASSERT_TRUE(write_npy(path, {NpyType::kU1, {3}, bytes_of("abc")}).ok());
  const auto back = read_npy(path);
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  EXPECT_EQ(back->bytes, bytes_of("abc"));

  const auto text = bytes_of("no array");
  ASSERT_TRUE(write_file_atomically(path, text).ok());
  const auto bad = read_npy(path);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().context.find("npy_test.npy"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_FALSE(read_npy(path).ok());
}

TEST(Npz, ReadsAnArchiveNumPyWrote) {
  MODELD_NEED_SHARED("data/vectors/action/smooth_value.npz");
  const test::Npz archive(test::shared_path("data/vectors/warp/warp_matrix.npz"));
  EXPECT_EQ(archive.array("matrix_f32").shape, (std::vector<uint64_t>{36, 8, 2, 3, 3}));
  EXPECT_EQ(archive.row<float>("rpy", 35).size(), 3u);
  // rpy = 0 is the first calibration: facts 6.4, ar narrow -> medmodel.
  EXPECT_EQ(archive.values<float>("matrix_f32")[0], 2.90989017f);
  EXPECT_THROW(archive.values<double>("matrix_f32"), std::runtime_error);
  EXPECT_THROW(archive.array("absent"), std::runtime_error);
}

}  // namespace
}  // namespace modeld
