// A subcommand of modelctl as it is declared: name, options, example, action. CLI11 stays behind
// this header, because compiling it takes longer than most of the commands that use it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/modelctl/command.h"

namespace CLI {
class Option;
}  // namespace CLI

namespace modeld::modelctl {

// Refines an option that was just declared; valid as long as the App it was declared on.
class OptionRules {
 public:
  explicit OptionRules(CLI::Option& option) : option_(option) {}

  OptionRules& required();
  // The help shows the value that the variable has now.
  OptionRules& with_default();
  // Other values are usage errors. Both ends belong to the range.
  OptionRules& in_range(uint32_t least, uint32_t most);
  OptionRules& in_range(double least, double most);
  OptionRules& one_of(const std::vector<std::string>& values);
  // Of an option that may be given many times: one value each time, so that a positional argument
  // may follow.
  OptionRules& one_each_time();

 private:
  CLI::Option& option_;
};

// Not thread-safe. Variables given to it are written when the command line is parsed: they must
// outlive that.
class Subcommand {
 public:
  Subcommand(CLI::App& app, const std::string& name, const std::string& description);

  // `names`: "--name", "-o,--output", or "NAME" for a positional one.
  OptionRules add_option(const std::string& names, std::string& value, const std::string& help);
  OptionRules add_option(const std::string& names, uint32_t& value, const std::string& help);
  OptionRules add_option(const std::string& names, uint64_t& value, const std::string& help);
  OptionRules add_option(const std::string& names, double& value, const std::string& help);
  // May be given many times.
  OptionRules add_option(const std::string& names, std::vector<std::string>& values,
                         const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);
  // `--json` of a reporting command.
  void add_json_flag(bool& json);
  // What --version of the program says.
  std::string program_version() const;
  // Shown under the options.
  void set_example(const std::string& example);
  // What is put into `chosen` if the user asks for this command.
  void set_action(Action& chosen, Action action);

 private:
  CLI::App& app_;
};

}  // namespace modeld::modelctl
