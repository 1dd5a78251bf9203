// compile, conformance and what follows from them, on handed single-operator networks.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/file.h"
#include "runtime/device/backends.h"
#include "tests/modelctl/tool.h"
#include "tests/support/test_data.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class NetworkTest : public ToolTest {
 protected:
  std::string network(const std::string& name) const {
    return shared_path("conformance/onnx-node/" + name + "/model.onnx").string();
  }
  // The case's folder copied into `cases`.
  void copy_case(const std::string& name) const {
    std::filesystem::create_directories(folder_ / "cases");
    std::filesystem::copy(shared_path("conformance/onnx-node/" + name), folder_ / "cases" / name,
                          std::filesystem::copy_options::recursive);
  }
};

TEST_F(NetworkTest, CompileSignVerifySelftest) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_basic_conv_with_padding");
  ASSERT_EQ(tool({"keygen", "a"}).exit_code, 0);
  const ToolResult compiled = tool({"compile", network("test_basic_conv_with_padding"), "-o",
                                    "conv.model", "--sign", "a.key", "--json"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const auto report = compiled.json();
  EXPECT_EQ(report["signature"], "signed");
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(path("conv.model")));
  EXPECT_DOUBLE_EQ(report["gmacs"].get<double>(), 225e-9);  // 5x5 outputs, 3x3 kernel
  EXPECT_EQ(tool({"verify", "conv.model", "--trust", "a.pub"}).exit_code, 0);
  for (const std::string& backend : backend_names()) {
    const ToolResult selftest =
        tool({"selftest", "conv.model", "--backend", backend, "--repeats", "5", "--json"});
    EXPECT_EQ(selftest.exit_code, 0) << selftest.err;
    EXPECT_EQ(selftest.json()["passed"], true);
    EXPECT_EQ(selftest.json()["distinct"], 1);
  }
}

TEST_F(NetworkTest, TuneReportsWhatItTriedWithinItsBudget) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_basic_conv_with_padding");
  if (!open_backend("opencl").ok()) GTEST_SKIP() << "no OpenCL device";
  const ToolResult result = tool({"tune", network("test_basic_conv_with_padding"), "--budget", "0",
                                  "--kernels-in", "kernels", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = result.json();
  EXPECT_EQ(report["tried"], 0);
  EXPECT_GT(report["candidates"], 10);
  EXPECT_TRUE(report["out_of_time"]);
  EXPECT_FALSE(report["kept"]);
  EXPECT_GT(report["default_ms"], 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "kernels/tuning.txt"));
  const ToolResult none = tool({"tune", network("test_basic_conv_with_padding"), "--device",
                                "no such device", "--kernels-in", "kernels"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("no such device"));
}

TEST_F(NetworkTest, PrecisionPoliciesAreStoredAndHeldTo) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_basic_conv_with_padding");
  for (const char* precision : {"f16", "bf16"}) {
    const ToolResult compiled = tool({"compile", network("test_basic_conv_with_padding"), "-o",
                                      "half.model", "--precision", precision, "--json"});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    const auto slice = compiled.json()["slices"][0];
    EXPECT_LE(slice["error"], slice["bound"]);
    EXPECT_LE(slice["tolerance"], slice["bound"]);
    EXPECT_EQ(tool({"inspect", "half.model", "--json"}).json()["precision"], precision);
    const ToolResult selftest = tool({"selftest", "half.model", "--repeats", "3"});
    EXPECT_EQ(selftest.exit_code, 0) << selftest.err;
    EXPECT_THAT(selftest.out, HasSubstr("1 distinct output in 3 runs"));
  }
}

