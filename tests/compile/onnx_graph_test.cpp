// Reading ONNX files: what is in them, and hostile ones.
#include "tools/compile/onnx_graph.h"
#include "runtime/base/sanitized.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>

#include "tests/support/onnx_builder.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"
#include "tools/compile/external_data.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;
using test::TempDir;

OnnxBuilder small_graph() {
  OnnxBuilder graph;
  graph.input("x", DType::kFloat32, {-1, 3}).floats("w", {3}, {1, 2, 3}).output("y");
  graph.node("Add", {"x", "w"}, {"y"}).named("sum");
  return graph;
}

Result<OnnxGraph> read(const OnnxBuilder& graph) {
  const TempDir folder;
  return read_onnx(graph.save(folder / "m.onnx"));
}

void expect_refusal(const Result<OnnxGraph>& graph, const std::string& word) {
  ASSERT_FALSE(graph.ok()) << word;
  EXPECT_NE(to_string(graph.error()).find(word), std::string::npos) << to_string(graph.error());
}

TEST(OnnxGraph, ReadsNodesInputsAndInitializers) {
  OnnxBuilder builder = small_graph();
  builder.metadata("model_checkpoint", "abc");
  const auto graph = read(builder);
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  EXPECT_EQ(graph->opset(), 18);
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].op_type, "Add");
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->inputs[0].shape[0], std::nullopt);
  EXPECT_EQ(graph->inputs[0].shape[1], 3);
  EXPECT_EQ(to_doubles(*graph->initializers.at("w")), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(*graph->find_metadata("model_checkpoint"), "abc");
  EXPECT_EQ(graph->source_sha256.size(), 64u);
}

TEST(OnnxGraph, InitializersAmongInputsAreConstants) {
  OnnxBuilder builder = small_graph();
  builder.input("w", DType::kFloat32, {3});
  const auto graph = read(builder);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->inputs.size(), 1u);
}

TEST(OnnxGraph, EveryWayToStoreElements) {
  OnnxBuilder builder = small_graph();
  auto& halves = *builder.graph().add_initializer();
  halves.set_name("halves");
  halves.set_data_type(onnx::TensorProto::FLOAT16);
  halves.add_dims(2);
  halves.add_int32_data(0x3c00);  // 1
  halves.add_int32_data(0xc000);  // -2
  auto& bytes = *builder.graph().add_initializer();
  bytes.set_name("bytes");
  bytes.set_data_type(onnx::TensorProto::INT8);
  bytes.add_dims(1);
  bytes.add_int32_data(-5);
  auto& longs = *builder.graph().add_initializer();
  longs.set_name("longs");
  longs.set_data_type(onnx::TensorProto::INT64);
  longs.add_dims(1);
  longs.add_int64_data(-7);
  auto& flags = *builder.graph().add_initializer();
  flags.set_name("flags");
  flags.set_data_type(onnx::TensorProto::BOOL);
  flags.add_dims(2);
  flags.set_raw_data(std::string("\x00\x07", 2));
  const auto graph = read(builder);
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  EXPECT_EQ(to_doubles(*graph->initializers.at("halves")), (std::vector<double>{1, -2}));
  EXPECT_EQ(to_doubles(*graph->initializers.at("bytes")), (std::vector<double>{-5}));
  EXPECT_EQ(to_doubles(*graph->initializers.at("longs")), (std::vector<double>{-7}));
  EXPECT_EQ(graph->initializers.at("flags")->bytes[1], std::byte{1});
}

TEST(OnnxGraph, WrongLengthsAndShapesNameTheInitializer) {
  OnnxBuilder longer = small_graph();
  longer.graph().mutable_initializer(0)->set_dims(0, 4);
  expect_refusal(read(longer), "initializer 'w'");
  OnnxBuilder negative = small_graph();
  negative.graph().mutable_initializer(0)->set_dims(0, -3);
  expect_refusal(read(negative), "impossible shape [-3]");
  OnnxBuilder vast = small_graph();
  for (int i = 0; i < 8; ++i) vast.graph().mutable_initializer(0)->add_dims(int64_t{1} << 40);
  expect_refusal(read(vast), "impossible shape");
  OnnxBuilder strings = small_graph();
  strings.graph().mutable_initializer(0)->set_data_type(onnx::TensorProto::STRING);
  expect_refusal(read(strings), "element type 8");
}

