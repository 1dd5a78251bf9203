// The importers of the op families and what they have in common.
#pragma once

#include <span>
#include <string_view>

#include "tools/compile/node_import.h"

namespace modeld::compile {

using Importer = Status (*)(NodeImport&);

struct ImporterRow {
  std::string_view op_type;
  Importer importer;
};

// Ops of the ai.onnx domain by family. Each names the ops in one file.
std::span<const ImporterRow> elementwise_importers();
std::span<const ImporterRow> matrix_importers();
std::span<const ImporterRow> normalisation_importers();
std::span<const ImporterRow> recurrent_importers();
std::span<const ImporterRow> attention_importers();
std::span<const ImporterRow> einsum_importers();
std::span<const ImporterRow> quantised_importers();
std::span<const ImporterRow> index_importers();
std::span<const ImporterRow> window_importers();
std::span<const ImporterRow> reduction_importers();
std::span<const ImporterRow> shape_importers();
std::span<const ImporterRow> data_importers();

// Ops of the domain com.microsoft, as ONNX Runtime writes them.
std::span<const ImporterRow> microsoft_importers();

}  // namespace modeld::compile
