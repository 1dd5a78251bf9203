// BatchNormalization, LayerNormalization, RMSNormalization, Softmax and LogSoftmax.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

int64_t product(Shape::const_iterator first, Shape::const_iterator last) {
  int64_t result = 1;
  for (; first != last; ++first) result *= *first;
  return result;
}

double load_one(DType dtype, const std::byte* base, int64_t element) {
  double value;
  load(dtype, base + element * static_cast<int64_t>(size_of(dtype)), &value, 1);
  return value;
}

// y = (x - mean) / sqrt(var + epsilon) * scale + B, per channel of axis 1.
KernelPointer batch_norm(const KernelSpec& spec) {
  const Shape& shape = spec.in(0).shape;
  const int64_t channels = shape[1];
  const int64_t planes = shape[0] * channels;
  const auto plane = static_cast<size_t>(product(shape.begin() + 2, shape.end()));
  const double epsilon = spec.attributes.get_float("epsilon");
  const DType dtype = spec.in(0).dtype;
  std::vector<DType> dtypes;
  for (size_t i = 0; i < 5; ++i) dtypes.push_back(spec.in(i).dtype);
  return kernel_of([=](const KernelIo& io) {
    double row[kChunk];
    for (int64_t p = 0; p < planes; ++p) {
      const int64_t c = p % channels;
      const double scale = load_one(dtypes[1], io.inputs[1], c);
      const double bias = load_one(dtypes[2], io.inputs[2], c);
      const double mean = load_one(dtypes[3], io.inputs[3], c);
      const double deviation = std::sqrt(load_one(dtypes[4], io.inputs[4], c) + epsilon);
      for (size_t at = 0; at < plane; at += kChunk) {
        const size_t length = std::min(kChunk, plane - at);
        const size_t offset = (static_cast<size_t>(p) * plane + at) * size_of(dtype);
        load(dtype, io.inputs[0] + offset, row, length);
        for (size_t i = 0; i < length; ++i) row[i] = (row[i] - mean) / deviation * scale + bias;
        store(dtype, row, io.outputs[0] + offset, length);
      }
    }
  });
}

// In place: minus the mean, over the square root of the variance (of the population) plus epsilon.
void standardise(std::vector<double>& row, double epsilon) {
  const auto count = static_cast<double>(row.size());
  double sum = 0;
  for (const double x : row) sum += x;
  const double mean = sum / count;
  double squares = 0;
  for (const double x : row) squares += (x - mean) * (x - mean);
  const double deviation = std::sqrt(squares / count + epsilon);
  for (double& x : row) x = (x - mean) / deviation;
}

// In place: over the square root of the mean of the squares plus epsilon.
void divide_by_rms(std::vector<double>& row, double epsilon) {
  double squares = 0;
  for (const double x : row) squares += x * x;
  const double rms = std::sqrt(squares / static_cast<double>(row.size()) + epsilon);
  for (double& x : row) x /= rms;
}

KernelPointer layer_norm(const KernelSpec& spec) {
  const Shape& shape = spec.in(0).shape;
  const int64_t axis = spec.attributes.get_int("axis");
  const int64_t rows = product(shape.begin(), shape.begin() + axis);
  const auto length = static_cast<size_t>(product(shape.begin() + axis, shape.end()));
  const double epsilon = spec.attributes.get_float("epsilon");
  const DType dtype = spec.in(0).dtype;
  const bool has_scale = spec.has(1);
  const bool has_bias = spec.has(2);
  const bool centred = spec.kind == OpKind::kLayerNormalization;
  std::vector<double> row(length);
  std::vector<double> scale(length, 1.0);
  std::vector<double> bias(length, 0.0);
  return kernel_of([=](const KernelIo& io) mutable {
    if (has_scale) load(dtype, io.inputs[1], scale.data(), length);
    if (has_bias) load(dtype, io.inputs[2], bias.data(), length);
    for (int64_t r = 0; r < rows; ++r) {
      const size_t offset = static_cast<size_t>(r) * length * size_of(dtype);
      load(dtype, io.inputs[0] + offset, row.data(), length);
      if (centred) standardise(row, epsilon);
      if (!centred) divide_by_rms(row, epsilon);
      for (size_t i = 0; i < length; ++i) row[i] = row[i] * scale[i] + bias[i];
      store(dtype, row.data(), io.outputs[0] + offset, length);
    }
  });
}

// Softmax over `count` values `stride` apart.
void softmax_row(double* values, size_t count, size_t stride) {
  double largest = values[0];
  for (size_t i = 1; i < count; ++i) largest = larger(largest, values[i * stride]);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    values[i * stride] = std::exp(values[i * stride] - largest);
    sum += values[i * stride];
  }
  for (size_t i = 0; i < count; ++i) values[i * stride] /= sum;
}

// log(softmax): the difference from the largest is kept, never taken back from a logarithm.
void log_softmax_row(double* values, size_t count, size_t stride) {
  double largest = values[0];
  for (size_t i = 1; i < count; ++i) largest = larger(largest, values[i * stride]);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += std::exp(values[i * stride] - largest);
  const double rest = std::log(sum);
  for (size_t i = 0; i < count; ++i) values[i * stride] = values[i * stride] - largest - rest;
}

KernelPointer softmax(const KernelSpec& spec) {
  const Shape& shape = spec.in(0).shape;
  const int64_t axis = spec.attributes.get_int("axis");
  const int64_t blocks = product(shape.begin(), shape.begin() + axis);
  const auto count = static_cast<size_t>(shape[static_cast<size_t>(axis)]);
  const auto inner = static_cast<size_t>(product(shape.begin() + axis + 1, shape.end()));
  const DType dtype = spec.in(0).dtype;
  const auto run_row = spec.kind == OpKind::kLogSoftmax ? log_softmax_row : softmax_row;
  std::vector<double> block(count * inner);
  return kernel_of([=](const KernelIo& io) mutable {
    if (block.empty()) return;
    for (int64_t b = 0; b < blocks; ++b) {
      const size_t offset = static_cast<size_t>(b) * block.size() * size_of(dtype);
      load(dtype, io.inputs[0] + offset, block.data(), block.size());
      for (size_t i = 0; i < inner; ++i) run_row(block.data() + i, count, inner);
      store(dtype, block.data(), io.outputs[0] + offset, block.size());
    }
  });
}

}  // namespace

KernelPointer make_normalisation_kernel(const KernelSpec& spec) {
  if (spec.kind == OpKind::kBatchNormalization) return batch_norm(spec);
  if (spec.kind == OpKind::kLayerNormalization || spec.kind == OpKind::kRmsNormalization) {
    return layer_norm(spec);
  }
  return softmax(spec);
}

}  // namespace modeld::reference
