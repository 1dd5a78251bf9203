#include "tools/compile/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/artifact/sha256.h"
#include "runtime/base/checked.h"
#include "runtime/base/file.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr uint64_t kPrefixBytes = 8;

Result<DType> dtype_named(const std::string& name) {
  using Named = std::pair<std::string_view, DType>;
  static constexpr auto kNames = std::to_array<Named>({{"F64", DType::kFloat64},
                                                       {"F32", DType::kFloat32},
                                                       {"F16", DType::kFloat16},
                                                       {"BF16", DType::kBFloat16},
                                                       {"I64", DType::kInt64},
                                                       {"I32", DType::kInt32},
                                                       {"I16", DType::kInt16},
                                                       {"I8", DType::kInt8},
                                                       {"U64", DType::kUInt64},
                                                       {"U32", DType::kUInt32},
                                                       {"U16", DType::kUInt16},
                                                       {"U8", DType::kUInt8},
                                                       {"BOOL", DType::kBool}});
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  return Error(ErrorCode::kUnsupported, "dtype '" + printable(name) + "'")
      .expecting("F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 or BOOL",
                 printable(name));
}

Error corrupt(std::string message) {
  return {ErrorCode::kCorrupt, std::move(message)};
}

// Events of nlohmann's parser, checked as they come: no document is built, so that nothing can be
// given twice or nested deeper without being seen. Every handler answers whether to go on.
class HeaderReader {
 public:
  using Json = nlohmann::json;

  HeaderReader(uint64_t data_bytes, const SafetensorsLimits& limits)
      : data_bytes_(data_bytes), limits_(limits) {}

  const std::optional<Error>& error() const { return error_; }
  SafetensorsIndex take() { return std::move(index_); }

