#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>

#include "manifest.capnp.h"
#include "runtime/artifact/file_header.h"
#include "runtime/artifact/manifest_codec.h"

namespace modeld {
namespace {

kj::StringPtr text(std::string_view value) {
  // Only for values that end in a NUL: std::string and the literals behind to_string().
  return {value.data(), value.size()};
}

template <typename Builder, typename Values>
void set_scalars(Builder builder, const Values& values) {
  for (uint32_t i = 0; i < values.size(); ++i) builder.set(i, values[i]);
}

uint32_t count(const auto& values) {
  return static_cast<uint32_t>(values.size());
}

// Declared ahead for encode_all(): lookup at instantiation does not see an unnamed namespace.
void encode(const Op&, manifest::Program::Op::Builder);
void encode(const Tensor&, manifest::Program::Tensor::Builder);
void encode(const StateBinding&, manifest::Program::State::Builder);
void encode(const InputContract&, manifest::Contract::Input::Builder);
void encode(const Tolerance&, manifest::Contract::Tolerance::Builder);
void encode(const OutputSlice&, manifest::Contract::Slice::Builder);
void encode(const OutputContract&, manifest::Contract::Output::Builder);
void encode(const StateContract&, manifest::Contract::State::Builder);
void encode(const FrameSize&, manifest::Contract::FrameSize::Builder);
void encode(const CameraContract&, manifest::Contract::Camera::Builder);
void encode(const ReferenceVector&, manifest::Contract::Reference::Builder);
void encode(const Acceptance&, manifest::Contract::Acceptance::Builder);
void encode(const std::pair<std::string, int64_t>&, manifest::Contract::Opset::Builder);

template <typename Values, typename Builder>
void encode_all(const Values& values, Builder builder) {
  for (uint32_t i = 0; i < values.size(); ++i) encode(values[i], builder[i]);
}

void encode(const TensorType& in, manifest::TensorType::Builder out) {
  out.setDtype(text(to_string(in.dtype)));
  set_scalars(out.initShape(count(in.shape)), in.shape);
}

void encode(const WeightRef& in, manifest::WeightRef::Builder out) {
  out.setOffset(in.offset);
  out.setLength(in.length);
}

void encode(const std::string& name, const AttributeValue& value,
            manifest::Program::Attribute::Builder out) {
  out.setName(text(name));
  if (const auto* integer = std::get_if<int64_t>(&value)) out.setInteger(*integer);
  if (const auto* real = std::get_if<double>(&value)) out.setReal(*real);
  if (const auto* string = std::get_if<std::string>(&value)) out.setText(text(*string));
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    set_scalars(out.initIntegers(count(*integers)), *integers);
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    set_scalars(out.initReals(count(*reals)), *reals);
  }
}

void encode(const Op& in, manifest::Program::Op::Builder out) {
  out.setKind(text(to_string(in.kind)));
  out.setName(text(in.name));
  out.setPhase(text(to_string(in.phase)));
  set_scalars(out.initInputs(count(in.inputs)), in.inputs);
  set_scalars(out.initOutputs(count(in.outputs)), in.outputs);
  auto attributes = out.initAttributes(count(in.attributes.map()));
  uint32_t i = 0;
  for (const auto& [name, value] : in.attributes.map()) encode(name, value, attributes[i++]);
}

void encode(const Tensor& in, manifest::Program::Tensor::Builder out) {
  out.setName(text(in.name));
  encode(in.type, out.initType());
  if (in.weight) encode(*in.weight, out.initWeight());
}

void encode(const StateBinding& in, manifest::Program::State::Builder out) {
  out.setCurrent(in.current);
  out.setNext(in.next);
  if (in.initial) encode(*in.initial, out.initInitial());
}

void encode(const Program& in, manifest::Program::Builder out) {
  encode_all(in.tensors, out.initTensors(count(in.tensors)));
  encode_all(in.ops, out.initOps(count(in.ops)));
  set_scalars(out.initInputs(count(in.inputs)), in.inputs);
  set_scalars(out.initOutputs(count(in.outputs)), in.outputs);
  encode_all(in.states, out.initStates(count(in.states)));
}

void encode(const InputContract& in, manifest::Contract::Input::Builder out) {
  out.setName(text(in.name));
  out.setRole(text(to_string(in.role)));
  out.setSource(text(in.source));
  encode(in.type, out.initType());
}

void encode(const Tolerance& in, manifest::Contract::Tolerance::Builder out) {
  out.setDeviceClass(text(to_string(in.device_class)));
  out.setAbsolute(in.absolute);
  out.setRelative(in.relative);
}

void encode(const OutputSlice& in, manifest::Contract::Slice::Builder out) {
  out.setName(text(in.name));
  out.setStart(in.start);
  out.setStop(in.stop);
  out.setMinimum(in.minimum);
  out.setMaximum(in.maximum);
  out.setVaries(in.varies);
  encode_all(in.tolerances, out.initTolerances(count(in.tolerances)));
}

void encode(const OutputContract& in, manifest::Contract::Output::Builder out) {
  out.setName(text(in.name));
  encode(in.type, out.initType());
  encode_all(in.slices, out.initSlices(count(in.slices)));
}

void encode(const StateContract& in, manifest::Contract::State::Builder out) {
  out.setName(text(in.name));
  out.setReset(text(in.reset));
}

void encode(const FrameSize& in, manifest::Contract::FrameSize::Builder out) {
  out.setWidth(in.width);
  out.setHeight(in.height);
}

void encode(const CameraContract& in, manifest::Contract::Camera::Builder out) {
  out.setFrameInput(text(in.frame_input));
  out.setTransformInput(text(in.transform_input));
  encode_all(in.sizes, out.initSizes(count(in.sizes)));
  out.setLayout(text(in.layout));
  encode(in.output_size, out.initOutputSize());
  if (in.border_fill) {
    out.getBorder().setFill(*in.border_fill);
  } else {
    out.getBorder().setClamp();
  }
  out.setPixelRange(text(in.pixel_range));
  out.setColourMatrix(text(in.colour_matrix));
}

void encode(const ReferenceVector& in, manifest::Contract::Reference::Builder out) {
  out.setSeed(in.seed);
  out.setSteps(in.steps);
  auto outputs = out.initOutputs(count(in.outputs));
  for (uint32_t i = 0; i < in.outputs.size(); ++i) {
    outputs.set(i, {reinterpret_cast<const kj::byte*>(in.outputs[i].data()), in.outputs[i].size()});
  }
}

void encode(const Acceptance& in, manifest::Contract::Acceptance::Builder out) {
  out.setBackend(text(in.backend));
  out.setDeviceClass(text(to_string(in.device_class)));
  out.setDevice(text(in.device));
  out.setWorstMs(in.worst_ms);
  out.setUnixSeconds(in.unix_seconds);
}

void encode(const std::pair<std::string, int64_t>& in, manifest::Contract::Opset::Builder out) {
  out.setDomain(text(in.first));
  out.setVersion(in.second);
}

void encode(const Contract& in, manifest::Contract::Builder out) {
  out.setRole(text(to_string(in.role)));
  auto classes = out.initDeviceClasses(count(in.device_classes));
  for (uint32_t i = 0; i < in.device_classes.size(); ++i) {
    classes.set(i, text(to_string(in.device_classes[i])));
  }
  out.setName(text(in.name));
  out.setSourceSha256(text(in.source_sha256));
  encode_all(in.opsets, out.initOpsets(count(in.opsets)));
  out.setCompilerVersion(text(in.compiler_version));
  out.setCheckpoint(text(in.checkpoint));
  out.setPrecision(text(to_string(in.precision)));
  encode_all(in.inputs, out.initInputs(count(in.inputs)));
  encode_all(in.outputs, out.initOutputs(count(in.outputs)));
  encode_all(in.states, out.initStates(count(in.states)));
  encode_all(in.cameras, out.initCameras(count(in.cameras)));
  encode_all(in.references, out.initReferences(count(in.references)));
  encode_all(in.acceptances, out.initAcceptances(count(in.acceptances)));
}

// One segment in canonical form behind the standard stream framing (segment count minus one, then
// the segment's words).
std::vector<std::byte> framed(kj::ArrayPtr<const capnp::word> words) {
  const auto content = words.asBytes();
  const auto word_count = static_cast<uint32_t>(words.size());
  std::vector<std::byte> bytes(8 + content.size());
  for (size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<std::byte>(word_count >> (8 * i));
  std::memcpy(bytes.data() + 8, content.begin(), content.size());
  return bytes;
}

std::vector<std::byte> encode_canonical(const Manifest& manifest) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<manifest::Manifest>();
  encode(manifest.contract, root.initContract());
  encode(manifest.program, root.initProgram());
  auto hashes = root.initWeightBlockHashes(
      static_cast<uint32_t>(manifest.weight_block_hashes.size() * sizeof(Sha256)));
  for (size_t i = 0; i < manifest.weight_block_hashes.size(); ++i) {
    std::memcpy(hashes.begin() + i * sizeof(Sha256), manifest.weight_block_hashes[i].data(),
                sizeof(Sha256));
  }
  const auto words = capnp::canonicalize(root.asReader());
  return framed(words.asPtr());
}

uint64_t reference_bytes(const Contract& contract) {
  uint64_t total = 0;
  for (const ReferenceVector& reference : contract.references) {
    for (const auto& output : reference.outputs) total += output.size();
  }
  return total;
}

Error too_large(uint64_t bytes) {
  return Error(ErrorCode::kInvalidArgument, "manifest is too large")
      .expecting("at most " + std::to_string(kMaxManifestBytes) + " bytes",
                 std::to_string(bytes) + " bytes");
}

}  // namespace

Result<std::vector<std::byte>> encode_manifest(const Manifest& manifest) {
  if (const uint64_t bytes = reference_bytes(manifest.contract); bytes > kMaxManifestBytes) {
    return too_large(bytes);
  }
  try {
    std::vector<std::byte> bytes = encode_canonical(manifest);
    if (bytes.size() > kMaxManifestBytes) return too_large(bytes.size());
    return bytes;
  } catch (const kj::Exception& failure) {
    return Error(ErrorCode::kInvalidArgument,
                 std::string("encoding the manifest: ") + failure.getDescription().cStr());
  }
}

}  // namespace modeld
