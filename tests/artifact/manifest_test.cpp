// The manifest's bytes: both ways, and hostile ones. Hostile manifests are put into otherwise
// perfect, signed files, so that nothing but the decoder stands in their way.
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <random>

#include "manifest.capnp.h"
#include "runtime/artifact/file_header.h"
#include "runtime/artifact/manifest_codec.h"
#include "tests/artifact/artifact_test_support.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

using Edit = std::function<void(manifest::Manifest::Builder)>;

Bytes frame(kj::ArrayPtr<const capnp::word> words) {
  const auto content = words.asBytes();
  Bytes bytes(8 + content.size());
  put<uint32_t>(bytes, 4, static_cast<uint32_t>(words.size()));
  std::copy_n(reinterpret_cast<const std::byte*>(content.begin()), content.size(),
              bytes.begin() + 8);
  return bytes;
}

class ManifestTest : public ArtifactTest {
 protected:
  Bytes tiny_manifest() const {
    const Bytes file = read_bytes(path_);
    const auto begin = file.begin() + kManifestStart;
    return {begin, begin + static_cast<std::ptrdiff_t>(get_u64(file, kManifestSectionField + 8))};
  }

  // The tiny model's manifest with one thing changed, canonical again.
  Bytes edited(const Edit& edit) const {
    const Bytes bytes = tiny_manifest();
    auto words = kj::heapArray<capnp::word>(bytes.size() / 8);
    std::memcpy(words.begin(), bytes.data(), bytes.size());
    capnp::FlatArrayMessageReader reader(words);
    capnp::MallocMessageBuilder message;
    message.setRoot(reader.getRoot<manifest::Manifest>());
    edit(message.getRoot<manifest::Manifest>());
    const auto canonical = capnp::canonicalize(message.getRoot<manifest::Manifest>().asReader());
    return frame(canonical.asPtr());
  }

  void write_with_manifest(const Bytes& manifest) {
    const FileHeader header{.manifest_bytes = manifest.size(),
                            .weights_bytes = kTinyWeightsBytes,
                            .manifest_hash = sha256(manifest)};
    const HeaderBytes head = encode_header(header);
    Bytes covered(head.begin(), head.end());
    covered.insert(covered.end(), manifest.begin(), manifest.end());
    const auto signature = encode_signature({.is_signed = true,
                                             .key = key_.public_key().value(),
                                             .signature = key_.sign(covered).value()});
    Bytes file(head.begin(), head.end());
    file.insert(file.end(), signature.begin(), signature.end());
    file.insert(file.end(), manifest.begin(), manifest.end());
    file.resize(header.weights_offset() + kTinyWeightsBytes);
    const Model model = tiny_model();
    EXPECT_TRUE(model.weights->read(0, std::span(file).subspan(header.weights_offset())).ok());
    write_bytes(path_, file);
  }

  std::string refusal_after(const Edit& edit) {
    write(tiny_model());
    write_with_manifest(edited(edit));
    return refusal();
  }
};

TEST_F(ManifestTest, RoundTrip) {
  const Model model = tiny_model();
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok()) << to_string(artifact.error());
  EXPECT_EQ(artifact->model().contract, model.contract);
  const Program& found = artifact->model().program;
  ASSERT_EQ(found.tensors.size(), model.program.tensors.size());
  for (size_t i = 0; i < found.tensors.size(); ++i) {
    EXPECT_EQ(found.tensors[i].name, model.program.tensors[i].name);
    EXPECT_EQ(found.tensors[i].type, model.program.tensors[i].type);
    EXPECT_EQ(found.tensors[i].weight, model.program.tensors[i].weight);
  }
  ASSERT_EQ(found.ops.size(), model.program.ops.size());
  for (size_t i = 0; i < found.ops.size(); ++i) {
    EXPECT_EQ(found.ops[i].kind, model.program.ops[i].kind);
    EXPECT_EQ(found.ops[i].name, model.program.ops[i].name);
    EXPECT_EQ(found.ops[i].inputs, model.program.ops[i].inputs);
    EXPECT_EQ(found.ops[i].outputs, model.program.ops[i].outputs);
    EXPECT_EQ(found.ops[i].attributes, model.program.ops[i].attributes);
    EXPECT_EQ(found.ops[i].phase, model.program.ops[i].phase);
  }
  EXPECT_EQ(found.inputs, model.program.inputs);
  EXPECT_EQ(found.outputs, model.program.outputs);
  ASSERT_EQ(found.states.size(), 1u);
  EXPECT_EQ(found.states[0].current, model.program.states[0].current);
  EXPECT_EQ(found.states[0].next, model.program.states[0].next);
  EXPECT_EQ(found.states[0].initial, model.program.states[0].initial);
}

