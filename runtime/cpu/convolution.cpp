#include "runtime/cpu/convolution.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "runtime/cpu/onednn.h"

namespace modeld::cpu {
namespace {

using dnnl::memory;

int64_t product(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{1}, std::multiplies<>());
}

memory::format_tag channels_last_tag(size_t spatial) {
  if (spatial == 1) return memory::format_tag::nwc;
  return spatial == 2 ? memory::format_tag::nhwc : memory::format_tag::ndhwc;
}

// The rows of the first spatial axis (or the images of the batch) that one member computes.
struct Part {
  int64_t batch_begin = 0;
  int64_t batch = 0;
  int64_t in_begin = 0;
  int64_t in_rows = 0;
  int64_t out_begin = 0;
  int64_t out_rows = 0;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
};

int64_t pad_end_of(const ConvolutionSpec& spec, size_t axis, int64_t in, int64_t out,
                   int64_t pad_begin) {
  const int64_t reach = (spec.kernel[axis] - 1) * spec.dilations[axis] + 1;
  if (spec.transposed) return (in - 1) * spec.strides[axis] + reach - pad_begin - out;
  return (out - 1) * spec.strides[axis] + reach - pad_begin - in;
}

Part whole(const ConvolutionSpec& spec) {
  Part part;
  part.batch = spec.batch;
  part.in_rows = spec.in[0];
  part.out_rows = spec.out[0];
  part.pad_begin = spec.pads_begin[0];
  part.pad_end = pad_end_of(spec, 0, part.in_rows, part.out_rows, part.pad_begin);
  return part;
}

// The input rows that output rows `rows` of an ordinary convolution need.
Part rows_of(const ConvolutionSpec& spec, Share rows) {
  Part part = whole(spec);
  const int64_t reach = (spec.kernel[0] - 1) * spec.dilations[0] + 1;
  const int64_t first = rows.begin * spec.strides[0] - spec.pads_begin[0];
  const int64_t last = (rows.end - 1) * spec.strides[0] - spec.pads_begin[0] + reach;
  part.out_begin = rows.begin;
  part.out_rows = rows.end - rows.begin;
  part.in_begin = std::clamp<int64_t>(first, 0, spec.in[0]);
  part.in_rows = std::clamp<int64_t>(last, 0, spec.in[0]) - part.in_begin;
  part.pad_begin = part.in_begin - first;
  part.pad_end = last - part.in_begin - part.in_rows;
  return part;
}

// A transposed convolution whose windows do not overlap computes each input row by itself.
bool rows_are_apart(const ConvolutionSpec& spec) {
  return spec.kernel[0] == spec.strides[0] && spec.pads_begin[0] == 0 &&
         spec.out[0] == spec.in[0] * spec.strides[0];
}

std::vector<Part> split(const ConvolutionSpec& spec, unsigned members) {
  constexpr int64_t kWorthSharing = 400'000;  // multiply-adds: a few microseconds
  std::vector<Part> one = {whole(spec)};
  if (members == 1 || spec.multiply_adds() < kWorthSharing) return one;
  std::vector<Part> parts;
  for (unsigned member = 0; member < members; ++member) {
    Part part = whole(spec);
    if (spec.batch >= members) {
      const Share images = share_of(spec.batch, member, members);
      part.batch_begin = images.begin;
      part.batch = images.end - images.begin;
    } else if (spec.batch == 1 && !spec.transposed && spec.out[0] >= members) {
      part = rows_of(spec, share_of(spec.out[0], member, members));
    } else if (spec.batch == 1 && spec.transposed && rows_are_apart(spec) &&
               spec.in[0] >= members) {
      const Share rows = share_of(spec.in[0], member, members);
      part.in_begin = rows.begin;
      part.in_rows = rows.end - rows.begin;
      part.out_begin = rows.begin * spec.strides[0];
      part.out_rows = part.in_rows * spec.strides[0];
    } else {
      return one;
    }
    if (part.in_rows <= 0 || part.out_rows <= 0 || part.batch <= 0) return one;
    parts.push_back(part);
  }
  return parts;
}

// Activations the library computes in its registers, exactly as we do; the others run over a
// part's output while it is in the cache. True if it was added. Its Relu and Clip are not among
// them: they make a bound of a NaN, and nobody would ever hear of it.
bool add_library_activation(const Activation& activation, dnnl::post_ops& post_ops) {
  using dnnl::algorithm;
  switch (activation.kind) {
    case OpKind::kLeakyRelu:
      if (activation.alpha == 0.0f) return false;
      post_ops.append_eltwise(1.0f, algorithm::eltwise_relu, activation.alpha, 0.0f);
      return true;
    case OpKind::kHardSwish:
      post_ops.append_eltwise(1.0f, algorithm::eltwise_hardswish, 0.0f, 0.0f);
      return true;
    default:
      return false;
  }
}

memory::dims dims_of(int64_t batch, int64_t channels, int64_t rows,
                     const std::vector<int64_t>& spatial) {
  memory::dims dims = {batch, channels, rows};
  dims.insert(dims.end(), spatial.begin() + 1, spatial.end());
  return dims;
}

memory::dims weight_dims(const ConvolutionSpec& spec) {
  memory::dims dims;
  if (spec.groups > 1) dims.push_back(spec.groups);
  dims.push_back(spec.out_channels / spec.groups);
  dims.push_back(spec.in_channels / spec.groups);
  dims.insert(dims.end(), spec.kernel.begin(), spec.kernel.end());
  return dims;
}

// What both kinds of convolution need to be described.
struct Description {
  memory::desc source;
  memory::desc weights;
  memory::desc bias;  // zero if there is none
  memory::desc destination;
  memory::dims strides;
  memory::dims dilations;
  memory::dims pads_begin;
  memory::dims pads_end;
  dnnl::primitive_attr attributes;
};

struct Made {
  dnnl::primitive primitive;
  memory::desc weights;
  memory::desc scratchpad;
  std::string name;
  Speed speed;
};

template <typename Primitive>
Made make_primitive(const Description& d, dnnl::algorithm algorithm) {
  const typename Primitive::desc op(dnnl::prop_kind::forward_inference, algorithm, d.source,
                                    d.weights, d.bias, d.destination, d.strides, d.dilations,
                                    d.pads_begin, d.pads_end);
  const auto chosen = fastest<Primitive>(op, d.attributes);
  return {Primitive(chosen), chosen.weights_desc(), chosen.scratchpad_desc(),
          std::string("oneDNN ") + chosen.impl_info_str(), speed_of(chosen.impl_info_str())};
}

memory::data_type source_type(const ConvolutionSpec& spec) {
  if (spec.source_type == DType::kInt8) return memory::data_type::s8;
  return spec.source_type == DType::kUInt8 ? memory::data_type::u8 : memory::data_type::f32;
}

Description describe(const ConvolutionSpec& spec, const Part& part,
                     const dnnl::post_ops& post_ops) {
  const auto tag = channels_last_tag(spec.in.size());
  constexpr auto kFloat = memory::data_type::f32;
  Description d;
  const bool bytes = spec.source_type != DType::kFloat32;
  d.source = {dims_of(part.batch, spec.in_channels, part.in_rows, spec.in), source_type(spec), tag};
  d.destination = {dims_of(part.batch, spec.out_channels, part.out_rows, spec.out),
                   bytes ? memory::data_type::s32 : kFloat, tag};
  d.weights = {weight_dims(spec), bytes ? memory::data_type::s8 : kFloat, memory::format_tag::any};
  if (spec.source_zero != 0) d.attributes.set_zero_points(DNNL_ARG_SRC, 0, {spec.source_zero});
  if (spec.bias != kNoValue) d.bias = {{spec.out_channels}, kFloat, memory::format_tag::a};
  d.strides = spec.strides;
  for (const int64_t dilation : spec.dilations) d.dilations.push_back(dilation - 1);
  d.pads_begin = spec.pads_begin;
  for (size_t i = 0; i < spec.in.size(); ++i) {
    d.pads_end.push_back(pad_end_of(spec, i, spec.in[i], spec.out[i], spec.pads_begin[i]));
  }
  d.pads_begin[0] = part.pad_begin;
  d.pads_end[0] = part.pad_end;
  d.attributes.set_post_ops(post_ops);
  d.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return d;
}

// One member's share, and what of the op is still to be done to it after the call.
struct Piece {
  OneDnnCall call;
  uint64_t out_offset;  // bytes
  size_t out_count;     // elements
  ValueId scratchpad;
  bool residual_left = false;
  bool activation_left = false;
};

struct Pieces {
  std::vector<Piece> pieces;
  std::string name;
};

class PieceMaker {
 public:
  PieceMaker(Lowering& lowering, const ConvolutionSpec& spec) : lowering_(lowering), spec_(spec) {}