TEST(OnnxGraph, NegativeInputDimension) {
  OnnxBuilder builder = small_graph();
  builder.input("z", DType::kFloat32, {1});
  builder.graph()
      .mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(-4);
  expect_refusal(read(builder), "input 'z'");
}

TEST(OnnxGraph, CyclesAndMissingValuesNameTheNode) {
  OnnxBuilder cyclic;
  cyclic.input("x", DType::kFloat32, {3}).output("a");
  cyclic.node("Add", {"x", "b"}, {"a"}).named("first");
  cyclic.node("Add", {"x", "a"}, {"b"}).named("second");
  expect_refusal(read(cyclic), "node 'first'");
  OnnxBuilder twice = small_graph();
  twice.node("Relu", {"x"}, {"y"}).named("again");
  expect_refusal(read(twice), "written twice");
  OnnxBuilder nothing = small_graph();
  nothing.output("z");
  expect_refusal(read(nothing), "output 'z'");
}

TEST(OnnxGraph, TrainingInformationIsRefused) {
  OnnxBuilder builder = small_graph();
  builder.model().add_training_info();
  expect_refusal(read(builder), "training information");
}

TEST(OnnxGraph, EveryTruncationIsRefusedOrReads) {
  const TempDir folder;
  const std::string whole = small_graph().bytes();
  size_t refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(folder / "cut.onnx", std::ios::binary) << whole.substr(0, length);
    if (!read_onnx(folder / "cut.onnx").ok()) ++refused;
  }
  // A cut between two fields of the model itself leaves a smaller, valid file.
  EXPECT_GT(refused, whole.size() - 16);
}

TEST(OnnxGraph, EveryByteChangedReadsOrIsRefused) {
  const TempDir folder;
  const std::string whole = small_graph().bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      std::ofstream(folder / "bad.onnx", std::ios::binary) << changed;
      const auto graph = read_onnx(folder / "bad.onnx");
      if (graph.ok()) {
        EXPECT_LE(graph->nodes.size(), 1u);
      }
    }
  }
}

TEST(OnnxGraph, RandomBytesAreRefused) {
  const TempDir folder;
  std::ofstream(folder / "noise.onnx", std::ios::binary) << std::string(4096, '\xa5');
  expect_refusal(read_onnx(folder / "noise.onnx"), "not an ONNX file");
  std::ofstream(folder / "empty.onnx", std::ios::binary);
  expect_refusal(read_onnx(folder / "empty.onnx"), "no graph");
}

// Processor time, which a busy machine does not stretch.
template <typename Action>
double seconds(Action action) {
  const std::clock_t start = std::clock();
  action();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(OnnxGraph, AMillionNodesAreRefusedQuickly) {
  OnnxBuilder builder = small_graph();
  for (int i = 0; i < 1'000'000; ++i) builder.graph().add_node();
  const TempDir folder;
  const auto path = builder.save(folder / "m.onnx");
  const double took = seconds([&] { expect_refusal(read_onnx(path), "too many nodes"); });
  EXPECT_LT(took, kSanitized ? 20.0 : 1.0);
}

TEST(OnnxGraph, ManyEmptyMessagesAreRefusedQuickly) {
  OnnxBuilder builder = small_graph();
  for (int i = 0; i < 4'000'000; ++i) builder.graph().mutable_node(0)->add_attribute();
  const TempDir folder;
  const auto path = builder.save(folder / "m.onnx");
  const double took = seconds([&] { expect_refusal(read_onnx(path), "too large"); });
  EXPECT_LT(took, kSanitized ? 20.0 : 1.0);
}

TEST(OnnxGraph, DeepSubgraphsAreRefused) {
  onnx::GraphProto inner;
  for (int depth = 0; depth < 40; ++depth) {
    onnx::GraphProto outer;
    auto& attribute = *outer.add_node()->add_attribute();
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = inner;
    inner = outer;
  }
  OnnxBuilder builder = small_graph();
  *builder.graph().mutable_node(0) = inner.node(0);
  expect_refusal(read(builder), "nested too deeply");
}

// External data -----------------------------------------------------------------------------------

class ExternalDataTest : public ::testing::Test {
 protected:
  ExternalDataTest() {
    std::filesystem::create_directory(folder_ / "models");
    write("models/w.bin",
          std::string(16, '\0') + std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12));
  }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  // `entries`: location, offset, length where given.
  static void make_external(onnx::TensorProto& tensor,
                            const std::vector<std::pair<std::string, std::string>>& entries) {
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }

  Result<OnnxGraph> read(const std::vector<std::pair<std::string, std::string>>& entries) {
    OnnxBuilder builder = small_graph();
    make_external(*builder.graph().mutable_initializer(0), entries);
    return read_onnx(builder.save(folder_ / "models/m.onnx"));
  }

  TempDir folder_;
};

