// A graph of one or a few nodes into a draft, and the shape of what came out.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/onnx_builder.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"
#include "tools/compile/importer.h"
#include "tools/compile/stage_inputs.h"

namespace modeld::compile {

struct Imported {
  Draft draft;
  ValueMap outputs;
};

inline Result<Imported> import_file(const test::OnnxBuilder& builder,
                                    FoldBudget budget = FoldBudget()) {
  const test::TempDir folder;
  MODELD_ASSIGN(const OnnxGraph graph, read_onnx(builder.save(folder / "m.onnx")));
  Imported imported;
  imported.draft.fold = budget;
  ValueMap inputs;
  for (const OnnxInput& input : graph.inputs) {
    MODELD_ASSIGN(TensorType type, static_type(input));
    inputs[input.name] = imported.draft.add_tensor(std::move(type), input.name);
    imported.draft.inputs.push_back(inputs[input.name]);
  }
  MODELD_ASSIGN(imported.outputs, import_graph(imported.draft, graph, inputs));
  for (const auto& [name, id] : imported.outputs) imported.draft.outputs.push_back(id);
  return imported;
}

// "Conv Relu Add": the kinds of the ops in order.
inline std::string kinds(const Draft& draft) {
  std::string text;
  for (const Op& op : draft.ops)
    text += (text.empty() ? "" : " ") + std::string(to_string(op.kind));
  return text;
}

inline void expect_refusal(const Status& status, const std::string& word) {
  ASSERT_FALSE(status.ok()) << "expected: " << word;
  EXPECT_NE(to_string(status.error()).find(word), std::string::npos) << to_string(status.error());
}

template <typename T>
void expect_refusal(const Result<T>& result, const std::string& word) {
  ASSERT_FALSE(result.ok()) << "expected: " << word;
  EXPECT_NE(to_string(result.error()).find(word), std::string::npos) << to_string(result.error());
}

}  // namespace modeld::compile
