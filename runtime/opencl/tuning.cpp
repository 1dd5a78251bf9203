#include "runtime/opencl/tuning.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "runtime/artifact/sha256.h"
#include "runtime/base/file.h"

namespace modeld::opencl {
namespace {

// Goes up when a shape's numbers come to mean something else to the kernels' generator.
constexpr std::string_view kFirstLine = "modeld kernel tuning 1";
constexpr uint64_t kMostBytes = uint64_t{1} << 20;
constexpr size_t kMostEntries = 8192;
constexpr size_t kSignatureDigits = 32;
constexpr size_t kNumbers = 6;

std::string hash(std::string_view text) {
  return to_hex(sha256(std::as_bytes(std::span(text.data(), text.size()))))
      .substr(0, kSignatureDigits);
}

std::string device_key(const DeviceInfo& device) {
  std::string key;
  for (const std::string& part : {device.platform_name, device.platform_version, device.vendor,
                                  device.name, device.version, device.driver_version}) {
    key += part + '\0';
  }
  return hash(key);
}

// For a comment: one line, printable.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) line += c >= ' ' && c <= '~' ? c : '?';
  return line;
}

std::array<uint32_t, kNumbers> numbers_of(const KernelShape& shape) {
  return {shape.vector, shape.tile_rows,    shape.tile_vectors,
          shape.group,  shape.reduce_group, shape.vectors_per_item};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

bool is_signature(std::string_view text) {
  return text.size() == kSignatureDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<KernelShape> read_shape(std::span<const std::string_view> words) {
  std::array<uint32_t, kNumbers> numbers{};
  for (size_t i = 0; i < kNumbers; ++i) {
    const std::string_view word = words[i];
    const auto read = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
  }
  return KernelShape{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

Error corrupt(size_t line, std::string_view expected, std::string_view found) {
  return Error(ErrorCode::kCorrupt, "tuning file, line " + std::to_string(line))
      .expecting(std::string(expected), one_line(found.substr(0, 80)));
}

void append(std::string& text, const AttributeValue& value) {
  std::visit(
      [&](const auto& one) {
        using Value = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          text += one;
        } else if constexpr (std::is_arithmetic_v<Value>) {
          text += std::to_string(one);
        } else {
          for (const auto& element : one) text += std::to_string(element) + ",";
        }
      },
      value);
}

}  // namespace

std::string to_string(const KernelShape& shape) {
  return "vector=" + std::to_string(shape.vector) + " tile=" + std::to_string(shape.tile_rows) +
         "x" + std::to_string(shape.tile_vectors) + " group=" + std::to_string(shape.group) +
         " reduce=" + std::to_string(shape.reduce_group) +
         " per_item=" + std::to_string(shape.vectors_per_item);
}

Status check_shape(const KernelShape& shape, const DeviceInfo& device) {
  const auto refuse = [](std::string_view what, const std::string& expected, uint32_t found) {
    return Error(ErrorCode::kRefused, "kernel shape: " + std::string(what))
        .expecting(expected, std::to_string(found));
  };
  if (shape.vector != 4 && shape.vector != 8 && shape.vector != 16) {
    return refuse("vector", "4, 8 or 16", shape.vector);
  }
  const auto in_range = [&](std::string_view what, uint32_t value, uint64_t most) -> Status {
    if (value >= 1 && value <= most) return {};
    return refuse(what, "1 to " + std::to_string(most), value);
  };
  MODELD_TRY(in_range("tile rows", shape.tile_rows, 16));
  MODELD_TRY(in_range("tile vectors", shape.tile_vectors, 4));
  MODELD_TRY(in_range("vectors per item", shape.vectors_per_item, 1024));
  const uint64_t most = std::clamp<uint64_t>(device.max_work_group, 1, 1024);
  MODELD_TRY(in_range("group", shape.group, most));
  MODELD_TRY(in_range("reduce group", shape.reduce_group, most));
  // Reductions meet by halves.
  if ((shape.reduce_group & (shape.reduce_group - 1)) != 0) {
    return refuse("reduce group", "a power of two", shape.reduce_group);
  }
  return {};
}

std::string op_signature(const Program& program, const Op& op) {
  std::string text{to_string(op.kind)};
  for (const auto& [name, value] : op.attributes.map()) {
    text += ";" + name + "=";
    append(text, value);
  }
  const auto types = [&](const std::vector<TensorId>& ids) {
    text += ":";
    for (const TensorId id : ids) {
      if (id != kNoTensor) {
        text += to_string(program.tensors[id].type);
        if (program.tensors[id].is_constant()) text += "c";
      }
      text += "/";
    }
  };
  types(op.inputs);
  types(op.outputs);
  return hash(text);
}

const KernelShape* Tuning::find(std::string_view signature) const {
  const auto found = shapes_.find(signature);
  return found == shapes_.end() ? nullptr : &found->second.shape;
}

void Tuning::set(std::string signature, const KernelShape& shape, std::string comment) {
  shapes_[std::move(signature)] = {shape, std::move(comment)};
}

void Tuning::merge(const Tuning& newer) {
  for (const auto& [signature, entry] : newer.shapes_) shapes_[signature] = entry;
}

std::string Tuning::text(const DeviceInfo& device) const {
  std::string text =
      std::string(kFirstLine) + "\ndevice " + device_key(device) + " # " +
      one_line(device.platform_name + ": " + device.name + ", " + device.driver_version) + "\n";
  for (const auto& [signature, entry] : shapes_) {
    text += signature;
    for (const uint32_t number : numbers_of(entry.shape)) text += " " + std::to_string(number);
    text += " # " + one_line(entry.comment) + "\n";
  }
  return text;
}

Result<Tuning> Tuning::parse(std::string_view text, const DeviceInfo& device) {
  Tuning tuning;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (number == 1) {
      if (line == kFirstLine) continue;
      return Error(ErrorCode::kUnsupported, "tuning file of another kind or version")
          .expecting(std::string(kFirstLine), one_line(line.substr(0, 80)));
    }
    const auto words = words_of(line.substr(0, line.find('#')));
    if (number == 2) {
      if (words.size() != 2 || words[0] != "device") return corrupt(2, "device HASH", line);
      if (words[1] == device_key(device)) continue;
      return Error(ErrorCode::kUnsupported, "tuning file of another device or driver")
          .expecting(device.platform_name + ": " + device.name + ", " + device.driver_version,
                     one_line(line));
    }
    if (words.size() != 1 + kNumbers || !is_signature(words[0])) {
      return corrupt(number, "SIGNATURE and six numbers", line);
    }
    const auto shape = read_shape(std::span(words).subspan(1));
    if (!shape) return corrupt(number, "six numbers", line);
    if (Status checked = check_shape(*shape, device); !checked.ok()) {
      return std::move(checked).error().in("tuning file, line " + std::to_string(number));
    }
    if (tuning.size() == kMostEntries) {
      return corrupt(number, std::to_string(kMostEntries) + " entries at most", "more");
    }
    const size_t comment = line.find("# ");
    tuning.set(std::string(words[0]), *shape,
               comment == std::string_view::npos ? "" : std::string(line.substr(comment + 2)));
  }
  if (number < 2) return corrupt(number, "two lines at least", "the end");
  return tuning;
}

Result<Tuning> Tuning::load(const std::filesystem::path& path, const DeviceInfo& device) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return Error(ErrorCode::kNotFound, "no tuning file").in(path.string());
  }
  const bool own = S_ISREG(info.st_mode) && (info.st_uid == ::geteuid() || info.st_uid == 0) &&
                   (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!own) {
    return Error(ErrorCode::kRefused, "tuning file that somebody else could have written")
        .expecting("a file of this user's or root's that only its owner may write",
                   "mode " + std::to_string(info.st_mode & 07777) + ", user " +
                       std::to_string(info.st_uid))
        .in(path.string());
  }
  MODELD_ASSIGN(const std::string text, read_text_file(path, kMostBytes));
  auto tuning = parse(text, device);
  if (!tuning.ok()) return std::move(tuning).error().in(path.string());
  return tuning;
}

std::filesystem::path tuning_file(const std::filesystem::path& kernel_folder) {
  return kernel_folder / "tuning.txt";
}

}  // namespace modeld::opencl
