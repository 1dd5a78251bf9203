// ONNX Runtime with one model loaded, in a node process that answers when asked to run it.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "tests/peers/ort_peer.h"
#include "tests/support/temp_dir.h"

namespace modeld::test {

class OrtServer {
 public:
  // Loads the model. Throws std::runtime_error with what the process printed if that fails.
  OrtServer(const OrtPeer& peer, const std::filesystem::path& model, const NamedArrays& inputs,
            int threads);
  ~OrtServer();
  OrtServer(const OrtServer&) = delete;
  OrtServer& operator=(const OrtServer&) = delete;

  // Milliseconds of each of `count` runs.
  std::vector<double> run(int count);

 private:
  std::vector<double> answer();

  const TempDir inputs_;
  pid_t child_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace modeld::test
