#include "runtime/npy/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/checked.h"
#include "runtime/base/file.h"

namespace modeld {
namespace {

static_assert(std::endian::native == std::endian::little, "array bytes are used as they are");

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxRank = 32;
constexpr uint64_t kMaxHeader = 64 * 1024;  // a real header has about a hundred bytes
constexpr uint64_t kDataAlignment = 64;

struct TypeRow {
  NpyType type;
  std::string_view name;
  size_t size;
};

constexpr std::array<TypeRow, 12> kTypes{{{NpyType::kF2, "<f2", 2},
                                          {NpyType::kF4, "<f4", 4},
                                          {NpyType::kF8, "<f8", 8},
                                          {NpyType::kI1, "|i1", 1},
                                          {NpyType::kU1, "|u1", 1},
                                          {NpyType::kI2, "<i2", 2},
                                          {NpyType::kU2, "<u2", 2},
                                          {NpyType::kI4, "<i4", 4},
                                          {NpyType::kU4, "<u4", 4},
                                          {NpyType::kI8, "<i8", 8},
                                          {NpyType::kU8, "<u8", 8},
                                          {NpyType::kB1, "|b1", 1}}};

Error corrupt(std::string what) {
  return Error(ErrorCode::kCorrupt, "npy: " + std::move(what));
}

Result<NpyType> type_from_name(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    // Byte order means nothing for one byte: "<u1" is written by some tools.
    const bool one_byte = row.size == 1 && name.size() == 3 && name.substr(1) == row.name.substr(1);
    if (name == row.name || (one_byte && (name[0] == '<' || name[0] == '|'))) return row.type;
  }
  return Error(ErrorCode::kUnsupported, "npy: element type")
      .expecting("little-endian f2 f4 f8 i1 u1 i2 u2 i4 u4 i8 u8 b1",
                 std::string(name.substr(0, 32)));
}

// What the header's dictionary says.
struct Header {
  NpyType type = NpyType::kF4;
  bool fortran = false;
  std::vector<uint64_t> shape;
};

// Reads the one dictionary literal of a header: string keys; string, boolean and tuple values.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Result<Header> parse() {
    if (!take('{')) return corrupt("header is not a dictionary");
    while (!take('}')) {
      MODELD_TRY(parse_entry());
      if (take(',')) continue;
      if (!take('}')) return corrupt("header: expected ',' or '}'");
      break;
    }
    skip_space();
    if (!rest_.empty()) return corrupt("header: text after the dictionary");
    if (!has_type_ || !has_order_ || !has_shape_) {
      return corrupt("header lacks descr, fortran_order or shape");
    }
    return std::move(header_);
  }

 private:
  void skip_space() {
    const size_t first = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }

  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  Result<std::string_view> parse_string() {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      return corrupt("header: expected a string");
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return corrupt("header: string without end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  Status parse_entry() {
    MODELD_ASSIGN(const std::string_view key, parse_string());
    if (!take(':')) return corrupt("header: expected ':' after a key");
    if (key == "descr" && !std::exchange(has_type_, true)) return parse_type();
    if (key == "fortran_order" && !std::exchange(has_order_, true)) return parse_order();
    if (key == "shape" && !std::exchange(has_shape_, true)) return parse_shape();
    return corrupt("header: unknown or repeated key '" + std::string(key.substr(0, 32)) + "'");
  }

  Status parse_type() {
    skip_space();
    if (rest_.starts_with('[')) {
      return Error(ErrorCode::kUnsupported, "npy: element type")
          .expecting("one number per element", "a structured type");
    }
    MODELD_ASSIGN(const std::string_view name, parse_string());
    MODELD_ASSIGN(header_.type, type_from_name(name));
    return {};
  }

  Status parse_order() {
    if (take_word("True")) {
      header_.fortran = true;
      return {};
    }
    return take_word("False") ? Status() : corrupt("header: fortran_order is not True or False");
  }

  Status parse_shape() {
    if (!take('(')) return corrupt("header: shape is not a tuple");
    while (!take(')')) {
      if (header_.shape.size() == kMaxRank) return corrupt("header: more than 32 dimensions");
      MODELD_ASSIGN(const uint64_t extent, parse_extent());
      header_.shape.push_back(extent);
      if (take(',')) continue;
      // "(3)" is a number in Python, not a tuple.
      if (header_.shape.size() == 1 || !take(')')) return corrupt("header: shape is not a tuple");
      break;
    }
    return {};
  }

  Result<uint64_t> parse_extent() {
    skip_space();
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') {
      return corrupt("header: shape entry is not a number");
    }
    uint64_t value = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      const auto tens = checked_mul<uint64_t>(value, 10);
      const auto next =
          tens ? checked_add<uint64_t>(*tens, static_cast<uint64_t>(rest_[0] - '0')) : std::nullopt;
      if (!next) return corrupt("header: shape entry overflows");
      value = *next;
      rest_.remove_prefix(1);
    }
    return value;
  }

  std::string_view rest_;
  Header header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

