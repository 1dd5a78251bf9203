// Random cases, and those of earlier runs that found something.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "runtime/device/backends.h"
#include "tests/differential/closeness.h"
#include "tests/differential/fuzz_options.h"
#include "tests/differential/fuzz_run.h"
#include "tests/differential/make_case.h"
#include "tests/peers/ort_peer.h"
#include "tests/support/temp_dir.h"

namespace modeld::test {
namespace {

// What was checked, and a case kept for ONNX Runtime.
struct Kept {
  FuzzCase made;
  Answer want;
  std::filesystem::path file;
};

// The first line of a failure says how to see the case again.
std::string report_of(const FuzzCase& made, const std::string& off) {
  return off + "\n  again: test_differential --case " + to_string(made.id) + "\n" +
         made.description();
}

std::optional<Kept> check_case(const CaseId& id, const std::filesystem::path& file) {
  Kept kept{make_case(id), {}, {}};
  try {
    kept.want = reference_answer(kept.made);
    if (const std::string off = check_cpu(kept.made, kept.want); !off.empty()) {
      ADD_FAILURE() << report_of(kept.made, off);
      return std::nullopt;
    }
    bool written = false;
    if (const std::string off = check_compiled(kept.made, kept.want, file, written); !off.empty()) {
      ADD_FAILURE() << report_of(kept.made, off);
      return std::nullopt;
    }
    if (!written) return std::nullopt;
  } catch (const std::exception& error) {
    ADD_FAILURE() << report_of(kept.made, error.what());
    return std::nullopt;
  }
  kept.file = file;
  return kept;
}

std::optional<NpyType> npy_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return NpyType::kF4;
    case DType::kFloat64:
      return NpyType::kF8;
    case DType::kFloat16:
      return NpyType::kF2;
    case DType::kInt8:
      return NpyType::kI1;
    case DType::kUInt8:
      return NpyType::kU1;
    case DType::kInt16:
      return NpyType::kI2;
    case DType::kUInt16:
      return NpyType::kU2;
    case DType::kInt32:
      return NpyType::kI4;
    case DType::kUInt32:
      return NpyType::kU4;
    case DType::kInt64:
      return NpyType::kI8;
    case DType::kUInt64:
      return NpyType::kU8;
    case DType::kBool:
      return NpyType::kB1;
    default:
      return std::nullopt;  // bfloat16: not one of NumPy's
  }
}

std::optional<OrtPeer::BatchJob> job_of(const Kept& kept) {
  OrtPeer::BatchJob job{kept.file, {}};
  const Program& program = kept.made.program.program();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.inputs[i]];
    const auto type = npy_type(tensor.type.dtype);
    if (!type) return std::nullopt;
    NpyArray array{*type, {}, kept.made.inputs[i]};
    for (const int64_t extent : tensor.type.shape) {
      array.shape.push_back(static_cast<uint64_t>(extent));
    }
    job.inputs.emplace(tensor.name, std::move(array));
  }
  for (const TensorId id : program.outputs) {
    if (!npy_type(program.tensors[id].type.dtype)) return std::nullopt;
  }
  return job;
}

// Other libraries add in another order and approximate other functions.
constexpr double kSlackOfPeers = 8;

// Empty, or how ONNX Runtime's answer differs.
std::string compare_with_peer(const Kept& kept, const NamedArrays& outputs) {
  const Program& program = kept.made.program.program();
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.outputs[i]];
    const auto found = outputs.find(tensor.name);
    if (found == outputs.end()) return "no output " + tensor.name;
    Closeness closeness = closeness_of(kept.made, tensor.type.dtype, kSlackOfPeers);
    closeness.same_zero_sign = false;
    const std::string off =
        difference(closeness, tensor.type, found->second.bytes, kept.want.outputs[i]);
    if (!off.empty()) return "reference against ONNX Runtime: " + off;
  }
  return "";
}

void check_against_peer(const std::vector<Kept>& all) {
  if (const auto& missing = OrtPeer::instance().missing(); !missing.empty()) {
    std::cout << "not compared with ONNX Runtime: " << missing << "\n";
    return;
  }
  std::vector<const Kept*> asked;
  std::vector<OrtPeer::BatchJob> jobs;
  for (const Kept& kept : all) {
    if (!kept.made.portable) continue;
    if (auto job = job_of(kept)) {
      asked.push_back(&kept);
      jobs.push_back(std::move(*job));
    }
  }
  const auto answers = OrtPeer::instance().run_batch(jobs);
  std::map<std::string, size_t> refused;
  size_t compared = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    const FuzzCase& made = asked[i]->made;
    if (!answers[i].error.empty()) {
      const std::string kind = made.id.kind ? std::string(to_string(*made.id.kind)) : "graph";
      const size_t words = answers[i].error.find("failed:");  // behind the file's name
      ++refused[kind + ": " + answers[i].error.substr(words == std::string::npos ? 0 : words, 80)];
      continue;
    }
    ++compared;
    const std::string off = compare_with_peer(*asked[i], answers[i].outputs);
    if (!off.empty()) ADD_FAILURE() << report_of(made, off);
  }
  for (const auto& [why, times] : refused) std::cout << "  " << times << " x " << why << "\n";
  std::cout << compared << " of " << answers.size() << " cases compared with ONNX Runtime\n";
  EXPECT_GE(compared * 10, answers.size() * 6) << "too few for a comparison";
}

