#include "runtime/opencl/plain_kernel.h"

namespace modeld::opencl {

std::string text(int64_t value) {
  return "(" + std::to_string(value) + ")";
}

std::string name(const char* prefix, size_t i) {
  return prefix + std::to_string(i);
}

bool has(const Op& op, size_t input) {
  return input < op.inputs.size() && op.inputs[input] != kNoTensor;
}

PlainKernel::PlainKernel(Lowering& lowering, Shape shape)
    : lowering_(lowering), shape_(std::move(shape)) {
  const View counted{0, DType::kUInt8, 0, shape_, dense_strides(shape_, Layout::kPlain)};
  index_ = fits_int({&counted}) ? "int" : "long";
  count_ = counted.elements();
  writer << fill("@i@ r = (@i@)get_global_id(0);\nif (r >= @n@) return;\n",
                 {{"i", index_}, {"n", text(count_)}});
  for (size_t axis = shape_.size(); axis-- > 0;) {
    writer << fill("const @i@ @c@ = r % @n@; r /= @n@;\n",
                   {{"i", index_}, {"c", name("c", axis)}, {"n", text(shape_[axis])}});
  }
}

std::string PlainKernel::at(const View& view) const {
  std::string sum = "0";
  for (size_t axis = 0; axis < view.shape.size(); ++axis) {
    sum += " + " + name("c", axis) + " * " + text(view.strides[axis]);
  }
  return sum;
}

void PlainKernel::add(std::string how) && {
  if (count_ == 0) return;
  Launch launch = std::move(writer).finish();
  constexpr size_t kGroup = 64;
  launch.local[0] = kGroup;
  launch.global[0] = (static_cast<size_t>(count_) + kGroup - 1) / kGroup * kGroup;
  lowering_.add(std::move(launch), std::move(how));
}

std::string count_fault(Lowering& lowering, KernelWriter& writer, Fault fault) {
  return "atomic_inc(&" + writer.flags(lowering.flags()) +
         (fault == Fault::kIndex ? "[0]);" : "[1]);");
}

std::string resolve_index(const std::string& index, int64_t extent, const std::string& inside) {
  return fill("if (@x@ < 0) @x@ += @n@;\nif (@x@ < 0 || @x@ >= @n@) { @inside@ = 0; @x@ = 0; }\n",
              {{"x", index}, {"n", text(extent)}, {"inside", inside}});
}

Window window_of(const Op& op, const Shape& kernel) {
  return {{kernel.begin(), kernel.end()},
          op.attributes.get_ints("strides"),
          op.attributes.get_ints("dilations"),
          op.attributes.get_ints("pads")};
}

void open_taps(KernelWriter& writer, const std::string& index, const Window& window,
               const Shape& in, bool transposed) {
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    writer << fill(
        "for (@i@ k@a@ = 0; k@a@ < @n@; ++k@a@) {\n",
        {{"i", index}, {"a", std::to_string(axis)}, {"n", std::to_string(window.kernel[axis])}});
    const std::string meeting = transposed ? "const @i@ t@a@ = c@c@ + @pad@ - k@a@ * @d@;\n"
                                             "if (t@a@ < 0 || t@a@ % @s@ != 0) continue;\n"
                                             "const @i@ s@a@ = t@a@ / @s@;\n"
                                           : "const @i@ s@a@ = c@c@ * @s@ + k@a@ * @d@ - @pad@;\n";
    writer << fill(meeting + "if (s@a@ < 0 || s@a@ >= @extent@) continue;\n",
                   {{"i", index},
                    {"a", std::to_string(axis)},
                    {"c", std::to_string(axis + 2)},
                    {"s", text(window.strides[axis])},
                    {"d", text(window.dilations[axis])},
                    {"pad", text(window.pads[axis])},
                    {"extent", text(in[axis + 2])}});
  }
}

void close_taps(KernelWriter& writer, size_t axes) {
  for (size_t i = 0; i < axes; ++i) writer << "}\n";
}

}  // namespace modeld::opencl
