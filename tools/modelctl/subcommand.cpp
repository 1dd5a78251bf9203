#include "tools/modelctl/subcommand.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "tools/modelctl/report.h"

namespace modeld::modelctl {

OptionRules& OptionRules::required() {
  option_.required();
  return *this;
}

OptionRules& OptionRules::with_default() {
  option_.capture_default_str();
  return *this;
}

OptionRules& OptionRules::in_range(uint32_t least, uint32_t most) {
  option_.check(CLI::Range(least, most));
  return *this;
}

OptionRules& OptionRules::in_range(double least, double most) {
  // As CLI::Range, but NaN is in no range.
  const std::string range = format_number(least) + " to " + format_number(most);
  option_.check([=](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string() : "Value " + text + " not in range " + range;
  });
  option_.type_name("FLOAT in [" + format_number(least) + " - " + format_number(most) + "]");
  return *this;
}

OptionRules& OptionRules::one_of(const std::vector<std::string>& values) {
  option_.check(CLI::IsMember(values));
  return *this;
}

OptionRules& OptionRules::one_each_time() {
  option_.allow_extra_args(false);
  return *this;
}

Subcommand::Subcommand(CLI::App& app, const std::string& name, const std::string& description)
    : app_(*app.add_subcommand(name, description)) {}

OptionRules Subcommand::add_option(const std::string& names, std::string& value,
                                   const std::string& help) {
  return OptionRules(*app_.add_option(names, value, help));
}

OptionRules Subcommand::add_option(const std::string& names, uint32_t& value,
                                   const std::string& help) {
  return OptionRules(*app_.add_option(names, value, help));
}

OptionRules Subcommand::add_option(const std::string& names, uint64_t& value,
                                   const std::string& help) {
  return OptionRules(*app_.add_option(names, value, help));
}

OptionRules Subcommand::add_option(const std::string& names, double& value,
                                   const std::string& help) {
  return OptionRules(*app_.add_option(names, value, help));
}

OptionRules Subcommand::add_option(const std::string& names, std::vector<std::string>& values,
                                   const std::string& help) {
  return OptionRules(*app_.add_option(names, values, help));
}

void Subcommand::add_flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

void Subcommand::add_json_flag(bool& json) {
  add_flag("--json", json, "Print one JSON document instead of text");
}

std::string Subcommand::program_version() const {
  return app_.get_parent()->version();
}

void Subcommand::set_example(const std::string& example) {
  app_.footer("Example:\n  " + example);
}

void Subcommand::set_action(Action& chosen, Action action) {
  app_.callback([&chosen, action = std::move(action)] { chosen = action; });
}

}  // namespace modeld::modelctl
