// The ONNX project's single-operator cases, each compiled, run and compared with the outputs stored
// beside it: the handed ones (all operators this build must know) and Debian's older set. On the
// reference backend with and without the graph passes, and on the cpu and opencl backends.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string_view>

#include "runtime/device/backends.h"
#include "tests/support/test_data.h"
#include "tools/compile/onnx_graph.h"
#include "tools/modelctl/conformance_case.h"
#include "tools/modelctl/conformance_run.h"

namespace modeld::modelctl {
namespace {

constexpr const char* kDebiansCases = "/usr/share/libonnx-testdata/data/node";

struct LeftOut {
  std::string_view what;  // an operator, a case, or the beginning of cases' names and '*'
  std::string_view why;
};

// Cases of Debian's set that do not pass, and why. Whatever is not listed must.
constexpr auto kLeftOut = std::to_array<LeftOut>({
    {"Adagrad", "an optimizer"},
    {"Adam", "an optimizer"},
    {"Momentum", "an optimizer"},
    {"NegativeLogLikelihoodLoss", "a training loss"},
    {"SoftmaxCrossEntropyLoss", "a training loss"},
    {"test_batchnorm_epsilon_training_mode", "training is refused"},
    {"test_batchnorm_example_training_mode", "training is refused"},
    {"test_training_dropout*", "training is refused"},
    {"Bernoulli", "random numbers"},
    {"RandomUniformLike", "random numbers"},
    {"Loop", "control flow on run-time values"},
    {"Scan", "control flow on run-time values"},
    {"Compress", "a result of run-time size"},
    {"NonZero", "a result of run-time size"},
    {"Unique", "a result of run-time size"},
    {"test_nonmaxsuppression_identical_boxes",
     "the result has its bound's size, unused rows are -1"},
    {"test_nonmaxsuppression_suppress_by_IOU_and_scores",
     "the result has its bound's size, unused rows are -1"},
    {"test_blackmanwindow*", "signal processing"},
    {"DFT", "signal processing"},
    {"test_hammingwindow*", "signal processing"},
    {"test_hannwindow*", "signal processing"},
    {"MelWeightMatrix", "signal processing"},
    {"STFT", "signal processing"},
    {"TfIdfVectorizer", "text"},
    {"test_strnormalizer_*", "text"},
    {"test_cast_FLOAT_to_STRING", "text"},
    {"test_cast_STRING_to_FLOAT", "text"},
    {"test_castlike_FLOAT_to_STRING*", "text"},
    {"test_castlike_STRING_to_FLOAT*", "text"},
    {"test_castlike_BFLOAT16_to_FLOAT*",
     "the case's input file has another shape than its graph says"},
    {"test_castlike_FLOAT_to_BFLOAT16*",
     "the case's input file has another shape than its graph says"},
    {"test_identity_opt", "sequences and optional values"},
    {"test_identity_sequence", "sequences and optional values"},
    {"test_if_opt", "sequences and optional values"},
    {"test_if_seq", "sequences and optional values"},
    {"test_loop13_seq", "sequences and optional values"},
    {"test_loop16_seq_none", "sequences and optional values"},
    {"test_optional_*", "sequences and optional values"},
    {"test_sequence_*", "sequences and optional values"},
    {"BitShift", "not among the operators of this build"},
    {"Det", "not among the operators of this build"},
    {"EyeLike", "not among the operators of this build"},
    {"GridSample", "not among the operators of this build"},
    {"MaxUnpool", "not among the operators of this build"},
    {"ReverseSequence", "not among the operators of this build"},
    {"RoiAlign", "not among the operators of this build"},
});

struct Way {
  const char* backend;
  bool optimise;
};
constexpr std::array<Way, 4> kWays = {
    {{"reference", false}, {"reference", true}, {"cpu", true}, {"opencl", true}}};

// Null where this machine has no such device.
Device* device_of(const std::string& backend) {
  static const auto reference = open_backend("reference", {});
  static const auto cpu = open_backend("cpu", {});
  static const auto opencl = open_backend("opencl", {});
  if (backend == "opencl") return opencl.ok() ? opencl->get() : nullptr;
  return backend == "cpu" ? cpu->get() : reference->get();
}

// Why the case may be refused; empty if it must pass.
std::string_view left_out(const std::filesystem::path& root, const std::string& name) {
  for (const LeftOut& row : kLeftOut) {
    const bool many = row.what.ends_with('*');
    if (many ? name.starts_with(row.what.substr(0, row.what.size() - 1)) : row.what == name) {
      return row.why;
    }
  }
  const auto graph = compile::read_onnx(root / name / "model.onnx");
  if (!graph.ok()) return {};
  for (const compile::OnnxNode& node : graph->nodes) {
    for (const LeftOut& row : kLeftOut) {
      if (row.what == node.op_type) return row.why;
    }
  }
  return {};
}

struct Case {
  std::string set;
  std::filesystem::path root;
  std::string name;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.set << " " << one.name;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& set, const std::filesystem::path& root) {
    const auto names = list_cases(root);
    if (!names.ok()) return;
    for (const std::string& name : *names) cases.push_back({set, root, name});
  };
  add("handed", test::shared_path("conformance/onnx-node"));
  add("debian", kDebiansCases);
  return cases;
}

class OnnxCase : public testing::TestWithParam<Case> {};

TEST_P(OnnxCase, Agrees) {
  const Case& one = GetParam();
  const std::string_view why = one.set == "debian" ? left_out(one.root, one.name) : "";
  for (const Way& way : kWays) {
    Device* const device = device_of(way.backend);
    if (device == nullptr) continue;
    const CaseResult result = run_case(*device, one.root, one.name, way.optimise);
    if (why.empty()) {
      EXPECT_EQ(result.verdict, Verdict::kPassed)
          << way.backend << (way.optimise ? ": " : ", no passes: ") << result.reason;
    } else {
      EXPECT_NE(result.verdict, Verdict::kPassed)
          << "listed as left out (" << why << "), but it passes";
      EXPECT_NE(result.reason, "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, OnnxCase, testing::ValuesIn(all_cases()), [](const auto& each) {
  std::string name = each.param.set + "_" + each.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxCase);

TEST(OnnxCases, OpenclIsThere) {
  if (device_of("opencl") == nullptr) GTEST_SKIP() << "no OpenCL device: cases ran without it";
}

TEST(OnnxCases, BothSetsAreThere) {
  MODELD_NEED_SHARED("conformance/onnx-node");
  const auto cases = all_cases();
  const auto count = [&](const char* set) {
    return std::count_if(cases.begin(), cases.end(), [&](const Case& c) { return c.set == set; });
  };
  EXPECT_GE(count("handed"), 457);
  if (count("debian") == 0) GTEST_SKIP() << "libonnx-testdata is not installed";
  EXPECT_GE(count("debian"), 900);
}

}  // namespace
}  // namespace modeld::modelctl
