// Cases run on our backends, as programs and as ONNX files that were compiled.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/artifact/model.h"
#include "tests/differential/fuzz_case.h"

namespace modeld::test {

using OutputBytes = std::vector<std::vector<std::byte>>;

struct Answer {
  OutputBytes outputs;
  uint32_t index_out_of_range = 0;
  uint32_t integer_division_by_zero = 0;
};

// Throws std::runtime_error where a backend refuses or fails.
Answer run_program(const std::string& backend, const Program& program, WeightSource& weights,
                   const std::vector<std::vector<std::byte>>& inputs, uint32_t threads);
Answer reference_answer(const FuzzCase& made);

// Empty, or how the cpu backend differs from `want`, the reference's answer.
std::string check_cpu(const FuzzCase& made, const Answer& want);

// The same of opencl, whose sums take another order again.
std::string check_opencl(const FuzzCase& made, const Answer& want);

// Empty, or how the case compiled from ONNX with every pass differs on either backend. Cases that
// cannot be spelled in ONNX, and those the compiler must refuse, pass. `written` becomes the file,
// empty where there is none.
std::string check_compiled(const FuzzCase& made, const Answer& want,
                           const std::filesystem::path& file, bool& written);

// For people who look for a cause: every op's result on cpu beside the reference's, of the compiled
// program with all of them as outputs (which hinders what a backend does across ops).
std::string compare_op_by_op(const FuzzCase& made, const std::filesystem::path& file);

// What the cpu backend runs for the case's ops.
std::string lowering_of(const FuzzCase& made);

// Empty, or what is wrong with the case compiled at `precision`, with reference vectors, and put to
// its self-test on cpu. `refused`: the compiler found that the precision costs too much.
std::string check_self_test(const FuzzCase& made, Precision precision,
                            const std::filesystem::path& file, bool& refused);

}  // namespace modeld::test