TEST(Differential, EveryOpIsGeneratedOrSaysWhyNot) {
  for (const auto& [kind, reason] : coverage().left_out) {
    EXPECT_NE(reason, "") << to_string(kind)
                          << ": add a generator (case_maker.cpp) or a reason_not_generated()";
    std::cout << "not generated: " << to_string(kind) << " (" << reason << ")\n";
  }
}

TEST(Differential, ACaseIdIsTheSameCase) {
  for (const char* text : {"Conv/0x1f", "graph/0xabc"}) {
    const auto id = parse_case_id(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(to_string(*id), text);
    const FuzzCase once = make_case(*id);
    const FuzzCase again = make_case(*id);
    EXPECT_EQ(once.description(), again.description());
    EXPECT_EQ(once.inputs, again.inputs);
  }
  for (const char* text : {"Conv", "Conv/0x", "Nothing/0x1", "graph/12", "graph/0x1g"}) {
    EXPECT_FALSE(parse_case_id(text)) << text;
  }
}

// Tolerances are measured on the reference alone: the backend must keep them for any graph.
TEST(Differential, RandomGraphsPassTheirSelfTestAtEveryPrecision) {
  const FuzzOptions& options = fuzz_options();
  const TempDir folder;
  const uint64_t count = std::min<uint64_t>(options.count / 5, 2000);
  size_t refusals = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const CaseId id{std::nullopt, case_of_run(options.seed + 1, i).seed};
    const FuzzCase made = make_case(id);
    constexpr Precision kPolicies[] = {Precision::kFloat32, Precision::kFloat16,
                                       Precision::kBFloat16};
    const Precision precision = kPolicies[i % 3];
    bool refused = false;
    try {
      const std::string off = check_self_test(made, precision, folder / "m.onnx", refused);
      if (!off.empty()) {
        ADD_FAILURE() << report_of(made, std::string(to_string(precision)) + ": " + off);
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << report_of(made, error.what());
    }
    if (refused) ++refusals;
    EXPECT_FALSE(refused && precision == Precision::kFloat32) << to_string(id);
  }
  std::cout << count << " graphs, " << refusals << " refused at half precision\n";
  EXPECT_LE(refusals * 5, count * 2) << "hardly a policy left to test";
}

TEST(Differential, RandomCasesAgreeOnOpencl) {
  if (fuzz_options().opencl_count == 0) GTEST_SKIP() << "cases on opencl: --opencl-count N";
  if (const auto device = open_backend("opencl"); !device.ok()) {
    GTEST_SKIP() << to_string(device.error());
  }
  const FuzzOptions& options = fuzz_options();
  const uint64_t count = options.only ? 1 : options.opencl_count;
  for (uint64_t i = 0; i < count; ++i) {
    CaseId id = options.only ? *options.only : case_of_run(options.seed, i);
    if (options.kind && !options.only) id.kind = options.kind;
    const FuzzCase made = make_case(id);
    try {
      const std::string off = check_opencl(made, reference_answer(made));
      if (!off.empty()) ADD_FAILURE() << report_of(made, off);
    } catch (const std::exception& error) {
      ADD_FAILURE() << report_of(made, error.what());
    }
  }
  std::cout << count << " cases on opencl\n";
}

TEST(Differential, RandomCasesAgree) {
  const FuzzOptions& options = fuzz_options();
  const TempDir folder;
  std::vector<Kept> kept;
  if (options.only) {
    const FuzzCase made = make_case(*options.only);
    std::cout << made.description() << "steps:\n"
              << lowering_of(made) << "compiled, cpu against reference:\n"
              << compare_op_by_op(made, folder / "m.onnx");
    if (auto one = check_case(*options.only, folder / "m.onnx")) kept.push_back(std::move(*one));
  } else {
    std::cout << "seed " << options.seed << ", " << options.count
              << " cases (again: test_differential --seed " << options.seed << " --count "
              << options.count << ")\n";
    const auto case_id = [&](uint64_t index) {
      CaseId id = case_of_run(options.seed, index);
      if (options.kind) id.kind = options.kind;
      return id;
    };
    for (uint64_t i = 0; i < options.count; ++i) {
      const auto file = folder / (std::to_string(i) + ".onnx");
      if (auto one = check_case(case_id(i), file)) kept.push_back(std::move(*one));
      if (kept.size() < 2000 && i + 1 < options.count) continue;
      check_against_peer(kept);
      kept.clear();
    }
  }
  if (options.only) check_against_peer(kept);
}

}  // namespace
}  // namespace modeld::test
