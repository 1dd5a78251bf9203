// Runs the real modelctl, as a user would.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace modeld::test {

struct ToolResult {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;

  // stdout as one JSON document; a failed expectation and null if it is none.
  nlohmann::json json() const;
};

// `arguments` without the program's name. Working folder: the test's own. The tool has a minute.
ToolResult run_tool(const std::vector<std::string>& arguments,
                    const std::filesystem::path& folder = ".");

// A test with a folder of its own in which the tool runs.
class ToolTest : public testing::Test {
 protected:
  ToolResult tool(const std::vector<std::string>& arguments) const {
    return run_tool(arguments, folder_.path());
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // The tiny model as `name`, unsigned.
  void write_tiny(const std::string& name) const;

  TempDir folder_;
};

}  // namespace modeld::test