  Pieces make(const std::vector<Part>& parts) {
    Pieces result;
    for (const Part& part : parts) result.pieces.push_back(make_piece(part, result));
    return result;
  }

 private:
  memory::desc residual_desc(const Part& part) const {
    return {dims_of(part.batch, spec_.out_channels, part.out_rows, spec_.out),
            memory::data_type::f32, channels_last_tag(spec_.in.size())};
  }

  Made make(const Description& description) const {
    return spec_.transposed ? make_primitive<dnnl::deconvolution_forward>(
                                  description, dnnl::algorithm::deconvolution_direct)
                            : make_primitive<dnnl::convolution_forward>(
                                  description, dnnl::algorithm::convolution_direct);
  }

  Piece make_piece(const Part& part, Pieces& result) {
    const bool residual = spec_.residual != kNoValue;
    bool residual_left = false;
    dnnl::post_ops post_ops;
    if (residual) post_ops.append_binary(dnnl::algorithm::binary_add, residual_desc(part));
    bool activation_left = spec_.activation && !add_library_activation(*spec_.activation, post_ops);
    Description description = describe(spec_, part, post_ops);
    Made made = make(description);
    // The im2col code of oneDNN 2.6 reads a residual as if it lay in plain order.
    if (residual && made.speed == Speed::kFallback) {
      residual_left = true;
      activation_left = spec_.activation.has_value();
      description = describe(spec_, part, {});
      made = make(description);
    }
    result.name = made.name;
    const int64_t in_row = product(spec_.in) / spec_.in[0] * spec_.in_channels;
    const int64_t out_row = product(spec_.out) / spec_.out[0] * spec_.out_channels;
    const auto in_offset =
        size_of(spec_.source_type) *
        static_cast<uint64_t>(in_row * (part.in_begin + part.batch_begin * spec_.in[0]));
    const auto out_offset =
        sizeof(float) *
        static_cast<uint64_t>(out_row * (part.out_begin + part.batch_begin * spec_.out[0]));
    const size_t scratch_bytes = made.scratchpad.get_size();
    const ValueId scratchpad = scratch_bytes > 0 ? lowering_.temporary(scratch_bytes) : kNoValue;
    std::vector<OneDnnCall::Impl::Argument> arguments;
    const auto add = [&](int index, const memory::desc& desc, ValueId value, uint64_t offset) {
      arguments.push_back({index, memory(desc, onednn_engine(), nullptr), value, offset});
    };
    add(DNNL_ARG_SRC, description.source, spec_.source, in_offset);
    add(DNNL_ARG_DST, description.destination, spec_.destination, out_offset);
    arguments.push_back({DNNL_ARG_WEIGHTS, packed(made.weights), kNoValue, 0});
    if (spec_.bias != kNoValue) add(DNNL_ARG_BIAS, description.bias, spec_.bias, 0);
    if (residual && !residual_left) {
      add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, description.destination,
          spec_.residual, out_offset);
    }
    if (scratchpad != kNoValue) add(DNNL_ARG_SCRATCHPAD, made.scratchpad, scratchpad, 0);
    if (spec_.source_type != DType::kFloat32) run_once(made, arguments);
    return {OneDnnCall(std::make_unique<OneDnnCall::Impl>(made.primitive, std::move(arguments))),
            out_offset,
            static_cast<size_t>(out_row * part.out_rows * part.batch),
            scratchpad,
            residual_left,
            activation_left};
  }