TEST_F(ExternalDataTest, ReadsBesideTheModel) {
  const auto graph = read({{"location", "w.bin"}, {"offset", "16"}, {"length", "12"}});
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  EXPECT_EQ(to_doubles(*graph->initializers.at("w")), (std::vector<double>{1, 2, 3}));
  std::filesystem::create_directory(folder_ / "models/sub");
  std::filesystem::copy(folder_ / "models/w.bin", folder_ / "models/sub/w.bin");
  EXPECT_TRUE(read({{"location", "sub/w.bin"}, {"offset", "16"}}).ok());
}

TEST_F(ExternalDataTest, FieldFault35LocationsOutsideAreRefused) {
  write("outside.bin", std::string(64, 'x'));
  expect_refusal(read({{"location", "../outside.bin"}}), "leaves the model's folder");
  expect_refusal(read({{"location", "sub/../../outside.bin"}}), "leaves the model's folder");
  expect_refusal(read({{"location", (folder_ / "outside.bin").string()}}), "absolute");
  expect_refusal(read({{"location", ""}}), "no valid location");
}

TEST_F(ExternalDataTest, FieldFault35LinksAreRefused) {
  write("outside.bin", std::string(64, 'x'));
  std::filesystem::create_symlink(folder_ / "outside.bin", folder_ / "models/link.bin");
  expect_refusal(read({{"location", "link.bin"}}), "symbolic link");
  std::filesystem::create_directory(folder_ / "elsewhere");
  write("elsewhere/w.bin", std::string(64, 'x'));
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", folder_ / "models/dir");
  expect_refusal(read({{"location", "dir/w.bin"}}), "symbolic link");
  std::filesystem::create_hard_link(folder_ / "outside.bin", folder_ / "models/hard.bin");
  expect_refusal(read({{"location", "hard.bin"}}), "1 hard link");
}

TEST_F(ExternalDataTest, FieldFault35RangesMustFitTheFile) {
  expect_refusal(read({{"location", "w.bin"}, {"offset", "20"}}), "ends beyond the file");
  expect_refusal(read({{"location", "w.bin"}, {"offset", "18446744073709551610"}}),
                 "ends beyond the file");
  expect_refusal(read({{"location", "w.bin"}, {"length", "8"}}), "do not fit the shape");
  expect_refusal(read({{"location", "w.bin"}, {"offset", "-1"}}), "not a number");
  expect_refusal(read({{"location", "missing.bin"}}), "cannot open");
  std::filesystem::create_directory(folder_ / "models/folder.bin");
  expect_refusal(read({{"location", "folder.bin"}}), "not a regular file");
}

TEST_F(ExternalDataTest, FieldFault35AFileWrittenToBetweenTwoReadsIsRefused) {
  const auto path = folder_ / "models/w.bin";
  const auto after = [&](const std::function<void()>& change) {
    write("models/w.bin", std::string(28, '\0'));
    ExternalData data(folder_ / "models", 1 << 20);
    EXPECT_TRUE(data.read({"w.bin", 0, 8}).ok());
    change();
    return data.read({"w.bin", 8, 8});
  };
  EXPECT_TRUE(after([] {}).ok());
  const auto touched = after([&] {
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  });
  ASSERT_FALSE(touched.ok());
  EXPECT_NE(to_string(touched.error()).find("changed while it was read"), std::string::npos);
  EXPECT_FALSE(after([&] { std::filesystem::resize_file(path, 12); }).ok());
  // Put another file in its place, and the one that was checked is read all the same.
  const auto replaced = after([&] {
    std::filesystem::remove(path);
    write("models/w.bin", std::string(64, 'x'));
  });
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ((*replaced)[0], std::byte{0});
}

TEST_F(ExternalDataTest, FieldFault35OverlappingRangesAreRefused) {
  OnnxBuilder builder = small_graph();
  builder.floats("v", {3}, {0, 0, 0});
  make_external(*builder.graph().mutable_initializer(0), {{"location", "w.bin"}});
  make_external(*builder.graph().mutable_initializer(1), {{"location", "w.bin"}, {"offset", "8"}});
  expect_refusal(read_onnx(builder.save(folder_ / "models/m.onnx")), "overlap");
}

}  // namespace
}  // namespace modeld::compile