  bool null() { return fail("an unexpected null"); }
  bool boolean(bool) { return fail("an unexpected boolean"); }
  bool number_float(Json::number_float_t, const std::string& text) {
    return fail("a number that is no integer: " + printable(text));
  }
  bool number_integer(Json::number_integer_t value) {
    return fail("a negative number: " + std::to_string(value));
  }
  bool number_unsigned(Json::number_unsigned_t value);
  bool string(std::string& value);
  bool binary(Json::binary_t&) { return fail("unexpected binary data"); }
  bool start_object(size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool parse_error(size_t position, const std::string&, const Json::exception&) {
    return fail("the header is no JSON, from byte " + std::to_string(position) + " on");
  }

 private:
  // What is open: nothing, the header, a tensor's object, its shape or offsets, the metadata.
  enum class Place : uint8_t { kOutside, kHeader, kTensor, kShape, kOffsets, kMetadata, kEnd };

  bool fail(std::string message) { return fail(corrupt(std::move(message))); }
  bool fail(Error error) {
    if (!error_) {
      error_ = name_.empty() ? std::move(error)
                             : std::move(error).in("tensor '" + printable(name_) + "'");
    }
    return false;
  }
  bool finish_tensor();

  uint64_t data_bytes_;
  const SafetensorsLimits& limits_;
  std::optional<Error> error_;
  SafetensorsIndex index_;
  Place place_ = Place::kOutside;
  std::string name_;  // of the tensor that is open
  std::string key_;   // last one read inside it
  std::set<std::string> keys_;
  std::string dtype_;
  Shape shape_;
  std::vector<uint64_t> offsets_;
  bool metadata_seen_ = false;
  std::set<std::string> metadata_keys_;
};

bool HeaderReader::number_unsigned(Json::number_unsigned_t value) {
  if (place_ == Place::kShape) {
    if (shape_.size() >= limits_.max_rank) {
      return fail(Error(ErrorCode::kRefused, "too many axes")
                      .expecting("at most " + std::to_string(limits_.max_rank), "more"));
    }
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return fail("impossible extent " + std::to_string(value));
    }
    shape_.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (place_ == Place::kOffsets && offsets_.size() < 2) {
    offsets_.push_back(value);
    return true;
  }
  return fail("an unexpected number");
}

bool HeaderReader::string(std::string& value) {
  if (place_ == Place::kMetadata) return true;
  if (place_ != Place::kTensor || key_ != "dtype") return fail("an unexpected string");
  dtype_ = value;
  return true;
}

bool HeaderReader::start_object(size_t) {
  if (place_ == Place::kOutside) {
    place_ = Place::kHeader;
    return true;
  }
  if (place_ != Place::kHeader) return fail("an unexpected object");
  if (key_ == "__metadata__") {
    place_ = Place::kMetadata;
    return true;
  }
  place_ = Place::kTensor;
  name_ = key_;
  keys_.clear();
  dtype_.clear();
  shape_.clear();
  offsets_.clear();
  return true;
}

bool HeaderReader::key(std::string& name) {
  if (place_ == Place::kMetadata) {
    if (!metadata_keys_.insert(name).second) {
      return fail("metadata '" + printable(name) + "' is given twice");
    }
    return true;
  }
  if (place_ == Place::kHeader) {
    const bool twice =
        name == "__metadata__" ? std::exchange(metadata_seen_, true) : index_.contains(name);
    if (twice) return fail("'" + printable(name) + "' is given twice");
    if (name.empty()) return fail("a tensor without a name");
    if (index_.size() >= limits_.max_tensors) {
      return fail(Error(ErrorCode::kRefused, "too many tensors")
                      .expecting("at most " + std::to_string(limits_.max_tensors), "more"));
    }
    key_ = name;
    return true;
  }
  if (name != "dtype" && name != "shape" && name != "data_offsets") {
    return fail("unknown key '" + printable(name) + "'");
  }
  if (!keys_.insert(name).second) return fail("key '" + name + "' is given twice");
  key_ = name;
  return true;
}

bool HeaderReader::start_array(size_t) {
  if (place_ == Place::kTensor && key_ == "shape") {
    place_ = Place::kShape;
  } else if (place_ == Place::kTensor && key_ == "data_offsets") {
    place_ = Place::kOffsets;
  } else {
    return fail("an unexpected list");
  }
  return true;
}

bool HeaderReader::end_array() {
  place_ = Place::kTensor;
  return true;
}

bool HeaderReader::end_object() {
  switch (place_) {
    case Place::kMetadata:
      place_ = Place::kHeader;
      return true;
    case Place::kTensor:
      place_ = Place::kHeader;
      return finish_tensor();
    default:
      place_ = Place::kEnd;
      return true;
  }
}

bool HeaderReader::finish_tensor() {
  if (keys_.size() != 3 || offsets_.size() != 2) {
    return fail("dtype, shape or the two data_offsets are missing");
  }
  auto dtype = dtype_named(dtype_);
  if (!dtype.ok()) return fail(std::move(dtype).error());
  const auto count = checked_elements(shape_);
  const auto want =
      count ? checked_mul<uint64_t>(static_cast<uint64_t>(*count), size_of(*dtype)) : std::nullopt;
  if (!want) return fail("impossible shape " + to_string(shape_));
  const uint64_t begin = offsets_[0];
  const uint64_t end = offsets_[1];
  if (begin > end || end > data_bytes_) {
    return fail(Error(ErrorCode::kRefused, "data_offsets lie outside the file")
                    .expecting("ascending, at most " + std::to_string(data_bytes_),
                               std::to_string(begin) + ".." + std::to_string(end)));
  }
  if (end - begin != *want) {
    return fail(corrupt("data_offsets do not fit the shape")
                    .expecting(std::to_string(*want) + " bytes for " +
                                   to_string(TensorType{*dtype, shape_}),
                               std::to_string(end - begin) + " bytes"));
  }
  index_[name_] = {{*dtype, shape_}, begin, end};
  name_.clear();
  return true;
}

// Ranges must follow each other from the first byte to the last: then none overlap and nothing is
// hidden between them.
Status check_ranges(const SafetensorsIndex& index, uint64_t data_bytes) {
  std::vector<const SafetensorsIndex::value_type*> sorted;
  for (const auto& entry : index) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t at = 0;
  for (const auto* entry : sorted) {
    if (entry->second.begin != at) {
      return Error(ErrorCode::kRefused, entry->second.begin < at
                                            ? "the ranges of two tensors overlap"
                                            : "bytes that belong to no tensor")
          .expecting("data from byte " + std::to_string(at) + " on",
                     "from " + std::to_string(entry->second.begin))
          .in("tensor '" + printable(entry->first) + "'");
    }
    at = entry->second.end;
  }
  if (at == data_bytes) return {};
  return Error(ErrorCode::kRefused, "bytes behind the last tensor")
      .expecting(std::to_string(at) + " bytes of data", std::to_string(data_bytes));
}

int64_t changed_ns(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace

Result<SafetensorsIndex> parse_safetensors_header(std::span<const std::byte> header,
                                                  uint64_t data_bytes,
                                                  const SafetensorsLimits& limits) {
  if (header.empty() || header[0] != std::byte{'{'}) {
    return corrupt("not a safetensors file: its header does not begin with '{'");
  }
  HeaderReader reader(data_bytes, limits);
  const auto* first = reinterpret_cast<const char*>(header.data());
  try {
    const bool done = nlohmann::json::sax_parse(first, first + header.size(), &reader);
    if (reader.error()) return *reader.error();
    if (!done) return corrupt("the header is no JSON");
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "not enough memory for the header");
  } catch (const std::exception&) {
    return corrupt("the header is no JSON");
  }
  SafetensorsIndex index = reader.take();
  MODELD_TRY(check_ranges(index, data_bytes));
  return index;
}

Result<Safetensors> Safetensors::open(const std::filesystem::path& path,
                                      const SafetensorsLimits& limits) {
  const auto inside = [&](Error error) { return std::move(error).in(printable(path.string())); };
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return errno_error("cannot open " + printable(path.string()), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return inside(errno_error("cannot stat", errno));
  if (!S_ISREG(info.st_mode)) return inside({ErrorCode::kRefused, "not a regular file"});
  const auto size = static_cast<uint64_t>(info.st_size);
  std::array<std::byte, kPrefixBytes> prefix{};
  if (size < kPrefixBytes) return inside(corrupt("not a safetensors file: too short"));
  MODELD_TRY(read_exactly(fd.get(), 0, prefix));
  static_assert(std::endian::native == std::endian::little, "the length is little-endian");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, prefix.data(), sizeof header_bytes);
  if (header_bytes > limits.max_header_bytes) {
    return inside(Error(ErrorCode::kRefused, "the header is too long")
                      .expecting("at most " + std::to_string(limits.max_header_bytes) + " bytes",
                                 std::to_string(header_bytes)));
  }
  if (header_bytes > size - kPrefixBytes) {
    return inside(corrupt("the header ends beyond the file")
                      .expecting("at most " + std::to_string(size - kPrefixBytes) + " bytes",
                                 std::to_string(header_bytes)));
  }
  const uint64_t data_bytes = size - kPrefixBytes - header_bytes;
  if (data_bytes > limits.max_data_bytes) {
    return inside(Error(ErrorCode::kRefused, "too much data")
                      .expecting("at most " + std::to_string(limits.max_data_bytes) + " bytes",
                                 std::to_string(data_bytes)));
  }
  std::vector<std::byte> header(header_bytes);
  MODELD_TRY(read_exactly(fd.get(), kPrefixBytes, header));
  auto index = parse_safetensors_header(header, data_bytes, limits);
  if (!index.ok()) return inside(std::move(index).error());
  Safetensors file(std::move(fd), kPrefixBytes + header_bytes, std::move(index).value());
  file.file_bytes_ = size;
  file.changed_ns_ = changed_ns(info);
  return file;
}

Status Safetensors::check_unchanged() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return errno_error("cannot stat weights", errno);
  if (static_cast<uint64_t>(info.st_size) == file_bytes_ && changed_ns(info) == changed_ns_) {
    return {};
  }
  return Error(ErrorCode::kRefused, "the weights file was changed while it was read");
}

Result<HostTensor> Safetensors::read(const SafetensorsEntry& entry) const {
  HostTensor tensor{entry.type, std::vector<std::byte>(entry.end - entry.begin)};
  MODELD_TRY(read_exactly(fd_.get(), data_start_ + entry.begin, tensor.bytes));
  MODELD_TRY(check_unchanged());
  if (entry.type.dtype == DType::kBool) {
    // Any other value than 0 and 1 would let two kernels disagree.
    for (std::byte& byte : tensor.bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
  }
  return tensor;
}

Result<std::string> Safetensors::sha256() const {
  constexpr uint64_t kBlock = uint64_t{1} << 20;
  Sha256Hasher hasher;
  std::vector<std::byte> block;
  for (uint64_t at = 0; at < file_bytes_; at += kBlock) {
    block.resize(std::min(kBlock, file_bytes_ - at));
    MODELD_TRY(read_exactly(fd_.get(), at, block));
    hasher.update(block);
  }
  MODELD_TRY(check_unchanged());
  return to_hex(hasher.finish());
}

}  // namespace modeld::compile