  // On memory of its own. Code for bytes makes kernels for the whole process when it is first run,
  // which is more than a replay may allocate.
  static void run_once(const Made& made, const std::vector<OneDnnCall::Impl::Argument>& arguments) {
    std::unordered_map<int, memory> given;
    for (const OneDnnCall::Impl::Argument& argument : arguments) {
      const bool own = argument.value == kNoValue;
      given.emplace(argument.index,
                    own ? argument.memory : memory(argument.memory.get_desc(), onednn_engine()));
    }
    made.primitive.execute(onednn_stream(), given);
    onednn_stream().wait();
  }

  // The weights in the layout a primitive asked for; parts mostly ask for the same.
  memory packed(const memory::desc& wanted) {
    for (const memory& have : packed_) {
      if (have.get_desc() == wanted) return have;
    }
    const bool bytes = spec_.byte_weights != nullptr;
    const memory::desc given(weight_dims(spec_),
                             bytes ? memory::data_type::s8 : memory::data_type::f32,
                             spec_.weight_strides);
    const void* const weights =
        bytes ? static_cast<const void*>(spec_.byte_weights) : spec_.weights;
    memory from(given, onednn_engine(), const_cast<void*>(weights));
    memory to(wanted, onednn_engine());
    dnnl::reorder(from, to).execute(onednn_stream(), from, to);
    onednn_stream().wait();
    packed_.push_back(to);
    return to;
  }

