#include "runtime/opencl/row_kernel.h"

#include <algorithm>

namespace modeld::opencl {

std::string combined(Combine how, const std::string& a, const std::string& b) {
  switch (how) {
    case Combine::kSum:
      return a + " + " + b;
    case Combine::kProduct:
      return a + " * " + b;
    case Combine::kMax:
      // A NaN on either side wins.
      return fill("((@a@ != @a@) | (@a@ > @b@)) ? @a@ : @b@", {{"a", a}, {"b", b}});
    default:
      return fill("((@a@ != @a@) | (@a@ < @b@)) ? @a@ : @b@", {{"a", a}, {"b", b}});
  }
}

std::string identity(Combine how) {
  switch (how) {
    case Combine::kSum:
      return "0.0f";
    case Combine::kProduct:
      return "1.0f";
    case Combine::kMax:
      return "-INFINITY";
    default:
      return "INFINITY";
  }
}

RowKernel::RowKernel(const Traits& traits, int64_t rows, int64_t length)
    : rows_(rows), length_(length), group_(traits.reduce_group) {
  if (!shared()) {
    width_ = traits.vector;
    while (width_ > 1 && width_ > length) width_ /= 2;
    if (width_ == 2) width_ = 1;
    per_group_ = static_cast<size_t>(std::min<int64_t>(traits.group, rows));
    writer << "const int row = (int)get_global_id(0);\nif (row >= " << std::to_string(rows)
           << ") return;\n";
    return;
  }
  // The whole group is on one row, so every barrier is met by all of it.
  writer << "const int row = (int)get_group_id(0);\nconst int lane = (int)get_local_id(0);\n"
         << "__local float scratch[" << std::to_string(group_) << "];\n";
}

void RowKernel::reduce(const std::string& name, Combine how, const Element& element) {
  const std::string n = std::to_string(length_);
  if (shared()) {
    // A tree; the last barrier keeps the next reduction from overwriting what is still read.
    writer << fill(R"CL(float @name@ = @identity@;
for (int k = lane; k < @n@; k += @group@) { const float e = @element@; @name@ = @partial@; }
scratch[lane] = @name@;
barrier(CLK_LOCAL_MEM_FENCE);
for (int half_group = @half@; half_group > 0; half_group /= 2) {
  if (lane < half_group) {
    const float other = scratch[lane + half_group], own = scratch[lane];
    scratch[lane] = @pair@;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
@name@ = scratch[0];
barrier(CLK_LOCAL_MEM_FENCE);
)CL",
                   {{"name", name},
                    {"identity", identity(how)},
                    {"n", n},
                    {"group", std::to_string(group_)},
                    {"half", std::to_string(group_ / 2)},
                    {"element", element("k", 1)},
                    {"partial", combined(how, name, "e")},
                    {"pair", combined(how, "own", "other")}});
    return;
  }
  std::string start = "0";
  writer << "float " << name << " = " << identity(how) << ";\n";
  if (width_ > 1) {
    const std::string w = std::to_string(width_);
    start = std::to_string(length_ / width_ * width_);
    writer << fill(
        "{ float@w@ lanes = @identity@;\nfor (int k = 0; k < @last@; k += @w@) { "
        "const float@w@ e = @element@; lanes = @next@; }\n",
        {{"w", w},
         {"identity", "(float" + w + ")(" + identity(how) + ")"},
         {"last", start},
         {"element", element("k", width_)},
         {"next", combined(how, "lanes", "e")}});
    // Halves, then quarters: pairs of lanes are combined in a fixed order.
    std::string from = "lanes";
    for (uint32_t half = width_ / 2; half >= 1; half /= 2) {
      const std::string to = "lanes" + std::to_string(half);
      const std::string type = half == 1 ? "float" : "float" + std::to_string(half);
      writer << "const " << type << " " << to << " = " << combined(how, from + ".lo", from + ".hi")
             << ";\n";
      from = to;
    }
    writer << name << " = " << from << "; }\n";
  }
  writer << fill(
      "for (int k = @start@; k < @n@; ++k) { const float e = @element@; @name@ = @next@; }\n",
      {{"start", start},
       {"n", n},
       {"element", element("k", 1)},
       {"name", name},
       {"next", combined(how, name, "e")}});
}

void RowKernel::each(const Element& statement) {
  const std::string n = std::to_string(length_);
  if (shared()) {
    writer << "for (int k = lane; k < " << n << "; k += " << std::to_string(group_) << ") { "
           << statement("k", 1) << " }\n";
    return;
  }
  std::string start = "0";
  if (width_ > 1) {
    start = std::to_string(length_ / width_ * width_);
    writer << "for (int k = 0; k < " << start << "; k += " << std::to_string(width_) << ") { "
           << statement("k", width_) << " }\n";
  }
  writer << "for (int k = " << start << "; k < " << n << "; ++k) { " << statement("k", 1) << " }\n";
}

void RowKernel::once(const std::string& statement) {
  writer << (shared() ? "if (lane == 0) { " : "{ ") << statement << " }\n";
}

Launch RowKernel::finish() && {
  Launch launch = std::move(writer).finish();
  const auto rows = static_cast<size_t>(rows_);
  if (shared()) {
    launch.local[0] = group_;
    launch.global[0] = rows * group_;
  } else {
    launch.local[0] = per_group_;
    launch.global[0] = (rows + per_group_ - 1) / per_group_ * per_group_;
  }
  return launch;
}

}  // namespace modeld::opencl