TEST_F(NetworkTest, WeightsAreReplacedByName) {
  MODELD_NEED_SHARED("data/models/dm-2021-06.onnx");
  std::ofstream(folder_ / "w.safetensors") << "nothing";
  const ToolResult refused = tool({"compile", shared_path("data/models/dm-2021-06.onnx").string(),
                                   "-o", "x.model", "--weights", "w.safetensors"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("w.safetensors"));
}

TEST_F(NetworkTest, CompileExplainsWhatPassesDid) {
  MODELD_NEED_SHARED("data/models/dm-2021-06.onnx");
  const std::string model = shared_path("data/models/dm-2021-06.onnx").string();
  const ToolResult text = tool({"compile", model, "-o", "m.model", "--explain"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("pass fold-batch-norm: "));
  EXPECT_THAT(text.out, HasSubstr(" -> "));
  EXPECT_THAT(text.out, HasSubstr("  Conv '"));
  EXPECT_THAT(text.out, HasSubstr("pass fuse-activation: "));
}

TEST_F(NetworkTest, CompilingTwiceGivesTheSameBytes) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_basic_conv_with_padding");
  for (const char* output : {"first.model", "second.model"}) {
    ASSERT_EQ(tool({"compile", network("test_basic_conv_with_padding"), "-o", output}).exit_code,
              0);
  }
  EXPECT_EQ(read_text_file(path("first.model"), 1 << 20).value(),
            read_text_file(path("second.model"), 1 << 20).value());
}

TEST_F(NetworkTest, NetworksThatCannotBeReadAreExitCodeThree) {
  std::ofstream(folder_ / "bad.onnx") << "this is no network";
  const ToolResult result = tool({"compile", "bad.onnx", "-o", "bad.model"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("bad.model")));
  EXPECT_EQ(tool({"compile", "none.onnx", "-o", "bad.model"}).exit_code, 2);
  EXPECT_EQ(tool({"compile", "bad.onnx", "-o", "x.model", "--precision", "f8"}).exit_code, 2);
}

TEST_F(NetworkTest, ConformancePasses) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_abs");
  copy_case("test_abs");
  copy_case("test_add_bcast");
  const ToolResult result = tool({"conformance", "cases", "--backend", "reference", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto report = result.json();
  EXPECT_EQ(report["total"], 2);
  EXPECT_EQ(report["passed"], 2);
  EXPECT_EQ(report["failed"], 0);
  EXPECT_EQ(report["unsupported"], 0);
  EXPECT_TRUE(report["failures"].empty());
  EXPECT_EQ(tool({"conformance", "cases", "--backend", "reference", "--filter", "bcast", "--json"})
                .json()["total"],
            1);
}

TEST_F(NetworkTest, ConformanceSeesAWrongAnswer) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_abs");
  copy_case("test_abs");
  const auto output = folder_ / "cases/test_abs/test_data_set_0/output_0.pb";
  std::string bytes = read_text_file(output, 1 << 20).value();
  bytes.back() ^= 0x40;  // the exponent of the last float
  std::ofstream(output, std::ios::binary) << bytes;
  const ToolResult result = tool({"conformance", "cases", "--backend", "reference", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const auto report = result.json();
  EXPECT_EQ(report["failed"], 1);
  EXPECT_EQ(report["failures"][0]["name"], "test_abs");
  EXPECT_THAT(report["failures"][0]["reason"].get<std::string>(), HasSubstr("element 59"));
}

TEST_F(NetworkTest, ConformanceCountsMissingOperators) {
  MODELD_NEED_SHARED("conformance/onnx-node/test_abs");
  copy_case("test_abs");
  const auto model = folder_ / "cases/test_abs/model.onnx";
  std::string bytes = read_text_file(model, 1 << 20).value();
  bytes.replace(bytes.find("Abs"), 3, "Abz");
  std::ofstream(model, std::ios::binary) << bytes;
  const ToolResult result = tool({"conformance", "cases", "--backend", "reference", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.json()["unsupported"], 1);
  EXPECT_THAT(result.json()["failures"][0]["reason"].get<std::string>(), HasSubstr("'Abz'"));
}

TEST_F(NetworkTest, OpenExtentsAreGiven) {
  MODELD_NEED_SHARED("data/models/byte-bilstm.onnx");
  const std::string model = shared_path("data/models/byte-bilstm.onnx").string();
  const ToolResult open = tool({"inspect", model});
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_THAT(open.err, HasSubstr("--input-shape"));
  const ToolResult given =
      tool({"inspect", model, "--input-shape", "input=2x16", "--lowering", "cpu", "--json"});
  ASSERT_EQ(given.exit_code, 0) << given.err;
  EXPECT_EQ(given.json()["inputs"][0]["type"], "u8[2,16]");
  EXPECT_THAT(given.json()["lowering"].dump(), HasSubstr("own: recurrent"));
  EXPECT_EQ(tool({"inspect", model, "--input-shape", "other=2x16"}).exit_code, 2);
  EXPECT_EQ(tool({"inspect", model, "--input-shape", "input=2x16x4"}).exit_code, 2);
}

TEST_F(NetworkTest, ConformanceWithoutCasesIsAUsageError) {
  std::filesystem::create_directory(folder_ / "cases");
  EXPECT_EQ(tool({"conformance", "cases", "--backend", "reference"}).exit_code, 2);
  EXPECT_EQ(tool({"conformance", "nowhere", "--backend", "reference"}).exit_code, 2);
}

}  // namespace
}  // namespace modeld::test