  Lowering& lowering_;
  const ConvolutionSpec& spec_;
  std::vector<memory> packed_;
};

class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(Pieces pieces, const ConvolutionSpec& spec)
      : pieces_(std::move(pieces)),
        destination_(spec.destination),
        residual_(spec.residual),
        activation_(spec.activation) {}

  void run(const RunContext& context) override {
    Piece& piece = pieces_.pieces[context.part];
    piece.call.execute(context);
    float* out = reinterpret_cast<float*>(context.at<std::byte>(destination_) + piece.out_offset);
    if (piece.residual_left) {
      const auto* residual =
          reinterpret_cast<const float*>(context.at<std::byte>(residual_) + piece.out_offset);
      for (size_t i = 0; i < piece.out_count; ++i) out[i] += residual[i];
    }
    if (piece.activation_left) apply(*activation_, out, out, piece.out_count);
  }

 private:
  Pieces pieces_;
  ValueId destination_;
  ValueId residual_;
  std::optional<Activation> activation_;
};

}  // namespace

int64_t ConvolutionSpec::multiply_adds() const {
  const int64_t positions = product(transposed ? in : out);
  return batch * positions * product(kernel) * in_channels / groups * out_channels;
}

bool is_exact_here(int64_t bound) {
  constexpr int64_t kExactInFloat = int64_t{1} << 24;
  constexpr auto kVnni = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_vnni);
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & kVnni) == kVnni && bound <= kExactInFloat;
}

Status add_convolution(Lowering& lowering, const ConvolutionSpec& spec) {
  Pieces pieces;
  MODELD_TRY(onednn_try(
      [&] { pieces = PieceMaker(lowering, spec).make(split(spec, lowering.members())); }));
  std::vector<ValueId> reads = {spec.source};
  if (spec.bias != kNoValue) reads.push_back(spec.bias);
  if (spec.residual != kNoValue) reads.push_back(spec.residual);
  std::vector<ValueId> writes = {spec.destination};
  for (const Piece& piece : pieces.pieces) {
    if (piece.scratchpad != kNoValue) writes.push_back(piece.scratchpad);
  }
  Lowering::StepOptions options;
  options.parallel = pieces.pieces.size() > 1;
  const std::string how = pieces.name + (spec.activation ? " + activation" : "") +
                          (spec.residual != kNoValue ? " + residual" : "");
  lowering.add(std::make_unique<ConvolutionStep>(std::move(pieces), spec), how, std::move(reads),
               std::move(writes), std::move(options));
  return {};
}

}  // namespace modeld::cpu
