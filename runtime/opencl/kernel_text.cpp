#include "runtime/opencl/kernel_text.h"

#include <cmath>
#include <cstdio>

namespace modeld::opencl {
namespace {

std::string wide(std::string_view name, uint32_t width) {
  return std::string(name) + (width == 1 ? "" : std::to_string(width));
}

bool is_signed_integer(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
         dtype == DType::kInt64;
}

}  // namespace

Compute compute_of(DType dtype) {
  if (dtype == DType::kFloat64) return Compute::kDouble;
  if (is_float(dtype)) return Compute::kFloat;
  return is_signed_integer(dtype) ? Compute::kSigned : Compute::kUnsigned;
}

bool is_real(Compute compute) {
  return compute == Compute::kFloat || compute == Compute::kDouble;
}

std::string type_name(Compute compute, uint32_t width) {
  switch (compute) {
    case Compute::kFloat:
      return wide("float", width);
    case Compute::kDouble:
      return wide("double", width);
    case Compute::kSigned:
      return wide("long", width);
    default:
      return wide("ulong", width);
  }
}

std::string storage_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kFloat16:
      return "half";
    case DType::kBFloat16:
    case DType::kUInt16:
      return "ushort";
    case DType::kInt8:
      return "char";
    case DType::kInt16:
      return "short";
    case DType::kInt32:
      return "int";
    case DType::kUInt32:
      return "uint";
    case DType::kInt64:
      return "long";
    case DType::kUInt64:
      return "ulong";
    default:  // u8, bool, nv12
      return "uchar";
  }
}

std::string literal(double value, Compute compute) {
  if (!is_real(compute)) {
    const std::string text = std::to_string(static_cast<int64_t>(value));
    return "((" + type_name(compute) + ")" + text + "L)";
  }
  const std::string type = type_name(compute);
  if (std::isnan(value)) return "((" + type + ")NAN)";
  if (std::isinf(value))
    return value > 0 ? "((" + type + ")INFINITY)" : "(-(" + type + ")INFINITY)";
  std::array<char, 64> buffer{};
  if (compute == Compute::kFloat) {
    std::snprintf(buffer.data(), buffer.size(), "%af",
                  static_cast<double>(static_cast<float>(value)));
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%a", value);
  }
  return "(" + std::string(buffer.data()) + ")";
}

bool loads_vectors(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         dtype == DType::kUInt8 || dtype == DType::kInt8;
}

bool stores_vectors(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16;
}

std::string load(DType dtype, const std::string& pointer, const std::string& index, Compute compute,
                 uint32_t width) {
  const std::string w = std::to_string(width);
  const std::string at = pointer + "[" + index + "]";
  if (width > 1) {
    const std::string vector = "vload" + w + "(0, " + pointer + " + (" + index + "))";
    switch (dtype) {
      case DType::kFloat32:
        return vector;
      case DType::kFloat16:
        return "m_load_half" + w + "(" + pointer + " + (" + index + "))";
      case DType::kBFloat16:
        return "as_float" + w + "(convert_uint" + w + "(" + vector + ") << 16)";
      default:
        return "convert_float" + w + "(" + vector + ")";
    }
  }
  switch (dtype) {
    case DType::kFloat16:
      return "(" + type_name(compute) + ")vload_half(" + index + ", " + pointer + ")";
    case DType::kBFloat16:
      return "(" + type_name(compute) + ")as_float((uint)" + at + " << 16)";
    case DType::kBool:
      return "(" + type_name(compute) + ")(" + at + " != 0)";
    default:
      return "(" + type_name(compute) + ")" + at;
  }
}