Result<Parts> split(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < 8) return corrupt("no NumPy magic");
  const auto major = static_cast<uint8_t>(file[6]);
  if (major < 1 || major > 3) {
    return Error(ErrorCode::kUnsupported, "npy: format version")
        .expecting("1, 2 or 3", std::to_string(major));
  }
  const size_t length_size = major == 1 ? 2 : 4;
  if (file.size() < 8 + length_size) return corrupt("file ends in the header length");
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, length_size);
  const size_t start = 8 + length_size;
  if (length > kMaxHeader || !range_fits(start, length, file.size())) {
    return Error(ErrorCode::kCorrupt, "npy: header length")
        .expecting("at most " +
                       std::to_string(std::min<uint64_t>(kMaxHeader, file.size() - start)) +
                       " bytes",
                   std::to_string(length) + " bytes");
  }
  return Parts{text.substr(start, length), file.subspan(start + length)};
}

std::optional<uint64_t> byte_count(NpyType type, std::span<const uint64_t> shape) {
  const auto elements = npy_element_count(shape);
  return elements ? checked_mul<uint64_t>(*elements, npy_type_size(type)) : std::nullopt;
}

bool booleans_valid(std::span<const std::byte> data) {
  return std::all_of(data.begin(), data.end(), [](std::byte b) { return b <= std::byte{1}; });
}

std::string header_text(const NpyArray& array) {
  std::string text =
      "{'descr': '" + std::string(to_string(array.type)) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < array.shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(array.shape[i]);
  }
  text += array.shape.size() == 1 ? ",), }" : "), }";
  return text;
}

}  // namespace

size_t npy_type_size(NpyType type) {
  return kTypes[static_cast<size_t>(type)].size;
}

std::string_view to_string(NpyType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

std::optional<uint64_t> npy_element_count(std::span<const uint64_t> shape) {
  uint64_t count = 1;
  for (const uint64_t extent : shape) {
    const auto product = checked_mul(count, extent);
    if (!product) return std::nullopt;
    count = *product;
  }
  return count;
}

Result<NpyArray> parse_npy(std::span<const std::byte> file, uint64_t max_bytes) {
  MODELD_ASSIGN(const Parts parts, split(file));
  MODELD_ASSIGN(Header header, HeaderParser(parts.header).parse());
  if (header.fortran) {
    return Error(ErrorCode::kUnsupported, "npy: element order").expecting("C", "Fortran");
  }
  const auto wanted = byte_count(header.type, header.shape);
  if (!wanted) return corrupt("shape overflows");
  if (*wanted > max_bytes) {
    return Error(ErrorCode::kRefused, "npy: array size")
        .expecting("at most " + std::to_string(max_bytes) + " bytes",
                   std::to_string(*wanted) + " bytes");
  }
  if (*wanted != parts.data.size()) {
    return Error(ErrorCode::kCorrupt, "npy: data size")
        .expecting(std::to_string(*wanted) + " bytes",
                   std::to_string(parts.data.size()) + " bytes");
  }
  if (header.type == NpyType::kB1 && !booleans_valid(parts.data)) {
    return corrupt("a boolean is neither 0 nor 1");
  }
  return NpyArray{header.type, std::move(header.shape), {parts.data.begin(), parts.data.end()}};
}

Result<NpyArray> read_npy(const std::filesystem::path& path, uint64_t max_bytes) {
  const auto limit = checked_add<uint64_t>(max_bytes, kMaxHeader + 12);
  MODELD_ASSIGN(const auto file, read_file(path, limit.value_or(max_bytes)));
  auto array = parse_npy(file, max_bytes);
  if (!array.ok()) return std::move(array).error().in(path.string());
  return array;
}

Result<std::vector<std::byte>> format_npy(const NpyArray& array) {
  const auto wanted = byte_count(array.type, array.shape);
  if (!wanted || *wanted != array.bytes.size() || array.shape.size() > kMaxRank) {
    return Error(ErrorCode::kInvalidArgument, "npy: bytes do not match shape and type")
        .expecting(wanted ? std::to_string(*wanted) + " bytes" : "a shape that does not overflow",
                   std::to_string(array.bytes.size()) + " bytes");
  }
  std::string text = header_text(array);
  constexpr size_t kPrefix = 10;  // 32 extents of 20 digits fit version 1's 16-bit length
  const size_t start = align_up(kPrefix + text.size() + 1, kDataAlignment);
  text.append(start - kPrefix - text.size() - 1, ' ').push_back('\n');

  std::vector<std::byte> file(start + array.bytes.size());
  std::memcpy(file.data(), kMagic.data(), kMagic.size());
  file[6] = std::byte{1};
  const auto length = static_cast<uint16_t>(text.size());
  std::memcpy(file.data() + 8, &length, sizeof length);
  std::memcpy(file.data() + kPrefix, text.data(), text.size());
  std::copy(array.bytes.begin(), array.bytes.end(), file.begin() + static_cast<ptrdiff_t>(start));
  return file;
}

Status write_npy(const std::filesystem::path& path, const NpyArray& array) {
  MODELD_ASSIGN(const auto file, format_npy(array));
  return write_file_atomically(path, file);
}

}  // namespace modeld