TEST_F(ManifestTest, AttributesOfEveryKindSurvive) {
  Op op;
  op.attributes.set("a", int64_t{-5});
  op.attributes.set("b", 0.1);
  op.attributes.set("c", std::string("text"));
  op.attributes.set("d", std::vector<int64_t>{1, -2, int64_t{1} << 62});
  op.attributes.set("e", std::vector<double>{0.5, -1e300});
  Program program;
  program.ops = {op};
  auto bytes = encode_manifest({{}, program, {}});
  ASSERT_TRUE(bytes.ok());
  auto decoded = decode_manifest(*bytes);
  ASSERT_TRUE(decoded.ok()) << to_string(decoded.error());
  EXPECT_EQ(decoded->program.ops[0].attributes, op.attributes);
}

TEST_F(ManifestTest, TheUneditedManifestStillLoads) {
  EXPECT_EQ(refusal_after([](manifest::Manifest::Builder) {}), "accepted");
}

TEST_F(ManifestTest, UnknownNames) {
  EXPECT_THAT(refusal_after([](auto m) { m.getProgram().getOps()[1].setKind("LaunchMissile"); }),
              HasSubstr("manifest: op (expected a known name, found 'LaunchMissile')"));
  EXPECT_THAT(refusal_after([](auto m) { m.getProgram().getOps()[1].setPhase("upload"); }),
              HasSubstr("phase of an op"));
  EXPECT_THAT(
      refusal_after([](auto m) { m.getProgram().getTensors()[2].getType().setDtype("f8"); }),
      HasSubstr("dtype (expected a known name, found 'f8')"));
  EXPECT_THAT(refusal_after([](auto m) { m.getContract().setRole("piloting"); }),
              HasSubstr("role of the model"));
  EXPECT_THAT(refusal_after([](auto m) { m.getContract().setPrecision("int4"); }),
              HasSubstr("precision"));
}

TEST_F(ManifestTest, OtherRole) {
  EXPECT_THAT(refusal({.role = ModelRole::kDriving, .device_class = std::nullopt}),
              HasSubstr("role of the model (expected driving, found monitoring)"));
}

TEST_F(ManifestTest, OtherDeviceClass) {
  EXPECT_THAT(refusal({.role = std::nullopt, .device_class = DeviceClass::kAccelerator}),
              HasSubstr("device class (expected accelerator, found cpu, gpu)"));
}

TEST_F(ManifestTest, RoleIsToldBeforeTheProgramIsRead) {
  write_with_manifest(edited([](auto m) { m.getProgram().getOps()[1].setKind("Unheard"); }));
  EXPECT_THAT(refusal({.role = ModelRole::kDriving, .device_class = std::nullopt}),
              HasSubstr("role of the model"));
}

TEST_F(ManifestTest, CameraSize) {
  auto artifact = Artifact::open(path_, trust_);
  ASSERT_TRUE(artifact.ok());
  const CameraContract& camera = artifact->model().contract.cameras[0];
  EXPECT_TRUE(check_camera_size(camera, {1928, 1208}).ok());
  EXPECT_TRUE(check_camera_size(camera, {1344, 760}).ok());
  const Status status = check_camera_size(camera, {1164, 874});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_THAT(
      to_string(status.error()),
      HasSubstr("size of camera 'camera' (expected 1928x1208 or 1344x760, found 1164x874)"));
}

TEST_F(ManifestTest, StatePairsThatDoNotMatch) {
  EXPECT_THAT(refusal_after([](auto m) { m.getProgram().getStates()[0].setNext(5); }),
              HasSubstr("program"));
  EXPECT_THAT(refusal_after([](auto m) { m.getContract().getStates()[0].setName("other"); }),
              HasSubstr("name of state 0 (expected state, found other)"));
  EXPECT_THAT(refusal_after([](auto m) { m.getContract().disownStates(); }),
              HasSubstr("number of states (expected 1, found 0)"));
}

TEST_F(ManifestTest, IdsOutOfRange) {
  for (const uint32_t id : {uint32_t{11}, uint32_t{1} << 31, kNoTensor}) {
    EXPECT_THAT(refusal_after([&](auto m) { m.getProgram().getInputs().set(0, id); }),
                HasSubstr("program"));
    EXPECT_THAT(refusal_after([&](auto m) { m.getProgram().getStates()[0].setCurrent(id); }),
                HasSubstr("program"));
    EXPECT_THAT(refusal_after([&](auto m) { m.getProgram().getOps()[0].getOutputs().set(0, id); }),
                HasSubstr("program"));
  }
}

TEST_F(ManifestTest, WeightsOutOfRangeAndOffTheGrid) {
  EXPECT_THAT(refusal_after([](auto m) {
                m.getProgram().getTensors()[6].getWeight().setOffset(~uint64_t{0});
              }),
              HasSubstr("program"));
  EXPECT_THAT(
      refusal_after([](auto m) { m.getProgram().getTensors()[6].getWeight().setOffset(8); }),
      HasSubstr("offset of weight 'w' (expected a multiple of 256, found 8)"));
  EXPECT_THAT(
      refusal_after([](auto m) { m.getProgram().getStates()[0].getInitial().setOffset(2044); }),
      HasSubstr("offset of weight 'state'"));
}

