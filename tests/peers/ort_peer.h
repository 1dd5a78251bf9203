// ONNX Runtime as an independent oracle, run in node as a process of its own.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/npy/npy.h"

namespace modeld::test {

using NamedArrays = std::map<std::string, NpyArray>;

struct OrtRun {
  std::vector<NamedArrays> outputs;  // of each step
  std::vector<double> ms;            // of each run
};

class OrtPeer {
 public:
  // Installs on first use (minutes at most) and keeps it in the build folder.
  static const OrtPeer& instance();

  // Empty if it can be used, else why not.
  const std::string& missing() const { return missing_; }

  // What starts ort_run.js with its modules; its other arguments follow.
  std::vector<std::string> command() const;

  // One step for each entry of `steps`, repeated `runs` times; output next_X is input X of the
  // following step unless that names X. Throws std::runtime_error with ONNX Runtime's words if it
  // refuses model or inputs.
  OrtRun run(const std::filesystem::path& model, const std::vector<NamedArrays>& steps,
             int runs = 1, int threads = 2) const;

  struct BatchJob {
    std::filesystem::path model;
    NamedArrays inputs;
  };
  struct BatchAnswer {
    NamedArrays outputs;
    std::string error;  // ONNX Runtime's words, if it refused the model or died of it
  };
  // Many small models in one process, and another for the rest where a model makes it crash.
  std::vector<BatchAnswer> run_batch(const std::vector<BatchJob>& jobs) const;

 private:
  OrtPeer();

  std::filesystem::path folder_;
  std::string missing_;
};

}  // namespace modeld::test

// First line of a test that needs ONNX Runtime.
#define MODELD_NEED_ORT()                                                   \
  do {                                                                      \
    const auto& missing_ = ::modeld::test::OrtPeer::instance().missing();   \
    if (!missing_.empty()) GTEST_SKIP() << "no ONNX Runtime: " << missing_; \
  } while (false)