std::string store(DType dtype, const std::string& pointer, const std::string& index,
                  const std::string& value, Compute compute, uint32_t width) {
  if (width > 1) {
    const std::string w = std::to_string(width);
    const std::string at = pointer + " + (" + index + "));";
    if (dtype == DType::kFloat16) return "m_store_half" + w + "(" + value + ", " + at;
    return "vstore" + w + "(" + value + ", 0, " + at;
  }
  switch (dtype) {
    case DType::kFloat16:
      return "vstore_half_rte(" + (is_real(compute) ? value : "(float)(" + value + ")") + ", " +
             index + ", " + pointer + ");";
    case DType::kBFloat16:
      return pointer + "[" + index + "] = m_to_bf16((float)(" + value + "));";
    case DType::kFloat32:
    case DType::kFloat64:
      return pointer + "[" + index + "] = (" + storage_name(dtype) + ")(" + value + ");";
    default:
      return pointer + "[" + index + "] = (" + storage_name(dtype) + ")(" +
             converted(value, compute,
                       is_signed_integer(dtype) ? Compute::kSigned : Compute::kUnsigned, dtype) +
             ");";
  }
}

std::string converted(const std::string& value, Compute from, Compute to, DType dtype) {
  const std::string type = type_name(to);
  if (dtype == DType::kBool) return "(" + type + ")((" + value + ") != 0)";
  if (is_real(from) && !is_real(to)) {
    return "(" + type + ")m_sat_" + storage_name(dtype) + "(" + value + ")";
  }
  if (is_real(to)) return "(" + type + ")(" + value + ")";
  return "(" + type + ")(" + storage_name(dtype) + ")(" + value + ")";
}

std::string narrowed(const std::string& value, Compute compute, DType dtype) {
  if (dtype == DType::kFloat16) return "m_round_half(" + value + ")";
  if (dtype == DType::kBFloat16) return "m_round_bf16(" + value + ")";
  if (is_real(compute)) return value;
  return converted(value, compute, compute, dtype);
}

std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string result;
  while (true) {
    const size_t open = text.find('@');
    result += text.substr(0, open);
    if (open == std::string_view::npos) return result;
    const size_t close = text.find('@', open + 1);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    for (const auto& [key, value] : values) {
      if (key == name) result += value;
    }
    text.remove_prefix(close + 1);
  }
}

std::string KernelWriter::pointer(RootId root, const std::string& type, int64_t offset,
                                  bool written) {
  for (size_t i = 0; i < pointers_.size(); ++i) {
    const Pointer& p = pointers_[i];
    if (p.root == root && p.type == type && p.offset == offset && p.written == written) {
      return "p" + std::to_string(i);
    }
  }
  pointers_.push_back({root, type, offset, written});
  return "p" + std::to_string(pointers_.size() - 1);
}

std::string KernelWriter::input(const View& view) {
  return pointer(view.root, storage_name(view.dtype), view.offset, false);
}

std::string KernelWriter::output(const View& view) {
  return pointer(view.root, storage_name(view.dtype), view.offset, true);
}

std::string KernelWriter::number(int64_t value) {
  numbers_.push_back(value);
  return "n" + std::to_string(numbers_.size() - 1);
}

std::string KernelWriter::flags(RootId root) {
  return pointer(root, "uint", 0, true);
}

Launch KernelWriter::finish() && {
  std::string parameters;
  std::string declarations;
  Launch launch;
  for (size_t i = 0; i < pointers_.size(); ++i) {
    const Pointer& p = pointers_[i];
    const std::string n = std::to_string(i);
    const std::string qualified = std::string("__global ") + (p.written ? "" : "const ");
    parameters += (i == 0 ? "" : ", ") + qualified + "uchar* b" + n + ", const ulong o" + n;
    declarations += qualified + p.type + "* p" + n + " = (" + qualified + p.type + "*)(b" + n +
                    " + o" + n + ")" +
                    (p.offset == 0 ? "" : " + (" + std::to_string(p.offset) + ")") + ";\n";
    launch.arguments.push_back({p.root, p.written, 0});
  }
  for (size_t i = 0; i < numbers_.size(); ++i) {
    parameters += (parameters.empty() ? "const long n" : ", const long n") + std::to_string(i);
    launch.arguments.push_back({kNoRoot, false, numbers_[i]});
  }
  launch.source = KernelSource(
      "__kernel void KERNEL(" + parameters + ") {\n" + declarations + body_ + "}\n", flushes_);
  return launch;
}

}  // namespace modeld::opencl
