// inspect, bench, selftest, devices: the shapes of what they report.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "runtime/base/file.h"
#include "runtime/device/backends.h"
#include "tests/modelctl/tool.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class MeasureTest : public ToolTest {
 protected:
  MeasureTest() { write_tiny("tiny.model"); }
};

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_F(MeasureTest, Inspect) {
  const ToolResult result = tool({"inspect", "tiny.model", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = result.json();
  EXPECT_EQ(report["name"], "tiny");
  EXPECT_EQ(report["role"], "monitoring");
  EXPECT_EQ(report["format_version"], 1);
  EXPECT_EQ(report["signature"], "unsigned");
  EXPECT_EQ(report["checkpoint"], "checkpoint/1");
  EXPECT_EQ(report["program"]["ops"], 6);
  EXPECT_DOUBLE_EQ(report["program"]["gmacs"].get<double>(), 512e-9);  // 1x128 times 128x4
  EXPECT_EQ(report["program"]["weights_bytes"], 2048);
  EXPECT_GT(report["program"]["arena_bytes"].get<int>(), 0);
  EXPECT_EQ(report["inputs"].size(), 3u);
  EXPECT_EQ(report["inputs"][0]["role"], "frame");
  EXPECT_EQ(report["inputs"][0]["source"], "cabin");
  EXPECT_EQ(report["states"][0]["next"], "y");
  EXPECT_EQ(report["outputs"][0]["slices"][1]["name"], "tail");
  EXPECT_EQ(report["outputs"][0]["slices"][0]["minimum"], nullptr);
  EXPECT_EQ(report["cameras"][0]["sizes"][0], "1928x1208");
  EXPECT_EQ(report["acceptances"][0]["worst_ms"], 12.5);
  EXPECT_EQ(report["op_list"][0]["kind"], "Warp");
}

TEST_F(MeasureTest, InspectForPeople) {
  const ToolResult result =
      tool({"inspect", "tiny.model", "--ops", "--arena", "--lowering", "cpu"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"tiny", "camera through transform to luma 16x8", "head [0, 3) varies",
                           "f32[1,4] = MatMul(", "0.000512 MMAC, reads ", "layout=\"luma\"",
                           "0x00000000", "ops 0..1", "steps on cpu", "warp"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_EQ(tool({"inspect", "tiny.model", "--lowering", "reference"}).exit_code, 2);
}

// Buffers alive at the same time never share a byte.
TEST_F(MeasureTest, InspectMapsTheArena) {
  const auto report = tool({"inspect", "tiny.model", "--json"}).json();
  const auto& arena = report["arena"];
  ASSERT_GE(arena.size(), 2u);
  for (const auto& a : arena) {
    EXPECT_LE(a["offset"].get<int>() + a["bytes"].get<int>(),
              report["program"]["arena_bytes"].get<int>());
    for (const auto& b : arena) {
      if (a["tensor"] == b["tensor"]) continue;
      const bool together = a["first_op"] <= b["last_op"] && b["first_op"] <= a["last_op"];
      const bool apart = a["offset"].get<int>() + a["bytes"].get<int>() <= b["offset"].get<int>() ||
                         b["offset"].get<int>() + b["bytes"].get<int>() <= a["offset"].get<int>();
      EXPECT_TRUE(!together || apart) << a["tensor"] << " and " << b["tensor"];
    }
  }
}

TEST_F(MeasureTest, BenchReportsTheAgreedMembers) {
  const ToolResult result = tool({"bench", "tiny.model", "--backend", "reference", "--runs", "20",
                                  "--warmup", "2", "--deadline-ms", "0.000001", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = result.json();
  EXPECT_THAT(keys_of(report), testing::IsSupersetOf(
                                   {"artifact", "backend", "device", "precision", "threads", "runs",
                                    "latency_ms", "phases_ms", "deadline_ms", "deadline_misses",
                                    "gmacs", "gflops", "peak_gflops", "peak_rss_mb", "load_ms"}));
  EXPECT_THAT(keys_of(report["latency_ms"]),
              testing::UnorderedElementsAre("mean", "p50", "p90", "p99", "p999", "max"));
  EXPECT_EQ(report["runs"], 20);
  EXPECT_EQ(report["deadline_misses"], 20);
  const auto& latency = report["latency_ms"];
  EXPECT_GT(latency["p50"].get<double>(), 0);
  EXPECT_LE(latency["p50"], latency["p90"]);
  EXPECT_LE(latency["p90"], latency["p99"]);
  EXPECT_LE(latency["p999"], latency["max"]);
  EXPECT_GT(report["peak_gflops"].get<double>(), report["gflops"].get<double>());
  EXPECT_GT(report["peak_rss_mb"].get<double>(), 1);
  EXPECT_GT(report["load_ms"].get<double>(), 0);
}

// What two devices' warps make of one frame can be laid side by side.
TEST_F(MeasureTest, FieldFault33InputsOfTwoBackendsAreDumpedAndEqual) {
  std::map<std::string, std::string> files;
  for (const std::string backend : {"reference", "cpu"}) {
    const ToolResult result = tool({"bench", "tiny.model", "--backend", backend, "--runs", "1",
                                    "--warmup", "0", "--dump-inputs", "in_" + backend});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (const auto& entry : std::filesystem::directory_iterator(path("in_" + backend))) {
      files[backend] = read_text_file(entry.path(), 1 << 20).value();
    }
  }
  // The warp's picture and the header before it.
  EXPECT_GT(files["cpu"].size(), 128u);
  EXPECT_EQ(files["cpu"], files["reference"]);
}

// Interoperability facts 6.5: what is copied of a camera's buffer is its stride times its rows of
// luma and chroma, 2048 x 1824 bytes for 1928x1208; borrowed pixels do not move at all.
TEST_F(MeasureTest, BenchSaysWhatTheWaysInForPixelsCost) {
  const ToolResult result = tool({"bench", "tiny.model", "--backend", "cpu", "--input", "both",
                                  "--camera", "1928x1208", "--runs", "5", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = result.json()["inputs"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["input"], "upload");
  EXPECT_EQ(rows[0]["used"], "upload");
  EXPECT_EQ(rows[0]["camera"], "1928x1208");
  EXPECT_EQ(rows[0]["moved_bytes"], 2048 * 1824);
  EXPECT_EQ(rows[0]["runs"], 5);
  EXPECT_EQ(rows[1]["input"], "zerocopy");
  EXPECT_EQ(rows[1]["used"], "zerocopy");
  EXPECT_EQ(rows[1]["moved_bytes"], 0);
  for (const auto& row : rows) {
    EXPECT_GE(row["frame_bytes"], 2048 * 1824);
    EXPECT_GT(row["latency_ms"]["p50"], 0);
    EXPECT_GE(row["copy_ms"]["p50"], 0);
    EXPECT_GE(row["latency_ms"]["p50"], row["copy_ms"]["p50"]);
  }
  EXPECT_EQ(tool({"bench", "tiny.model", "--input", "upload", "--camera", "17x"}).exit_code, 2);
  EXPECT_EQ(tool({"bench", "tiny.model", "--camera", "1928x1208"}).exit_code, 2);
  const ToolResult other =
      tool({"bench", "tiny.model", "--input", "upload", "--camera", "640x480"});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("1928x1208"));
}

TEST_F(MeasureTest, BenchListsKernelsOfOpencl) {
  if (!open_backend("opencl").ok()) GTEST_SKIP() << "no OpenCL device";
  const ToolResult result = tool(
      {"bench", "tiny.model", "--backend", "opencl", "--runs", "5", "--kernels", "2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto kernels = result.json()["kernels"];
  EXPECT_GE(kernels["count"].get<size_t>(), 3u);  // warp, product, what is done to its result
  EXPECT_GT(kernels["sum_ms"].get<double>(), 0);
  EXPECT_GT(kernels["overhead_ms"].get<double>(), 0);
  ASSERT_EQ(kernels["heaviest"].size(), 2u);
  EXPECT_GE(kernels["heaviest"][0]["ms"], kernels["heaviest"][1]["ms"]);
  EXPECT_LE(kernels["heaviest"][0]["ms"], kernels["sum_ms"]);
}

TEST_F(MeasureTest, BenchAcceptsIntoTheSignedArtifact) {
  ASSERT_EQ(tool({"keygen", "a"}).exit_code, 0);
  EXPECT_EQ(tool({"bench", "tiny.model", "--backend", "reference", "--accept"}).exit_code, 2);
  const ToolResult result = tool({"bench", "tiny.model", "--backend", "reference", "--runs", "5",
                                  "--accept", "--sign", "a.key", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(tool({"verify", "tiny.model", "--trust", "a.pub"}).exit_code, 0);
  const auto report = tool({"inspect", "tiny.model", "--json"}).json();
  ASSERT_EQ(report["acceptances"].size(), 2u);
  EXPECT_EQ(report["acceptances"][1]["backend"], "reference");
  EXPECT_DOUBLE_EQ(report["acceptances"][1]["worst_ms"].get<double>(),
                   result.json()["latency_ms"]["max"].get<double>());
}

// The tiny model's reference values are made up: a device cannot agree with them.
TEST_F(MeasureTest, SelftestFailsOnWrongReferences) {
  const ToolResult result =
      tool({"selftest", "tiny.model", "--backend", "reference", "--repeats", "3", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("slice 'head' of output 'y' is outside tolerance"));
  const auto report = result.json();
  EXPECT_EQ(report["passed"], false);
  EXPECT_EQ(report["repeats"], 3);
  EXPECT_EQ(report["slices"].size(), 4u);
  EXPECT_EQ(report["unsteady"].size(), 0u);
  EXPECT_THAT(keys_of(report["slices"][0]),
              testing::UnorderedElementsAre("output", "slice", "seed", "passed", "reason",
                                            "wrong_elements", "worst"));
}

TEST_F(MeasureTest, DevicesListsWhatBackendsProbed) {
  const ToolResult result = tool({"devices", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto devices = result.json()["devices"];
  ASSERT_EQ(devices.size(), backend_names().size());
  for (const auto& device : devices) {
    ASSERT_FALSE(device.contains("error")) << device;
    EXPECT_EQ(device["device_class"], "cpu");
    for (const char* key : {"fp16", "bf16", "int8", "timestamps", "unified_memory", "copy_queue",
                            "dma_buf_import", "host_pointer_import", "peer_access"}) {
      EXPECT_THAT(device[key].get<std::string>(), testing::AnyOf("yes", "no", "unknown")) << key;
    }
  }
  EXPECT_THAT(tool({"devices"}).out, HasSubstr("reference"));
}

}  // namespace
}  // namespace modeld::test