TEST_F(ManifestTest, WeightHashesOfAnotherCount) {
  EXPECT_THAT(refusal_after([](auto m) { m.initWeightBlockHashes(64); }),
              HasSubstr("number of weight block hashes (expected 1, found 2)"));
  EXPECT_THAT(refusal_after([](auto m) { m.initWeightBlockHashes(33); }),
              HasSubstr("a multiple of 32 bytes"));
  EXPECT_THAT(refusal_after([](auto m) { m.disownWeightBlockHashes(); }),
              HasSubstr("(expected 1, found 0)"));
}

TEST_F(ManifestTest, HugeCounts) {
  // A list of empty structs takes no room in the message, whatever its length.
  EXPECT_THAT(refusal_after([](auto m) { m.getProgram().initOps(20'000'000); }),
              HasSubstr("manifest: "));
  EXPECT_THAT(refusal_after([](auto m) { m.getProgram().initTensors(300'000); }),
              HasSubstr("manifest: "));
  EXPECT_THAT(refusal_after([](auto m) { m.getContract().initInputs(5000); }),
              HasSubstr("manifest: inputs (expected at most 4096, found 5000)"));
  EXPECT_THAT(refusal_after([](auto m) {
                auto shape = m.getProgram().getTensors()[2].getType().initShape(9);
                for (uint32_t i = 0; i < 9; ++i) shape.set(i, 1);
              }),
              HasSubstr("rank of a tensor (expected at most 8, found 9)"));
  EXPECT_THAT(refusal_after([](auto m) {
                auto shape = m.getProgram().getTensors()[2].getType().initShape(2);
                shape.set(0, int64_t{1} << 40);
                shape.set(1, int64_t{1} << 40);
              }),
              HasSubstr("program"));
}

TEST_F(ManifestTest, TextThatIsLongOrNotText) {
  const std::string long_name(5000, 'x');
  EXPECT_THAT(refusal_after([&](auto m) { m.getContract().setName(long_name.c_str()); }),
              HasSubstr("at most 4096 bytes of text"));
  EXPECT_THAT(refusal_after([](auto m) { m.getContract().setName("\x1b[31mred"); }),
              HasSubstr("UTF-8 text without control characters"));
  EXPECT_THAT(refusal_after([](auto m) { m.getProgram().getOps()[0].setName("a\nb"); }),
              HasSubstr("UTF-8 text without control characters"));
}

TEST_F(ManifestTest, CleanText) {
  for (const char* good : {"", "conv_1/weight",
                           "Stra\xc3\x9f"
                           "e",
                           "\xe4\xbb\x8a", "\xf0\x9f\x9a\x97"}) {
    EXPECT_TRUE(is_clean_text(good)) << good;
  }
  for (const char* bad : {"\x7f", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                          "\xc2\x9b", "\x80", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xff"}) {
    EXPECT_FALSE(is_clean_text(bad)) << bad;
  }
}

TEST_F(ManifestTest, AttributesAreSortedAndUnique) {
  EXPECT_THAT(refusal_after([](auto m) {
                auto attributes = m.getProgram().getOps()[0].getAttributes();
                attributes[1].setName("layout");
                attributes[0].setName("layout");
              }),
              HasSubstr("attribute names (expected ascending, found 'layout')"));
}

TEST_F(ManifestTest, OneModelHasOneManifest) {
  const Bytes canonical = tiny_manifest();
  // The same message with one more word nobody points to.
  Bytes longer = canonical;
  longer.resize(longer.size() + 8);
  put<uint32_t>(longer, 4, static_cast<uint32_t>(longer.size() / 8 - 1));
  write_with_manifest(longer);
  EXPECT_THAT(refusal(), HasSubstr("canonical"));
}

TEST_F(ManifestTest, Framing) {
  const Bytes whole = tiny_manifest();
  for (const size_t length : {size_t{1}, size_t{7}, size_t{8}, size_t{16}, whole.size() - 8}) {
    write(tiny_model());
    write_with_manifest(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    EXPECT_THAT(refusal(), HasSubstr("manifest: framing")) << length;
  }
  Bytes segments = whole;
  put<uint32_t>(segments, 0, 1);
  write_with_manifest(segments);
  EXPECT_THAT(refusal(), HasSubstr("manifest: framing"));
}

// Whatever the bytes are, the decoder answers, and answers soon.
TEST_F(ManifestTest, RandomDamageIsAnswered) {
  const Bytes whole = tiny_manifest();
  std::mt19937 random(20240501);  // NOLINT: repeatable on purpose
  size_t refused = 0;
  for (int round = 0; round < 4000; ++round) {
    Bytes bytes = whole;
    for (int i = 0; i < 1 + round % 4; ++i) {
      bytes[8 + random() % (bytes.size() - 8)] = std::byte(random() % 256);
    }
    auto decoded = decode_manifest(bytes);
    if (decoded.ok()) {
      // What decodes may still be nonsense; the checks behind must stand it.
      (void)check_model(decoded->contract, decoded->program, kTinyWeightsBytes);
      continue;
    }
    ++refused;
    EXPECT_EQ(decoded.error().code, ErrorCode::kRefused);
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace modeld::test
