// Help, version and what happens to command lines that make no sense.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/modelctl/tool.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

class UsageTest : public ToolTest {
 protected:
  // What the tool itself lists, so that no new command is forgotten here.
  std::vector<std::string> commands() const {
    std::istringstream help(tool({"--help"}).out);
    std::vector<std::string> names;
    std::string line;
    bool listing = false;
    while (std::getline(help, line)) {
      if (listing && line.rfind("  ", 0) != 0) break;
      std::string name;
      if (listing && std::istringstream(line) >> name && line[2] != ' ') names.push_back(name);
      listing = listing || line == "Subcommands:";
    }
    return names;
  }
};

TEST_F(UsageTest, VersionNamesFormatAndAbi) {
  const ToolResult result = tool({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::MatchesRegex(
                              "modelctl [0-9.]+, artifact format [0-9]+, runtime ABI [0-9]+\n"));
}

TEST_F(UsageTest, HelpListsEveryCommandAndTheExitCodes) {
  const ToolResult result = tool({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(commands(),
              testing::IsSupersetOf({"compile", "inspect", "verify", "keygen", "sign", "sample",
                                     "run", "conformance", "bench", "camera", "dump", "selftest",
                                     "devices", "config", "demo", "replay", "record"}));
  EXPECT_THAT(result.out, HasSubstr("3 artifact refused"));
}

TEST_F(UsageTest, EveryCommandHasHelpWithAnExample) {
  for (const std::string& command : commands()) {
    const ToolResult result = tool({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.out, HasSubstr("Example:\n  modelctl " + command));
    EXPECT_EQ(result.err, "") << command;
  }
}

TEST_F(UsageTest, ReportingCommandsHaveJson) {
  for (const std::string& command : commands()) {
    EXPECT_THAT(tool({command, "--help"}).out, HasSubstr("--json")) << command;
  }
}

TEST_F(UsageTest, NonsenseIsExitCodeTwo) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"fly"},
                                                    {"verify"},
                                                    {"verify", "a.model", "--wings"},
                                                    {"bench", "a.model", "--runs", "none"},
                                                    {"bench", "a.model", "--runs", "0"},
                                                    {"selftest", "a.model", "--threads", "-3"}}) {
    const ToolResult result = tool(arguments);
    EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_NE(result.err, "");
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(UsageTest, ErrorsAreOneLineWithoutColour) {
  const ToolResult result = tool({"verify", "missing.model", "--allow-unsigned"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
  EXPECT_THAT(result.err, HasSubstr("modelctl: missing.model: "));
}

}  // namespace
}  // namespace modeld::test
